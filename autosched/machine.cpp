#include "autosched/machine.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "autosched/file.h"
#include "polyhedral/json_text.h"

namespace nautilus::sched {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const char* const kShape = "see corpus/machines/h200.json for the shape";

Refusal bad(const std::string& where, const std::string& why, const std::string& suggest = "") {
  return Refusal{"read a machine description", where, why, suggest};
}

// Reads one number with unit and source, or appends what is wrong with it to `problems`.
Quantity read_quantity(const json& parent, const char* key, const std::string& unit,
                       std::vector<std::string>& problems, bool required = true) {
  Quantity q;
  if (!parent.contains(key)) {
    if (required) problems.push_back(std::string("\"") + key + "\" is missing");
    return q;
  }
  const json& j = parent[key];
  if (!j.is_object() || !j.contains("value") || !j["value"].is_number()) {
    problems.push_back(std::string("\"") + key +
                       "\" needs {\"value\": number, \"unit\", \"source\"}");
    return q;
  }
  q.value = j["value"].get<double>();
  if (j.contains("unit") && j["unit"].is_string()) q.unit = j["unit"].get<std::string>();
  if (j.contains("source") && j["source"].is_string()) q.source = j["source"].get<std::string>();
  if (q.unit != unit)
    problems.push_back(std::string("\"") + key + "\" has unit \"" + q.unit + "\", expected \"" +
                       unit + "\"");
  if (q.source.empty()) problems.push_back(std::string("\"") + key + "\" has no source");
  if (!std::isfinite(q.value) || q.value <= 0)
    problems.push_back(std::string("\"") + key + "\" must be positive");
  return q;
}

json quantity_json(const Quantity& q) {
  return {{"value", q.value}, {"unit", q.unit}, {"source", q.source}};
}

std::optional<fs::path> executable_dir() {
  std::error_code ec;
  fs::path p = fs::read_symlink("/proc/self/exe", ec);
  if (ec) return std::nullopt;
  return p.parent_path();
}

}  // namespace

const MemoryLevel* Machine::level(std::string_view n) const {
  for (const MemoryLevel& l : levels)
    if (l.name == n) return &l;
  return nullptr;
}

// f32 products run on the FMA units unless the spec's numerics allow tf32, which this does not
// assume.
double Machine::matrix_rate(Type t) const {
  auto it = matrix.find(std::string(type_name(t)));
  return it == matrix.end() ? fma.value
                            : std::max(it->second.value, t == Type::F32 ? fma.value : 0.0);
}

double MemoryLevel::best_bandwidth() const {
  return std::max(bandwidth.value, shared_bandwidth.value);
}

// An FMA takes one slot, two floating-point operations; a special function is issued once and then
// takes its own unit's time.
double Machine::slots(const std::string& unit) const {
  const auto it = rates.find(unit);
  return it == rates.end() ? 1 : std::max(1.0, fma.value / 2 / it->second.value);
}

double Machine::figure(const std::string& key) const { return model.at(key).value; }
double Machine::figure(const std::string& key, double otherwise) const {
  const auto it = model.find(key);
  return it == model.end() ? otherwise : it->second.value;
}

const std::vector<ModelKey>& model_keys(const std::string& kind) {
  static const std::vector<ModelKey> gpu{
      {"register_room", "1", "share of the register file that tiles of one block may take"},
      {"unhidden", "1",
       "share of the other units' time that shows although it overlaps with the busiest unit's"},
      {"chained_unhidden", "1",
       "share of the lesser of lanes and special functions that shows beside the other where "
       "products of a step wait for each other",
       false},
      {"chained_step", "s",
       "what a step of warpgroups whose products wait for each other takes beside its work", false},
      {"chained_block", "s", "what their blocks take to begin and to end", false}};
  static const std::vector<ModelKey> cpu{
      {"scalar_slots", "1", "vector FMA slots that an operation of unvectorized code takes"},
      {"scalar_special", "1", "the same for special functions, in their own slots"},
      {"strided_slots", "1", "slots an operation takes in vectors that gather or stride"},
      {"vector_slots", "1", "slots an operation takes in whole vectors, loads and stores included"},
      {"tile_setup", "s", "start of one tile operation"},
      {"pack_element", "s", "packing of one element of a product's operand"},
      {"cache_room", "1", "share of a cache that a working set fills before its lines are lost"},
      {"unhidden", "1",
       "share of the first cache's time, and of the lesser of computing and memory, that shows"}};
  return kind == "cpu" ? cpu : gpu;
}

