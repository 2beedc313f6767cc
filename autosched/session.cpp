// Session files: one JSON document. Nodes are arrays over a table of strings, so that 100,000 of
// them stay small.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "autosched/file.h"
#include "autosched/search.h"
#include "polyhedral/json_text.h"

namespace nautilus::sched {
namespace {

using nlohmann::json;
// 1: what a search says. 2: also what a plan takes of registers and scratch, nodes made by hand,
// and what the explorer adds (measurements, pins, viewport); later ones also when nodes were made.
constexpr int kSessionVersion = 2;

// Strings by number, in order of first use.
class Strings {
 public:
  int id(const std::string& s) {
    auto [it, fresh] = ids_.emplace(s, static_cast<int>(ids_.size()));
    if (fresh) all_.push_back(s);
    return it->second;
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::map<std::string, int> ids_;
  std::vector<std::string> all_;
};

json number(double v) {
  return std::isfinite(v) ? json(v) : json(std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}
double number(const json& j) {
  if (j.is_number()) return j.get<double>();
  const std::string& s = j.get_ref<const std::string&>();
  return s == "inf" ? INFINITY : s == "-inf" ? -INFINITY : NAN;
}

// A whole number that fits: get() would take 1e300 and 2^40 for an int as well.
template <class T>
T whole(const json& j) {
  if (j.is_number_unsigned() && std::in_range<T>(j.get<uint64_t>())) return j.get<T>();
  if (j.is_number_integer() && !j.is_number_unsigned() && std::in_range<T>(j.get<int64_t>()))
    return j.get<T>();
  constexpr size_t kShown = 40;
  throw std::out_of_range(j.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, kShown) +
                          " is not a whole number in range");
}
template <class T = int>
std::vector<T> whole_numbers(const json& j) {
  if (!j.is_array()) throw std::out_of_range("not a list");
  std::vector<T> out;
  for (const json& e : j) out.push_back(whole<T>(e));
  return out;
}
int node_number(const std::string& s) {
  int id = -1;
  const auto [end, bad] = std::from_chars(s.data(), s.data() + s.size(), id);
  if (bad != std::errc() || end != s.data() + s.size())
    throw std::out_of_range("'" + s.substr(0, 40) + "' is not the number of a node");
  return id;
}

json node_to_json(const SearchNode& n, Strings& strings) {
  json steps = json::array(), points = json::array(), knobs = json::array();
  for (const poly::TransformStep& s : n.steps) {
    steps.push_back(strings.id(s.name));
    steps.push_back(strings.id(s.params));
  }
  for (const RooflinePoint& p : n.points)
    points.push_back(json::array(
        {strings.id(p.level), number(p.intensity), number(p.achieved), number(p.roof)}));
  for (auto& [k, v] : n.knobs) {
    knobs.push_back(strings.id(k));
    knobs.push_back(v);
  }
  return json::array({n.parent, static_cast<int>(n.state), static_cast<int>(n.verdict),
                      strings.id(n.decision), strings.id(n.reason), n.duplicate_of,
                      number(n.seconds), number(n.lower_bound), strings.id(n.limiter),
                      std::move(steps), std::move(points), std::move(knobs), number(n.shared_bytes),
                      number(n.register_bytes), n.by_hand, number(n.made_at)});
}

// null or absent: nobody compared.
Comparison comparison(const json& measured) {
  const auto said = measured.find("right");
  if (said == measured.end() || said->is_null()) return {};
  return said->get<bool>();
}

// Throws json::exception or std::out_of_range on damage; the caller turns that into a Refusal.
SearchNode node_from_json(const json& j, int id, const std::vector<std::string>& strings,
                          int64_t version) {
  SearchNode n;
  n.id = id;
  n.parent = whole<int>(j.at(0));
  int state = whole<int>(j.at(1)), verdict = whole<int>(j.at(2));
  if (n.parent >= id || n.parent < (id == 0 ? -1 : 0))
    throw std::out_of_range("its parent is " + std::to_string(n.parent));
  if (state < 0 || state > static_cast<int>(NodeState::Failed))
    throw std::out_of_range("unknown node state");
  if (verdict < 0 || verdict > static_cast<int>(poly::VerdictKind::Unknown))
    throw std::out_of_range("unknown verdict");
  n.state = static_cast<NodeState>(state);
  n.verdict = static_cast<poly::VerdictKind>(verdict);
  auto text = [&](const json& k) -> const std::string& { return strings.at(whole<size_t>(k)); };
  n.decision = text(j.at(3));
  n.reason = text(j.at(4));
  n.duplicate_of = whole<int>(j.at(5));
  n.seconds = number(j.at(6));
  n.lower_bound = number(j.at(7));
  n.limiter = text(j.at(8));
  const json& steps = j.at(9);
  for (size_t k = 0; k + 1 < steps.size(); k += 2)
    n.steps.push_back({text(steps[k]), text(steps[k + 1])});
  for (const json& p : j.at(10))
    n.points.push_back({text(p.at(0)), number(p.at(1)), number(p.at(2)), number(p.at(3))});
  const json& knobs = j.at(11);
  for (size_t k = 0; k + 1 < knobs.size(); k += 2)
    n.knobs[text(knobs[k])] = whole<int64_t>(knobs[k + 1]);
  if (version < 2) return n;
  n.shared_bytes = number(j.at(12));
  n.register_bytes = number(j.at(13));
  n.by_hand = j.at(14).get<bool>();
  if (j.size() > 15) n.made_at = number(j.at(15));
  return n;
}

json options_to_json(const SearchOptions& o) {
  return {{"sizes", o.sizes},         {"machine", machine_to_json(o.machine)},
          {"seed", o.seed},           {"strategy", static_cast<int>(o.strategy)},
          {"beam", o.beam},           {"seconds", o.seconds},
          {"max_nodes", o.max_nodes}, {"max_plans", o.max_plans},
          {"isl_quota", o.isl_quota}, {"top", o.top},
          {"numerics", o.numerics},   {"tiles", o.knobs.tiles},
          {"stages", o.knobs.stages}, {"open_dims", o.open_dims}};
}

// A session may be older than a figure of the cost model: its machine then gets a neutral one,
// which says so.
json completed(json machine) {
  if (!machine.is_object() || !machine.contains("fma") || !machine["fma"].is_object() ||
      !machine["fma"].contains("value") || !machine["fma"]["value"].is_number())
    return machine;
  const auto fill = [&](const char* group, const char* key, double value, const char* unit) {
    if (!machine.contains(group)) machine[group] = json::object();
    if (machine[group].is_object() && !machine[group].contains(key))
      machine[group][key] = {{"value", value},
                             {"unit", unit},
                             {"source", "assumed: the session is older than this figure"}};
  };
  for (const char* unit : {"divide", "convert", "compare"})
    fill("rates", unit, machine["fma"]["value"].get<double>() / 2, "1/s");
  const bool cpu = machine.contains("kind") && machine["kind"] == "cpu";
  for (const ModelKey& key : model_keys(cpu ? "cpu" : "gpu")) fill("model", key.name, 1, key.unit);
  return machine;
}

Expected<SearchOptions> options_from_json(const json& j) {
  SearchOptions o;
  for (auto& [name, value] : j.at("sizes").items()) o.sizes[name] = whole<int64_t>(value);
  Expected<Machine> m = machine_from_json(completed(j.at("machine")));
  if (!m) return m.error();
  o.machine = *m;
  o.seed = whole<uint64_t>(j.at("seed"));
  int strategy = whole<int>(j.at("strategy"));
  if (strategy < 0 || strategy > static_cast<int>(Strategy::Exhaustive))
    throw std::out_of_range("unknown strategy");
  o.strategy = static_cast<Strategy>(strategy);
  o.beam = whole<int>(j.at("beam"));
  o.seconds = j.at("seconds").get<double>();
  o.max_nodes = whole<int>(j.at("max_nodes"));
  o.max_plans = whole<int>(j.at("max_plans"));
  o.isl_quota = whole<unsigned long>(j.at("isl_quota"));
  o.top = whole<int>(j.at("top"));
  o.numerics = j.at("numerics").get<std::string>();
  o.open_dims = j.value("open_dims", std::set<std::string>());
  if (j.contains("tiles")) o.knobs.tiles = whole_numbers<int64_t>(j["tiles"]);
  if (j.contains("stages")) o.knobs.stages = whole_numbers<int64_t>(j["stages"]);
  return o;
}

// `text` is none that poly::read_json takes.
std::string why_no_json(const std::string& text) {
  if (text.empty()) return "the file is empty";
  if (poly::nests_too_deeply(text)) return "not a session: its JSON nests too deeply";
  size_t at = text.size();
  try {
    [[maybe_unused]] const json again = json::parse(text);
  } catch (const json::parse_error& e) {
    at = std::min(e.byte, text.size());
    if (std::string_view(e.what()).ends_with("expected end of input"))
      return "there is text after the end of the session, in line " +
             std::to_string(1 + std::count(text.begin(),
                                           text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  } catch (const json::exception&) {
    return "not valid JSON: a number is out of range";
  }
  return "not valid JSON from byte " + std::to_string(at) + " of " + std::to_string(text.size()) +
         (at == text.size() ? " on: it is truncated" : " on: it is damaged");
}

Refusal damaged(const std::string& why) {
  return Refusal{"open a session", "", why,
                 "run the search again; sessions are only written whole"};
}

}  // namespace

json session_to_json(const Session& s) {
  Strings strings;
  json nodes = json::array();
  for (const SearchNode& n : s.result.nodes) nodes.push_back(node_to_json(n, strings));
  json notes = json::object();
  for (auto& [id, text] : s.notes) notes[std::to_string(id)] = text;
  json measured = json::object();
  for (auto& [id, m] : s.measured)
    measured[std::to_string(id)] = {{"seconds", number(m.seconds)},
                                    {"right", m.right.made() ? json(m.right.holds()) : json()},
                                    {"source", m.source}};
  json viewport = poly::read_json(s.viewport);
  if (viewport.is_discarded()) viewport = nullptr;
  const SearchResult& r = s.result;
  return {
      {"nautilus_session", kSessionVersion},
      {"spec",
       {{"path", s.spec_path}, {"text", s.spec_text}, {"hash", s.spec_hash}, {"kernel", s.kernel}}},
      {"program", s.program_naut},
      {"options", options_to_json(s.options)},
      {"result",
       {{"best", r.best},
        {"pareto", r.pareto},
        {"plans_costed", r.plans_costed},
        {"structures_verified", r.structures_verified},
        {"duplicates", r.duplicates},
        {"seconds", r.seconds},
        {"first_plan_seconds", r.first_plan_seconds},
        {"stop_reason", static_cast<int>(r.stop_reason)},
        {"note", r.note}}},
      {"strings", strings.all()},
      {"nodes", std::move(nodes)},
      {"notes", std::move(notes)},
      {"measured", std::move(measured)},
      {"pins", s.pins},
      {"viewport", std::move(viewport)}};
}

Expected<Session> session_from_json(const json& j) {
  if (!j.is_object() || !j.contains("nautilus_session"))
    return damaged("not a Nautilus session file");
  if (!j["nautilus_session"].is_number_integer()) return damaged("its version is not a number");
  const json& format = j["nautilus_session"];
  const int64_t version =
      format.is_number_unsigned() && !std::in_range<int64_t>(format.get<uint64_t>())
          ? INT64_MAX
          : format.get<int64_t>();
  if (version < 1) return damaged("its version is " + std::to_string(version));
  if (version > kSessionVersion)
    return Refusal{"open a session", "",
                   "written by a newer version (format " + std::to_string(version) +
                       ", this program reads up to " + std::to_string(kSessionVersion) + ")",
                   "update Nautilus"};
  std::string part = "spec";
  try {
    Session s;
    const json& spec = j.at("spec");
    s.spec_path = spec.at("path").get<std::string>();
    s.spec_text = spec.at("text").get<std::string>();
    s.spec_hash = spec.at("hash").get<std::string>();
    s.kernel = spec.at("kernel").get<std::string>();
    part = "program";
    s.program_naut = j.at("program").get<std::string>();
    part = "options";
    Expected<SearchOptions> options = options_from_json(j.at("options"));
    if (!options) return options.error();
    s.options = *options;
    part = "result";
    const json& r = j.at("result");
    s.result.best = whole_numbers(r.at("best"));
    s.result.pareto = whole_numbers(r.at("pareto"));
    s.result.plans_costed = whole<int>(r.at("plans_costed"));
    s.result.structures_verified = whole<int>(r.at("structures_verified"));
    s.result.duplicates = whole<int>(r.at("duplicates"));
    s.result.seconds = r.at("seconds").get<double>();
    s.result.first_plan_seconds = r.at("first_plan_seconds").get<double>();
    int stop = whole<int>(r.at("stop_reason"));
    if (stop < 0 || stop > static_cast<int>(StopReason::OperationBudget))
      throw std::out_of_range("unknown stop reason");
    s.result.stop_reason = static_cast<StopReason>(stop);
    s.result.note = r.value("note", "");
    part = "strings";
    std::vector<std::string> strings = j.at("strings").get<std::vector<std::string>>();
    part = "nodes";
    const json& nodes = j.at("nodes");
    s.result.nodes.reserve(nodes.size());
    for (const json& n : nodes) {
      part = "node " + std::to_string(s.result.nodes.size());
      s.result.nodes.push_back(
          node_from_json(n, static_cast<int>(s.result.nodes.size()), strings, version));
    }
    part = "lists of nodes";
    const int count = static_cast<int>(s.result.nodes.size());
    const auto known = [&](int id, const char* what) {
      if (id < 0 || id >= count)
        throw std::out_of_range(std::string(what) + " names node " + std::to_string(id) + " of " +
                                std::to_string(count));
      return id;
    };
    if (version >= 2) {
      s.pins = whole_numbers(j.at("pins"));
      for (auto& [id, m] : j.at("measured").items())
        s.measured[known(node_number(id), "a measurement")] = {
            number(m.at("seconds")), comparison(m), m.at("source").get<std::string>()};
      if (const json& viewport = j.at("viewport"); !viewport.is_null())
        s.viewport = viewport.dump();
    }
    for (int id : s.result.best) known(id, "the list of best plans");
    for (int id : s.result.pareto) known(id, "the Pareto front");
    for (int id : s.pins) known(id, "a pin");
    for (const SearchNode& n : s.result.nodes)
      if (n.duplicate_of != -1) known(n.duplicate_of, "a duplicate");
    for (auto& [id, text] : j.at("notes").items())
      s.notes[known(node_number(id), "a note")] = text.get<std::string>();
    return s;
  } catch (const std::exception& e) {
    std::string why = e.what();
    if (why.starts_with("[json.exception.")) why.erase(0, why.find(']') + 2);
    return damaged("damaged at its " + part + ": " + why);
  }
}

Expected<Session> load_session(const std::string& path) {
  // A pipe is not waited for, nor a device read for ever.
  if (std::string why = why_no_file(path); !why.empty())
    return Refusal{"read a session", path, std::move(why), "name a session file"};
  Expected<std::string> text = read_file(path);
  if (!text) return text.error();
  json j = poly::read_json(*text);
  Expected<Session> s =
      j.is_discarded() ? Expected<Session>(damaged(why_no_json(*text))) : session_from_json(j);
  if (s) return s;
  Refusal r = s.error();
  r.where = path;
  return r;
}

std::optional<Refusal> save_session(const Session& s, const std::string& path,
                                    const WriteOptions& how) {
  return write_file_atomically(
      path, session_to_json(s).dump(-1, ' ', false, json::error_handler_t::replace), how);
}

}  // namespace nautilus::sched
