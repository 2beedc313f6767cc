#include "gui/models/measurements.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "polyhedral/json_text.h"

namespace nautilus::gui {
namespace {

using nlohmann::json;
using Row = std::map<std::string, std::string>;

Refusal refuse(const std::string& why) {
  return {"import measurements", "", why,
          "rows with a time (seconds or ms) and node or knobs; see the user guide"};
}

std::string as_text(const json& j) {
  if (j.is_string()) return j.get<std::string>();
  if (!j.is_object()) return j.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string out;
  for (const auto& [k, v] : j.items()) out += (out.empty() ? "" : " ") + k + "=" + as_text(v);
  return out;
}

Expected<std::vector<Row>> rows_of_json(const std::string& text) {
  json j = poly::read_json(text);
  if (j.is_discarded()) return refuse("not valid JSON");
  if (j.is_object())
    for (const json& v : json::array_t(j.begin(), j.end()))
      if (v.is_array() && !v.empty() && v.front().is_object()) {
        j = v;
        break;
      }
  if (j.is_object()) j = json::array({j});
  if (!j.is_array()) return refuse("neither an array of rows nor an object with one");
  std::vector<Row> out;
  for (const json& r : j) {
    if (!r.is_object()) return refuse("a row is no object");
    Row row;
    for (const auto& [k, v] : r.items()) row[k] = as_text(v);
    out.push_back(std::move(row));
  }
  return out;
}

// One record of CSV: fields may be quoted, hold commas, and "" for a quote.
std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (size_t k = 0; k < line.size(); ++k) {
    const char c = line[k];
    if (quoted && c == '"' && k + 1 < line.size() && line[k + 1] == '"')
      out.back() += c, ++k;
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else if (c != '\r')
      out.back() += c;
  }
  return out;
}

Expected<std::vector<Row>> rows_of_csv(const std::string& text) {
  std::istringstream in(text);
  std::string line;
  if (!std::getline(in, line) || line.find('\0') != std::string::npos)
    return refuse("neither CSV nor JSON");
  const std::vector<std::string> names = csv_fields(line);
  std::vector<Row> out;
  while (std::getline(in, line)) {
    if (line.empty() || line == "\r") continue;
    const std::vector<std::string> fields = csv_fields(line);
    Row row;
    for (size_t k = 0; k < std::min(names.size(), fields.size()); ++k) row[names[k]] = fields[k];
    out.push_back(std::move(row));
  }
  return out;
}

const std::string* field(const Row& row, std::initializer_list<const char*> names) {
  for (const char* n : names)
    if (const auto at = row.find(n); at != row.end() && !at->second.empty()) return &at->second;
  return nullptr;
}

std::optional<double> number(const std::string& s) {
  double v = 0;
  const auto [stop, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc() || stop != s.data() + s.size() || !std::isfinite(v)) return std::nullopt;
  return v;
}

std::map<std::string, std::string> pairs(const std::string& s) {
  std::map<std::string, std::string> out;
  std::istringstream in(s);
  for (std::string item; in >> item;)
    if (const size_t eq = item.find('='); eq != std::string::npos)
      out[item.substr(0, eq)] = item.substr(eq + 1);
  return out;
}

constexpr int kSeveral = -2;

std::string knobs_key(const std::map<std::string, std::string>& knobs) {
  std::string key;
  for (const auto& [name, value] : knobs) key += name + "=" + value + " ";
  return key;
}

// Candidates by their knobs; kSeveral where they do not tell which.
std::map<std::string, int> by_knobs(const std::vector<sched::SearchNode>& nodes) {
  std::map<std::string, int> out;
  for (const sched::SearchNode& n : nodes) {
    if (n.knobs.empty() || n.state == sched::NodeState::Duplicate) continue;
    std::map<std::string, std::string> knobs;
    for (const auto& [name, value] : n.knobs) knobs[name] = std::to_string(value);
    const auto [at, fresh] = out.emplace(knobs_key(knobs), n.id);
    if (!fresh) at->second = kSeveral;
  }
  return out;
}

// Why a row is of no use here, or "".
std::string match(const Row& row, const sched::Session& s, const std::map<std::string, int>& known,
                  MeasuredRow& out) {
  if (const auto* k = field(row, {"kernel", "operator"}); k && *k != s.kernel)
    return "it is of " + *k + ", not of " + s.kernel;
  if (const auto* sizes = field(row, {"sizes"}))
    for (const auto& [name, value] : pairs(*sizes))
      if (const auto at = s.options.sizes.find(name);
          at != s.options.sizes.end() && std::to_string(at->second) != value)
        return "it was measured at " + name + "=" + value;
  const auto* seconds = field(row, {"seconds", "median_seconds"});
  const auto* ms = field(row, {"milliseconds", "ms", "median_ms"});
  if (!seconds && !ms) return "it has no time";
  const auto time = number(seconds ? *seconds : *ms);
  if (!time || *time <= 0) return "'" + (seconds ? *seconds : *ms) + "' is no time";
  out.measured.seconds = seconds ? *time : *time / 1e3;
  if (const auto* r = field(row, {"right", "correct", "verified"}))
    out.measured.right = *r == "true" || *r == "True" || *r == "1" || *r == "yes";
  if (const auto* from = field(row, {"source", "machine", "device"})) out.measured.source = *from;
  const auto& nodes = s.result.nodes;
  if (const auto* id = field(row, {"node", "id", "candidate"})) {
    const auto n = number(*id);
    if (!n || *n < 0 || *n >= static_cast<double>(nodes.size()) || *n != std::floor(*n))
      return "there is no candidate " + *id;
    out.node = static_cast<int>(*n);
    return "";
  }
  const auto* knobs = field(row, {"knobs"});
  if (!knobs) return "it names neither node nor knobs";
  const auto at = known.find(knobs_key(pairs(*knobs)));
  if (at == known.end()) return "no candidate has the knobs " + *knobs;
  if (at->second == kSeveral) return "several candidates have the knobs " + *knobs;
  out.node = at->second;
  return "";
}

}  // namespace

Expected<Import> read_measurements(const std::string& text, const sched::Session& session,
                                   const std::string& origin) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return refuse("the file is empty");
  auto rows = text[first] == '[' || text[first] == '{' ? rows_of_json(text) : rows_of_csv(text);
  if (!rows) return rows.error();
  const std::map<std::string, int> known = by_knobs(session.result.nodes);
  Import out;
  for (size_t k = 0; k < rows->size(); ++k) {
    MeasuredRow r;
    r.measured.source = origin;
    const std::string why = match((*rows)[k], session, known, r);
    if (why.empty()) {
      out.rows.push_back(std::move(r));
    } else if (++out.left_out <= 3) {
      out.why += (out.why.isEmpty() ? "row " : "; row ") + QString::number(k + 1) + ": " +
                 QString::fromStdString(why);
    }
  }
  return out;
}

}  // namespace nautilus::gui
