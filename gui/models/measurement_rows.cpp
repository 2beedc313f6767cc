#include "gui/models/measurement_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "autosched/file.h"
#include "compiler/driver/common.h"
#include "gui/models/sqlite_rows.h"
#include "polyhedral/json_text.h"

namespace nautilus::gui {
namespace {

using nlohmann::json;
constexpr std::string_view kSqlite("SQLite format 3\0", 16);
constexpr const char* kBlank = " \t\r\n";

std::string as_text(const json& j) {
  if (j.is_string()) return j.get<std::string>();
  if (!j.is_object()) return j.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string out;
  for (const auto& [k, v] : j.items()) out += (out.empty() ? "" : " ") + k + "=" + as_text(v);
  return out;
}

Expected<std::vector<MeasurementRow>> rows_of_array(const json& all) {
  std::vector<MeasurementRow> out;
  for (const json& r : all) {
    if (!r.is_object()) return no_measurements("a row is no object");
    MeasurementRow row;
    for (const auto& [k, v] : r.items()) row[k] = as_text(v);
    out.push_back(std::move(row));
  }
  return out;
}

bool has_time(const json& row) {
  if (!row.is_object()) return false;
  return std::any_of(std::begin(kTimeColumns), std::end(kTimeColumns), [&](const TimeColumn& c) {
    const auto at = row.find(c.name);
    return at != row.end() && (at->is_number() || at->is_string());
  });
}

// The one list of an object that has rows with a time; the object itself where it is such a row.
Expected<std::vector<MeasurementRow>> rows_of_object(const json& j) {
  const json* found = nullptr;
  std::string lists, timed;
  for (const auto& [name, v] : j.items()) {
    if (!v.is_array()) continue;
    lists += (lists.empty() ? "" : ", ") + name;
    if (std::none_of(v.begin(), v.end(), has_time)) continue;
    timed += (timed.empty() ? "" : ", ") + name;
    if (found) return no_measurements("several of its lists have rows with a time: " + timed);
    found = &v;
  }
  if (found) return rows_of_array(*found);
  if (has_time(j)) return rows_of_array(json::array({j}));
  if (lists.empty())
    return no_measurements("it is an object with neither a time nor a list of rows");
  return no_measurements("none of its lists has rows with a time: " + lists);
}

Refusal ambiguous(const std::string& what, const std::string& names) {
  return no_measurements(what + " more than once: " + names, "one value for each name");
}

// The names that an object of the text has more than once: of the members that share one, JSON
// keeps the last. `text` nests no deeper than read_json takes.
std::set<std::string> repeated_members(const std::string& text) {
  std::set<std::string> twice;
  std::vector<std::set<std::string>> open;  // the names so far of each object that is not closed
  const auto see = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second)
      twice.insert(value.get<std::string>());
    return true;
  };
  [[maybe_unused]] const json again = json::parse(text, see, false);
  return twice;
}

std::string listed(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : ", ") + n;
  return out;
}

