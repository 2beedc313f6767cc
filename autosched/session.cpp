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

// What is damaged: of which field, in the words of the file, and why.
struct Damage {
  std::string field, why;
};

// A value in a sentence: itself where it is short, else what it is.
std::string shown(const json& j) {
  constexpr size_t kShown = 40;  // bytes
  if (j.is_array()) return "a list";
  if (j.is_object()) return "an object";
  const std::string text = j.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() > kShown ? text.substr(0, kShown) + "..." : text;
}

const json& member(const json& j, const char* key) {
  if (!j.is_object()) throw Damage{"", shown(j) + " is no object"};
  const auto at = j.find(key);
  if (at == j.end()) throw Damage{key, "it is missing"};
  return *at;
}
const json& list(const json& j, const char* field) {
  if (!j.is_array()) throw Damage{field, shown(j) + " is no list"};
  return j;
}
const json& object(const json& j, const char* field) {
  if (!j.is_object()) throw Damage{field, shown(j) + " is no object"};
  return j;
}
std::string words(const json& j, const char* field) {
  if (!j.is_string()) throw Damage{field, shown(j) + " is no text"};
  return j.get<std::string>();
}
bool yes_or_no(const json& j, const char* field) {
  if (!j.is_boolean()) throw Damage{field, shown(j) + " is neither true nor false"};
  return j.get<bool>();
}

double number(const json& j, const char* field) {
  if (j.is_number()) return j.get<double>();
  if (j == "inf") return INFINITY;
  if (j == "-inf") return -INFINITY;
  if (j == "nan") return NAN;
  throw Damage{field, shown(j) + " is no number"};
}
double finite(const json& j, const char* field) {
  if (!j.is_number()) throw Damage{field, shown(j) + " is no number"};
  return j.get<double>();
}
// 0: none. Counts have 64 bits, so no plan of any sizes is predicted to take as long as the limit;
// that of a measured time is not for plans that nobody would run.
double predicted(const json& j, const char* field) {
  constexpr double kLongest = 1e20;  // s
  if (j.is_null()) throw Damage{field, "null is no time"};
  const double v = number(j, field);
  if (v >= 0 && v <= kLongest) return v;
  throw Damage{field, shown(j) + " s is no time that a kernel takes"};
}

// A whole number that fits: get() would take 1e300 and 2^40 for an int as well.
template <class T>
T whole(const json& j, const char* field) {
  if (j.is_number_unsigned() && std::in_range<T>(j.get<uint64_t>())) return j.get<T>();
  if (j.is_number_integer() && !j.is_number_unsigned() && std::in_range<T>(j.get<int64_t>()))
    return j.get<T>();
  throw Damage{field, shown(j) + " is not a whole number in range"};
}
// One of the values of an enum, the last of which is `last`.
template <class E>
E one_of(const json& j, E last, const char* field) {
  const int v = whole<int>(j, field);
  if (v < 0 || v > static_cast<int>(last)) throw Damage{field, shown(j) + " is unknown"};
  return static_cast<E>(v);
}
template <class T = int>
std::vector<T> whole_numbers(const json& j, const char* field) {
  std::vector<T> out;
  for (const json& e : list(j, field)) out.push_back(whole<T>(e, field));
  return out;
}
std::vector<std::string> texts(const json& j, const char* field) {
  std::vector<std::string> out;
  for (const json& e : list(j, field)) {
    if (!e.is_string())
      throw Damage{field,
                   "number " + std::to_string(out.size()) + ", " + shown(e) + ", is no text"};
    out.push_back(e.get<std::string>());
  }
  return out;
}
// A candidate that there is, of `count`.
int known(int64_t id, size_t count, const char* field) {
  if (id >= 0 && id < static_cast<int64_t>(count)) return static_cast<int>(id);
  throw Damage{field,
               "there is no candidate " + std::to_string(id) + " among " + std::to_string(count)};
}
int known(const std::string& s, size_t count, const char* field) {
  int id = -1;
  const auto [end, bad] = std::from_chars(s.data(), s.data() + s.size(), id);
  if (bad != std::errc() || end != s.data() + s.size())
    throw Damage{field, shown(s) + " is not the number of a candidate"};
  return known(id, count, field);
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
  return yes_or_no(*said, "right");
}