bool read_shape(const json& j, std::vector<int64_t>& out) {
  const bool good =
      j.is_array() && j.size() == 3 && std::all_of(j.begin(), j.end(), [](const json& n) {
        return n.is_number_integer() && n.get<int64_t>() >= 1;
      });
  if (good) out = j.get<std::vector<int64_t>>();
  return good;
}

// Every number must be there, positive, in the expected unit and with a source; all problems are
// listed.
Expected<Machine> machine_from_json(const json& j) {
  if (!j.is_object()) return bad("", "not a JSON object");
  std::vector<std::string> problems;
  Machine m;
  auto text = [&](const char* key) {
    if (!j.contains(key) || !j[key].is_string()) {
      problems.push_back(std::string("\"") + key + "\" is missing");
      return std::string();
    }
    return j[key].get<std::string>();
  };
  m.id = text("id");
  m.name = text("name");
  m.kind = text("kind");
  if (m.kind != "gpu" && m.kind != "cpu")
    problems.push_back("\"kind\" is \"" + m.kind + "\", expected \"gpu\" or \"cpu\"");
  auto whole = [&](const char* key, int absent) {
    const json v = j.value(key, json(absent));
    const bool fits = v.is_number_integer() && v.get<double>() >= 1 && v.get<double>() <= 1 << 30;
    if (!fits)
      problems.push_back(std::string("\"") + key + "\" must be a whole number of at least 1");
    return fits ? v.get<int>() : 0;
  };
  m.units = whole("units", 0);
  m.clock = read_quantity(j, "clock", "Hz", problems);
  if (j.contains("matrix") && j["matrix"].is_object())
    for (auto& [type, unused] : j["matrix"].items()) {
      if (!type_from_name(type) && type != "tf32")
        problems.push_back("\"matrix\" names an unknown type \"" + type + "\"");
      m.matrix[type] = read_quantity(j["matrix"], type.c_str(), "FLOP/s", problems);
    }
  m.fma = read_quantity(j, "fma", "FLOP/s", problems);
  m.special = read_quantity(j, "special", "1/s", problems);
  const json rates = j.value("rates", json::object());
  for (const char* unit : {"divide", "convert", "compare"})
    m.rates[unit] = read_quantity(rates, unit, "1/s", problems);
  const json model = j.value("model", json::object());
  for (const ModelKey& key : model_keys(m.kind))
    if (key.needed || model.contains(key.name))
      m.model[key.name] = read_quantity(model, key.name, key.unit, problems);
  if (j.contains("levels") && j["levels"].is_array())
    for (const json& l : j["levels"]) {
      if (!l.is_object() || !l.contains("name") || !l["name"].is_string()) {
        problems.push_back("a level of \"levels\" is no object with a \"name\"");
        continue;
      }
      MemoryLevel level;
      level.name = l["name"].get<std::string>();
      level.bandwidth = read_quantity(l, "bandwidth", "B/s", problems);
      level.capacity = read_quantity(l, "capacity", "B", problems);
      level.shared_bandwidth = read_quantity(l, "shared_bandwidth", "B/s", problems, false);
      level.per_unit = l.contains("per_unit") && l["per_unit"] == true;
      m.levels.push_back(level);
    }
  if (m.levels.empty()) problems.push_back("\"levels\" is missing or empty");
  m.registers_per_unit = read_quantity(j, "registers_per_unit", "B", problems);
  m.shared_per_unit = read_quantity(j, "shared_per_unit", "B", problems);
  m.launch_latency = read_quantity(j, "launch_latency", "s", problems);
  m.barrier_latency = read_quantity(j, "barrier_latency", "s", problems);
  m.memory_latency = read_quantity(j, "memory_latency", "s", problems);
  if (j.contains("sustained")) m.sustained = read_quantity(j, "sustained", "1", problems);
  m.max_threads_per_unit = whole("max_threads_per_unit", 2048);
  if (j.contains("warp_share")) m.warp_share = read_quantity(j, "warp_share", "1", problems);
  m.matrix_shape = {1, 1, 1};
  for (auto [key, shape] :
       {std::pair{"matrix_shape", &m.matrix_shape}, std::pair{"warp_shape", &m.warp_shape}})
    if (j.contains(key) && !read_shape(j[key], *shape))
      problems.push_back("\"" + std::string(key) + "\" needs three whole numbers of at least 1");
  if (problems.empty()) return m;
  std::string why;
  for (const std::string& p : problems) why += (why.empty() ? "" : "; ") + p;
  return bad(m.id, why, kShape);
}

