// Reading config.json by the map of the corpus: what a key means, what is ignored, unknown,
// refused.
#include "compiler/spec/model.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "autosched/file.h"
#include "autosched/machine.h"
#include "polyhedral/json_text.h"

namespace nautilus::spec {

using nlohmann::json;

namespace {

constexpr int64_t kMaxFact = int64_t{1} << 32;
constexpr size_t kMaxBytes = 16u << 20;

bool is_set(const json& v) {
  if (v.is_null()) return false;
  if (v.is_boolean()) return v.get<bool>();
  if (v.is_number()) return v.get<double>() > 1;
  return !v.empty();
}

// "*gelu*" is what contains gelu; anything else is itself.
bool matches(const std::string& text, const std::string& pattern) {
  if (pattern.size() > 1 && pattern.front() == '*' && pattern.back() == '*')
    return text.find(pattern.substr(1, pattern.size() - 2)) != std::string::npos;
  return text == pattern;
}

// Takes facts out of a configuration, remembering which keys were understood.
class Reader {
 public:
  Reader(const json& config, const std::string& name, Facts& facts)
      : config_(config), name_(name), facts_(facts) {}
  std::set<std::string> known;

  // The first of these keys that is there and not null.
  const json* any(const json& keys) {
    const json* found = nullptr;
    for (const json& k : keys) {
      const std::string key = k.get<std::string>();
      known.insert(key);
      const auto it = config_.find(key);
      if (!found && it != config_.end() && !it->is_null()) {
        found = &*it;
        key_ = key;
      }
    }
    return found;
  }

  Expected<std::string> text(const json& keys, const std::string& fallback) {
    const json* v = any(keys);
    if (!v) return fallback;
    if (v->is_string()) return v->get<std::string>();
    return refuse("must be a string, not " + shown(*v));
  }

  // One entry of the map's list of facts.
  std::optional<Refusal> fact(const json& f) {
    const std::string name = f.at("name").get<std::string>();
    double& out = facts_.numbers[name];
    out = 0;
    auto expression = [&](const char* key, double fallback) -> Expected<double> {
      return f.contains(key) ? fact_value(f[key].get<std::string>(), facts_) : fallback;
    };
    if (f.contains("value")) return set(out, expression("value", 0));
    const std::string kind = f.at("kind").get<std::string>();
    const Expected<double> when = expression("when", 1);
    if (!when) return when.error();
    const json* v = any(f.at("keys"));
    if (kind == "text") return text_fact(f, name, v);
    if (kind == "present") {
      out =
          v && !(v->is_boolean() && !v->get<bool>()) && !(v->is_number() && v->get<double>() == 0);
      return std::nullopt;
    }
    if (!v || *when == 0) {
      const Expected<double> needed = expression("needed", 0);
      if (!needed) return needed.error();
      if (*needed == 0 || *when == 0) return set(out, expression("default", 0));
      const std::string key = f["keys"][0].get<std::string>();
      return Refusal{"read model " + name_, key, f.value("what", name) + " is missing",
                     "add \"" + key + "\""};
    }
    const double d = v->is_number()    ? v->get<double>()
                     : v->is_boolean() ? v->get<bool>()
                                       : std::nan("");
    if (kind == "flag") {
      if (std::isnan(d)) return refuse("must be true or false, not " + shown(*v));
      out = d != 0;
    } else if (kind == "count") {
      if (!v->is_number() || !(d >= 1 && d <= static_cast<double>(kMaxFact)) || d != std::floor(d))
        return refuse(f.value("what", name) + " must be a whole number of at least 1, not " +
                      shown(*v));
      out = d;
    } else if (kind == "number") {
      const double lo = f.value("min", -INFINITY), hi = f.value("max", INFINITY);
      if (!v->is_number() || !(d >= lo && d <= hi))
        return refuse("must be a number between " + json(lo).dump() + " and " + json(hi).dump());
      out = d;
    } else {
      return damaged_layers("fact " + name + ": there is no kind \"" + kind + "\"");
    }
    return std::nullopt;
  }

 private:
  const json& config_;
  const std::string& name_;
  Facts& facts_;
  std::string key_;

  static std::string shown(const json& v) {
    return v.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 60);
  }
  Refusal refuse(const std::string& why) {
    return Refusal{"read model " + name_, key_, why, "mend it in the model's config.json"};
  }
  static std::optional<Refusal> set(double& out, const Expected<double>& v) {
    if (!v) return v.error();
    out = *v;
    return std::nullopt;
  }