// Throws Damage, as all that reads does; the caller turns that into a Refusal.
SearchNode node_from_json(const json& j, int id, const std::vector<std::string>& strings,
                          int64_t version) {
  const size_t fields = version < 2 ? 12 : 15;
  if (list(j, "").size() < fields)
    throw Damage{
        "", "it has " + std::to_string(j.size()) + " of " + std::to_string(fields) + " fields"};
  const auto text = [&](const json& k, const char* field) -> const std::string& {
    const auto at = whole<size_t>(k, field);
    if (at < strings.size()) return strings[at];
    throw Damage{field, "there is no string " + std::to_string(at) + " among " +
                            std::to_string(strings.size())};
  };
  const auto pairs = [&](const json& k, const char* field) -> const json& {
    if (list(k, field).size() % 2) throw Damage{field, "the last one is half there"};
    return k;
  };
  SearchNode n;
  n.id = id;
  n.parent = whole<int>(j[0], "parent");
  if (n.parent >= id || n.parent < (id == 0 ? -1 : 0))
    throw Damage{"parent", std::to_string(n.parent) + " is no candidate before it"};
  n.state = one_of(j[1], NodeState::Failed, "state");
  n.verdict = one_of(j[2], poly::VerdictKind::Unknown, "verdict");
  n.decision = text(j[3], "decision");
  n.reason = text(j[4], "reason");
  n.duplicate_of = whole<int>(j[5], "duplicate of");
  n.seconds = predicted(j[6], "predicted time");
  n.lower_bound = predicted(j[7], "lower bound of the time");
  n.limiter = text(j[8], "limiter");
  const json& steps = pairs(j[9], "steps");
  for (size_t k = 0; k < steps.size(); k += 2)
    n.steps.push_back({text(steps[k], "steps"), text(steps[k + 1], "steps")});
  for (const json& p : list(j[10], "roofline")) {
    if (list(p, "roofline").size() < 4) throw Damage{"roofline", "a point lacks a number"};
    n.points.push_back({text(p[0], "roofline"), number(p[1], "roofline"), number(p[2], "roofline"),
                        number(p[3], "roofline")});
  }
  const json& knobs = pairs(j[11], "knobs");
  for (size_t k = 0; k < knobs.size(); k += 2)
    n.knobs[text(knobs[k], "knobs")] = whole<int64_t>(knobs[k + 1], "knobs");
  if (version < 2) return n;
  n.shared_bytes = number(j[12], "shared memory");
  n.register_bytes = number(j[13], "registers");
  n.by_hand = yes_or_no(j[14], "made by hand");
  if (j.size() > 15) n.made_at = number(j[15], "made at");
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
  for (const ModelKey& key : model_keys(cpu ? "cpu" : "gpu"))
    if (key.needed) fill("model", key.name, 1, key.unit);
  return machine;
}

