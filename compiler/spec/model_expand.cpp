// A model's forward pass as corpus kernels with sizes, by the map of the corpus.
#include <algorithm>
#include <cmath>

#include "compiler/spec/model.h"

namespace nautilus::spec {

using nlohmann::json;

namespace {

// The facts of one device, and what the map derives from them.
Expected<Facts> device_facts(const json& expansion, const ModelConfig& m, const ModelOptions& o,
                             std::vector<std::string>& notes) {
  Facts f = m.facts;
  f.numbers["batch"] = static_cast<double>(o.batch);
  f.numbers["sequence"] = static_cast<double>(o.sequence);
  f.numbers["tensor_parallel"] = static_cast<double>(o.tensor_parallel);
  if (auto bad = failed_check(expansion.at("checks"), f, "expand " + m.name)) return *bad;
  if (auto bad = add_values(expansion.at("values"), f)) return *bad;
  auto more = notes_of(expansion.at("notes"), f);
  if (!more) return more.error();
  notes.insert(notes.end(), more->begin(), more->end());
  return f;
}

// A size or a number of launches: whole and not negative.
Expected<int64_t> whole(const std::string& expression, const Facts& f) {
  const Expected<double> v = fact_value(expression, f);
  if (!v) return v.error();
  if (!(*v >= 0 && *v < 9e15) || *v != std::floor(*v))
    return damaged_layers("\"" + expression + "\" is " + std::to_string(*v) +
                          ", not a whole number");
  return static_cast<int64_t>(*v);
}

Expected<poly::Sizes> sizes_of(const json& sizes, const Facts& f) {
  poly::Sizes out;
  for (const auto& [name, expression] : sizes.items()) {
    const auto v = whole(expression.get<std::string>(), f);
    if (!v) return v.error();
    out[name] = *v;
  }
  return out;
}

// Adds the kernel of one entry of the map's layers, if its condition holds. Whether it did.
Expected<bool> add_layer(const json& layer, const std::string& phase, const Facts& f,
                         ModelKernels& out) {
  if (layer.contains("first_of")) {
    for (const json& form : layer["first_of"]) {
      const auto taken = add_layer(form, phase, f, out);
      if (!taken || *taken) return taken;
    }
    return false;
  }
  const auto when = fact_value(layer.value("when", "1"), f);
  if (!when) return when.error();
  if (*when == 0) return false;
  const auto sizes = sizes_of(layer.at("sizes"), f);
  if (!sizes) return sizes.error();
  const auto count = whole(layer.value("count", "1"), f);
  if (!count) return count.error();
  out.kernels.push_back({layer.at("kernel").get<std::string>(), phase,
                         layer.at("role").get<std::string>(), *sizes, *count});
  return true;
}

const json* phase_named(const json& phases, const std::string& name) {
  for (const json& p : phases)
    if (p.at("name") == name) return &p;
  return nullptr;
}

// The facts of a phase; nothing if the model does not have it.
Expected<std::optional<Facts>> phase_facts(const json& phase, Facts f) {
  const auto when = fact_value(phase.value("when", "1"), f);
  if (!when) return when.error();
  if (*when == 0) return std::optional<Facts>{};
  if (auto bad = add_values(phase.at("values"), f)) return *bad;
  return std::optional<Facts>(std::move(f));
}

std::optional<Refusal> impossible(const ModelConfig& m, const ModelOptions& o) {
  for (const auto& [what, v, least] :
       {std::tuple<const char*, int64_t, int64_t>{"batch", o.batch, 1},
        {"sequence length", o.sequence, 0},
        {"tensor-parallel degree", o.tensor_parallel, 1}})
    if (v < least || v > (int64_t{1} << 31))
      return Refusal{"expand " + m.name, what, std::to_string(v) + " is not possible",
                     "a number from " + std::to_string(least) + " to 2^31"};
  return std::nullopt;
}

Expected<ModelKernels> expand_by_map(const json& map, const ModelConfig& m, const ModelOptions& o) {
  const json& expansion = map.at("expansion");
  const json& phases = expansion.at("phases");
  Refusal bad{"expand " + m.name, "phase " + o.phase, "there is no such phase", ""};
  for (const json& p : phases)
    bad.suggest += (bad.suggest.empty() ? "" : " or ") + p.at("name").get<std::string>();
  if (!o.phase.empty() && !phase_named(phases, o.phase)) return bad;
  ModelKernels out;
  out.name = m.name;
  out.notes = m.notes;
  const auto device = device_facts(expansion, m, o, out.notes);
  if (!device) return device.error();
  for (const json& phase : phases) {
    const std::string name = phase.at("name").get<std::string>();
    if (!o.phase.empty() && name != o.phase) continue;
    const auto f = phase_facts(phase, *device);
    if (!f) return f.error();
    if (!*f) {
      if (o.phase.empty()) continue;
      bad.why = phase.value("why_not", "this model does not have it");
      bad.suggest = phase.value("suggest", "");
      return bad;
    }
    for (const json& layer : map.at("layers"))
      if (const auto added = add_layer(layer, name, **f, out); !added) return added.error();
  }
  return out;
}

// For a kernel that no layer is: by the names of its sizes.
Expected<poly::Sizes> sizes_by_name(const json& map, const ModelConfig& m, const ModelOptions& o,
                                    const std::vector<std::string>& declared) {
  const json& by_name = map.at("sizes_by_name");
  auto has = [&](const std::string& n) {
    return std::find(declared.begin(), declared.end(), n) != declared.end();
  };
  bool fits = false;
  for (const json& n : by_name.at("any_of")) fits |= has(n.get<std::string>());
  if (!fits) return poly::Sizes{};
  const json& phases = map.at("expansion").at("phases");
  const json* phase = phase_named(phases, o.phase);
  if (!phase) phase = &phases.at(0);
  std::vector<std::string> ignored;
  auto device = device_facts(map.at("expansion"), m, o, ignored);
  if (!device) return device.error();
  Facts f = *device;
  if (auto bad = add_values(phase->at("values"), f)) return *bad;
  json wanted = json::object();
  for (const auto& [n, expression] : by_name.at("values").items())
    if (has(n)) wanted[n] = expression;
  return sizes_of(wanted, f);
}

}  // namespace

Expected<ModelKernels> expand_model(const ModelConfig& m, const ModelOptions& o) {
  if (auto bad = impossible(m, o)) return *bad;
  const Expected<json> map = load_layers();
  if (!map) return map.error();
  try {
    return expand_by_map(*map, m, o);
  } catch (const json::exception& e) {
    return damaged_layers(e.what());
  }
}

Expected<ModelKernels> expand_model(const std::string& name_or_path, const ModelOptions& o) {
  auto m = load_model(name_or_path);
  if (!m) return m.error();
  return expand_model(*m, o);
}

Expected<poly::Sizes> sizes_for(const std::string& name_or_path, const poly::Program& p,
                                const ModelOptions& o, std::vector<std::string>& notes) {
  auto m = load_model(name_or_path);
  if (!m) return m.error();
  auto all = expand_model(*m, o);
  if (!all) return all.error();
  notes.insert(notes.end(), all->notes.begin(), all->notes.end());
  auto declared = [&](const std::string& n) {
    return std::find(p.params.begin(), p.params.end(), n) != p.params.end();
  };
  for (const ModelKernel& k : all->kernels) {
    if (k.kernel != p.name || !std::all_of(k.sizes.begin(), k.sizes.end(),
                                           [&](const auto& s) { return declared(s.first); }))
      continue;
    notes.push_back("sizes of " + k.role + " in " + k.phase + " of " + m->name);
    return k.sizes;
  }
  const Expected<json> map = load_layers();
  if (!map) return map.error();
  Expected<poly::Sizes> sizes = poly::Sizes{};
  try {
    sizes = sizes_by_name(*map, *m, o, p.params);
  } catch (const json::exception& e) {
    return damaged_layers(e.what());
  }
  if (!sizes) return sizes.error();
  if (sizes->empty()) {
    Refusal r{"take sizes of " + p.name + " from " + m->name, "",
              "the model has no kernel of that name", ""};
    std::vector<std::string> names;
    for (const ModelKernel& k : all->kernels)
      if (std::find(names.begin(), names.end(), k.kernel) == names.end()) names.push_back(k.kernel);
    for (const std::string& n : names) r.suggest += (r.suggest.empty() ? "" : ", ") + n;
    return r;
  }
  std::string list;
  for (const auto& [n, v] : *sizes) list += (list.empty() ? "" : " ") + n + "=" + std::to_string(v);
  notes.push_back(m->name + " has no kernel " + p.name + "; sizes by name: " + list);
  return *sizes;
}

}  // namespace nautilus::spec