  // A text, and a flag for each of the names it may go by.
  std::optional<Refusal> text_fact(const json& f, const std::string& name, const json* v) {
    std::string& out = facts_.texts[name];
    if (v && !v->is_string()) return refuse("must be a string, not " + shown(*v));
    if (v) out = v->get<std::string>();
    for (const json& d : v ? json::array() : f.value("defaults", json::array())) {
      const Expected<double> when = fact_value(d.at(0).get<std::string>(), facts_);
      if (!when) return when.error();
      if (*when != 0) {
        out = d.at(1).get<std::string>();
        break;
      }
    }
    for (const auto& [flag, patterns] : f.at("is").items()) {
      double& is = facts_.numbers[flag];
      is = 0;
      for (const json& p : patterns)
        if (matches(out, p.get<std::string>())) is = 1;
    }
    return std::nullopt;
  }
};

Expected<ModelConfig> read_by_map(const json& map, const json& config, const std::string& name) {
  ModelConfig m;
  Reader r(config, name, m.facts);
  auto title = r.text(map.at("name"), name);
  if (!title) return title.error();
  m.name = *title;
  auto family = r.text(map.at("family"), "");
  if (!family) return family.error();
  m.family = *family;
  for (const auto& [key, what] : map.at("unsupported").items()) {
    r.known.insert(key);
    const auto it = config.find(key);
    if (it != config.end() && is_set(*it))
      return Refusal{"read model " + name, key,
                     "it has " + what.get<std::string>() + ", for which the corpus has no kernels",
                     "expand a model without it"};
  }
  for (const std::string& f : {std::string(), m.family})
    if (map.at("families").contains(f))
      for (const auto& [fact, v] : map["families"][f].items())
        m.facts.numbers["family." + fact] = v.get<double>();
  for (const json& f : map.at("facts"))
    if (auto bad = r.fact(f)) return *bad;
  if (auto bad = failed_check(map.at("checks"), m.facts, "read model " + name)) return *bad;
  auto notes = notes_of(map.at("notes"), m.facts);
  if (!notes) return notes.error();
  m.notes = *notes;
  for (const json& key : map.at("ignored")) r.known.insert(key.get<std::string>());
  std::string unknown;
  for (const auto& [key, value] : config.items())
    if (!key.starts_with("_") && !r.known.contains(key))
      unknown += (unknown.empty() ? "" : ", ") + key;
  if (!unknown.empty()) m.notes.push_back("unknown keys, without effect here: " + unknown);
  return m;
}

}  // namespace

int64_t ModelConfig::count(const std::string& fact) const {
  const auto it = facts.numbers.find(fact);
  return it == facts.numbers.end() ? 0 : static_cast<int64_t>(it->second);
}

Expected<ModelConfig> read_model(const json& config, const std::string& name) {
  if (!config.is_object())
    return Refusal{"read model " + name, "", "a model's configuration is a JSON object",
                   "give its config.json"};
  const Expected<json> map = load_layers();
  if (!map) return map.error();
  try {
    return read_by_map(*map, config, name);
  } catch (const json::exception& e) {
    return damaged_layers(e.what());
  }
}

Expected<ModelConfig> load_model(const std::string& name_or_path) {
  namespace fs = std::filesystem;
  std::error_code ec;
  Refusal r{"read model " + name_or_path, name_or_path, "", ""};
  fs::path path = name_or_path;
  if (!fs::is_regular_file(path, ec)) {
    const fs::path dir = fs::path(sched::corpus_dir()) / "models";
    if (fs::is_directory(path, ec) && fs::is_regular_file(path / "config.json", ec))
      path /= "config.json";
    else if (path.filename() == path && fs::is_regular_file(dir / (name_or_path + ".json"), ec))
      path = dir / (name_or_path + ".json");
    else if (fs::exists(path, ec)) {
      r.why = sched::why_no_file(path.string());
      r.suggest = "give a model's config.json";
      return r;
    } else {
      r.why = "there is neither a model of that name in the corpus nor such a file";
      std::set<std::string> names;
      for (const auto& e : fs::directory_iterator(dir, ec))
        if (e.path().extension() == ".json") names.insert(e.path().stem().string());
      for (const std::string& n : names) r.suggest += (r.suggest.empty() ? "" : ", ") + n;
      return r;
    }
  }
  const auto text = sched::read_file(path.string(), kMaxBytes);
  if (!text) {
    r.why = text.error().why;
    return r;
  }
  const json config = poly::read_json(*text);
  if (config.is_discarded()) {
    r.why = "it is not JSON, or nests too deeply";
    r.suggest = "give a model's config.json";
    return r;
  }
  return read_model(config, path.stem() == "config" ? path.parent_path().filename().string()
                                                    : path.stem().string());
}

}  // namespace nautilus::spec