SearchOptions options_from_json(const json& j) {
  SearchOptions o;
  for (auto& [name, value] : object(member(j, "sizes"), "sizes").items())
    o.sizes[name] = whole<int64_t>(value, "sizes");
  Expected<Machine> m = machine_from_json(completed(member(j, "machine")));
  if (!m) throw Damage{"machine", m.error().why};
  o.machine = *m;
  o.seed = whole<uint64_t>(member(j, "seed"), "seed");
  o.strategy = one_of(member(j, "strategy"), Strategy::Exhaustive, "strategy");
  o.beam = whole<int>(member(j, "beam"), "beam");
  o.seconds = finite(member(j, "seconds"), "seconds");
  o.max_nodes = whole<int>(member(j, "max_nodes"), "max_nodes");
  o.max_plans = whole<int>(member(j, "max_plans"), "max_plans");
  o.isl_quota = whole<unsigned long>(member(j, "isl_quota"), "isl_quota");
  o.top = whole<int>(member(j, "top"), "top");
  o.numerics = words(member(j, "numerics"), "numerics");
  if (j.contains("open_dims"))
    for (std::string& dim : texts(j["open_dims"], "open_dims")) o.open_dims.insert(std::move(dim));
  if (j.contains("tiles")) o.knobs.tiles = whole_numbers<int64_t>(j["tiles"], "tiles");
  if (j.contains("stages")) o.knobs.stages = whole_numbers<int64_t>(j["stages"], "stages");
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

// A measured time that no kernel takes, of a person's store perhaps: the rest is as good without.
void leave_out(std::string& note, int id, const json& seconds) {
  note += (note.empty() ? "" : "; ") + ("the measurement of candidate " + std::to_string(id)) +
          " was left out: " + shown(seconds) + " s is no time that a kernel takes";
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
    const auto top = [&](const char* key) -> const json& {
      part = key;
      const auto at = j.find(key);
      if (at == j.end()) throw Damage{"", "it is missing"};
      return *at;
    };
    const json& spec = top("spec");
    s.spec_path = words(member(spec, "path"), "path");
    s.spec_text = words(member(spec, "text"), "text");
    s.spec_hash = words(member(spec, "hash"), "hash");
    s.kernel = words(member(spec, "kernel"), "kernel");
    s.program_naut = words(top("program"), "");
    s.options = options_from_json(top("options"));
    const json& r = top("result");
    s.result.best = whole_numbers(member(r, "best"), "best");
    s.result.pareto = whole_numbers(member(r, "pareto"), "pareto");
    s.result.plans_costed = whole<int>(member(r, "plans_costed"), "plans_costed");
    s.result.structures_verified =
        whole<int>(member(r, "structures_verified"), "structures_verified");
    s.result.duplicates = whole<int>(member(r, "duplicates"), "duplicates");
    s.result.seconds = finite(member(r, "seconds"), "seconds");
    s.result.first_plan_seconds = finite(member(r, "first_plan_seconds"), "first_plan_seconds");
    s.result.stop_reason =
        one_of(member(r, "stop_reason"), StopReason::OperationBudget, "stop_reason");
    if (r.contains("note")) s.result.note = words(r["note"], "note");
    const std::vector<std::string> strings = texts(top("strings"), "");
    const json& nodes = list(top("nodes"), "");
    s.result.nodes.reserve(nodes.size());
    for (const json& n : nodes) {
      part = "candidate " + std::to_string(s.result.nodes.size());
      s.result.nodes.push_back(
          node_from_json(n, static_cast<int>(s.result.nodes.size()), strings, version));
    }
    const size_t count = s.result.nodes.size();
    for (const SearchNode& n : s.result.nodes) {
      if (n.duplicate_of == -1) continue;
      part = "candidate " + std::to_string(n.id);
      known(n.duplicate_of, count, "duplicate of");
    }
    part = "result";
    for (int id : s.result.best) known(id, count, "best");
    for (int id : s.result.pareto) known(id, count, "pareto");
    if (version >= 2) {
      s.pins = whole_numbers(top("pins"), "");
      for (int id : s.pins) known(id, count, "");
      for (auto& [key, m] : object(top("measured"), "").items()) {
        const int id = known(key, count, "");
        part = "measurement of candidate " + key;
        const json& seconds = member(m, "seconds");  // null: as JSON has no NaN
        const MeasuredPlan plan{seconds.is_null() ? NAN : number(seconds, "seconds"), comparison(m),
                                words(member(m, "source"), "source")};
        if (is_kernel_time(plan.seconds))
          s.measured[id] = plan;
        else
          leave_out(s.result.note, id, seconds);
      }
      if (const json& viewport = top("viewport"); !viewport.is_null()) s.viewport = viewport.dump();
    }
    for (auto& [key, text] : object(top("notes"), "").items()) {
      const int id = known(key, count, "");
      part = "note on candidate " + key;
      s.notes[id] = words(text, "");
    }
    return s;
  } catch (const Damage& d) {
    return damaged("damaged at its " + part + (d.field.empty() ? "" : ", " + d.field) + ": " +
                   d.why);
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