Expected<std::vector<MeasurementRow>> rows_of_json(const std::string& text) {
  const json j = poly::read_json(text);
  if (j.is_discarded()) return no_measurements("not valid JSON");
  if (const auto twice = repeated_members(text); !twice.empty())
    return ambiguous("an object has members", listed(twice));
  return j.is_object() ? rows_of_object(j) : rows_of_array(j);
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

Expected<std::vector<MeasurementRow>> rows_of_csv(const std::string& text) {
  std::istringstream in(text);
  std::string line;
  if (!std::getline(in, line) || line.find('\0') != std::string::npos)
    return no_measurements("neither CSV nor JSON");
  const std::vector<std::string> names = csv_fields(line);
  std::set<std::string> seen, twice;  // columns without a name are read by nobody
  for (const std::string& n : names)
    if (!n.empty() && !seen.insert(n).second) twice.insert(n);
  if (!twice.empty()) return ambiguous("it has columns", listed(twice));
  std::vector<MeasurementRow> out;
  while (std::getline(in, line)) {
    if (line.empty() || line == "\r") continue;
    const std::vector<std::string> fields = csv_fields(line);
    MeasurementRow row;
    for (size_t k = 0; k < std::min(names.size(), fields.size()); ++k) row[names[k]] = fields[k];
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

Refusal no_measurements(const std::string& why, const std::string& suggest) {
  return {"import measurements", "", why,
          suggest.empty() ? "rows with a time (seconds or ms) and node or knobs; see the user guide"
                          : suggest};
}

const TimeColumn* time_column(std::string_view name) {
  for (const TimeColumn& c : kTimeColumns)
    if (c.name == name) return &c;
  return nullptr;
}

Expected<double> time_of(const MeasurementRow& row) {
  constexpr double kRounding = 1e-3;  // of the longer one
  std::optional<double> seconds;
  std::string first;
  for (const TimeColumn& c : kTimeColumns) {
    const std::string name(c.name);
    const std::string* told = field(row, {name.c_str()});
    if (!told) continue;
    const auto value = finite_number(*told);
    if (!value || !sched::is_kernel_time(*value / c.per_second))
      return no_measurements(name + " '" + *told + "' is no time that a kernel takes");
    const double here = *value / c.per_second;
    if (!seconds) {
      seconds = here;
      first = name + " " + *told;
    } else if (std::abs(here - *seconds) > kRounding * std::max(here, *seconds)) {
      return no_measurements("its times differ: " + first + ", " + name + " " + *told);
    }
  }
  if (!seconds) return no_measurements("it has no time");
  return *seconds;
}

std::optional<double> finite_number(const std::string& s) {
  double v = 0;
  const auto [stop, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc() || stop != s.data() + s.size() || !std::isfinite(v)) return std::nullopt;
  return v;
}

Expected<std::string> read_store(const std::string& path) {
  // Whoever writes it back meanwhile has a log before or after.
  const auto before = log_beside(path);
  auto content = sched::read_file(path);
  if (!content || !content->starts_with(kSqlite)) return content;
  if (before) return *before;
  if (auto after = log_beside(path)) return *after;
  return content;
}

Expected<std::vector<MeasurementRow>> measurement_rows(const std::string& content) {
  if (content.starts_with(kSqlite)) return rows_of_sqlite(content);
  const size_t first = content.find_first_not_of(kBlank);
  if (first == std::string::npos) return no_measurements("the file is empty");
  return content[first] == '[' || content[first] == '{' ? rows_of_json(content)
                                                        : rows_of_csv(content);
}

std::string store_kind(std::string_view beginning, const std::string& path) {
  if (beginning.starts_with(kSqlite)) return "an SQLite database";
  const size_t first = beginning.find_first_not_of(kBlank);
  if (first != std::string_view::npos && beginning[first] == '[') return "a list in JSON";
  return path.ends_with(".csv") ? "a table in CSV" : "";
}

const std::string* field(const MeasurementRow& row, std::initializer_list<const char*> names) {
  for (const char* n : names)
    if (const auto at = row.find(n); at != row.end() && !at->second.empty()) return &at->second;
  return nullptr;
}

std::map<std::string, std::string> named_values(const std::string& s) {
  std::map<std::string, std::string> out;
  std::istringstream in(s);
  for (std::string item; in >> item;)
    if (const size_t eq = item.find('='); eq != std::string::npos)
      out[item.substr(0, eq)] = item.substr(eq + 1);
  return out;
}

Expected<poly::Sizes> sizes_of(const std::string& s) {
  std::istringstream in(s);
  return driver::parse_sizes({std::istream_iterator<std::string>(in), {}});
}

Expected<std::optional<StoreSubject>> subject_of(const std::vector<MeasurementRow>& rows) {
  const auto same = [&](std::initializer_list<const char*> names) {
    std::optional<std::string> all;
    for (const MeasurementRow& r : rows) {
      const std::string* here = field(r, names);
      if (!here || (all && *all != *here)) return std::optional<std::string>();
      all = *here;
    }
    return all;
  };
  const auto kernel = same({"kernel", "operator"});
  if (!kernel) return std::optional<StoreSubject>();
  const auto sizes = sizes_of(same({"sizes"}).value_or(""));
  if (!sizes) return sizes.error();
  return std::optional(StoreSubject{*kernel, same({"machine"}).value_or(""), *sizes});
}

}  // namespace nautilus::gui
