#include "gui/models/measurement_rows.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <sstream>

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

Expected<std::vector<MeasurementRow>> rows_of_json(const std::string& text) {
  json j = poly::read_json(text);
  if (j.is_discarded()) return no_measurements("not valid JSON");
  if (j.is_object())
    for (const json& v : json::array_t(j.begin(), j.end()))
      if (v.is_array() && !v.empty() && v.front().is_object()) {
        j = v;
        break;
      }
  if (j.is_object()) j = json::array({j});
  if (!j.is_array()) return no_measurements("neither an array of rows nor an object with one");
  std::vector<MeasurementRow> out;
  for (const json& r : j) {
    if (!r.is_object()) return no_measurements("a row is no object");
    MeasurementRow row;
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

Expected<std::vector<MeasurementRow>> rows_of_csv(const std::string& text) {
  std::istringstream in(text);
  std::string line;
  if (!std::getline(in, line) || line.find('\0') != std::string::npos)
    return no_measurements("neither CSV nor JSON");
  const std::vector<std::string> names = csv_fields(line);
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

Refusal no_measurements(const std::string& why) {
  return {"import measurements", "", why,
          "rows with a time (seconds or ms) and node or knobs; see the user guide"};
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

std::optional<StoreSubject> subject_of(const std::vector<MeasurementRow>& rows) {
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
  if (!kernel) return std::nullopt;
  StoreSubject out{*kernel, same({"machine"}).value_or(""), {}};
  for (const auto& [name, value] : named_values(same({"sizes"}).value_or(""))) {
    int64_t size = 0;
    const auto [end, bad] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (bad == std::errc() && end == value.data() + value.size() && size > 0)
      out.sizes[name] = size;
  }
  return out;
}

}  // namespace nautilus::gui