json machine_to_json(const Machine& m) {
  json j{{"id", m.id},
         {"name", m.name},
         {"kind", m.kind},
         {"units", m.units},
         {"clock", quantity_json(m.clock)}};
  j["matrix"] = json::object();
  for (auto& [type, q] : m.matrix) j["matrix"][type] = quantity_json(q);
  j["fma"] = quantity_json(m.fma);
  j["special"] = quantity_json(m.special);
  for (auto& [unit, q] : m.rates) j["rates"][unit] = quantity_json(q);
  for (auto& [key, q] : m.model) j["model"][key] = quantity_json(q);
  j["levels"] = json::array();
  for (const MemoryLevel& l : m.levels) {
    j["levels"].push_back({{"name", l.name},
                           {"bandwidth", quantity_json(l.bandwidth)},
                           {"capacity", quantity_json(l.capacity)},
                           {"per_unit", l.per_unit}});
    if (l.shared_bandwidth.value > 0)
      j["levels"].back()["shared_bandwidth"] = quantity_json(l.shared_bandwidth);
  }
  j["registers_per_unit"] = quantity_json(m.registers_per_unit);
  j["shared_per_unit"] = quantity_json(m.shared_per_unit);
  j["launch_latency"] = quantity_json(m.launch_latency);
  j["barrier_latency"] = quantity_json(m.barrier_latency);
  j["memory_latency"] = quantity_json(m.memory_latency);
  if (!m.sustained.source.empty()) j["sustained"] = quantity_json(m.sustained);
  j["max_threads_per_unit"] = m.max_threads_per_unit;
  j["matrix_shape"] = m.matrix_shape;
  if (!m.warp_shape.empty()) j["warp_shape"] = m.warp_shape;
  if (!m.warp_share.source.empty()) j["warp_share"] = quantity_json(m.warp_share);
  return j;
}

Expected<Machine> load_machine(const std::string& path) {
  const Expected<std::string> text = read_file(path);
  if (!text)
    return bad(path, text.error().why, "--machine takes an id of corpus/machines or a path");
  const json j = poly::read_json(*text);
  if (j.is_discarded()) return bad(path, "is not valid JSON, or nests too deeply", kShape);
  try {
    Expected<Machine> m = machine_from_json(j);
    if (m) return m;
    Refusal r = m.error();
    r.where = path;
    return r;
  } catch (const json::exception& e) {
    return bad(path, e.what(), kShape);
  }
}

std::string corpus_dir() {
  if (const char* env = std::getenv("NAUTILUS_CORPUS"); env && *env) return env;
  std::error_code ec;
  if (auto dir = executable_dir())
    for (const char* rel : {"corpus", "../corpus", "../share/nautilus/corpus"})
      if (fs::is_directory(*dir / rel / "machines", ec))
        return (*dir / rel).lexically_normal().string();
  return NAUTILUS_SOURCE_DIR "/corpus";
}

std::vector<std::string> list_machines() {
  std::vector<std::string> ids{"cpu"};
  std::error_code ec;
  for (auto& entry : fs::directory_iterator(fs::path(corpus_dir()) / "machines", ec))
    if (entry.path().extension() == ".json") ids.push_back(entry.path().stem().string());
  std::sort(ids.begin(), ids.end());
  return ids;
}

Expected<Machine> find_machine(const std::string& id) {
  if (id == "cpu") {
    static const Machine host = probe_cpu();
    return host;
  }
  std::error_code ec;
  fs::path file = fs::path(corpus_dir()) / "machines" / (id + ".json");
  if (fs::is_regular_file(file, ec)) return load_machine(file.string());
  if (fs::is_regular_file(id, ec)) return load_machine(id);
  std::string known;
  for (const std::string& k : list_machines()) known += (known.empty() ? "" : ", ") + k;
  return Refusal{"find machine \"" + id + "\"", corpus_dir() + "/machines", "no such machine",
                 "one of " + known};
}

}  // namespace nautilus::sched
