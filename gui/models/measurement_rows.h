// A measurement store as rows of named values: CSV with a head line, JSON (an array of objects, an
// object with one such array whose rows have a time, or one row), or the tables of an SQLite
// database that have a time.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autosched/search.h"
#include "polyhedral/expected.h"

namespace nautilus::gui {

using MeasurementRow = std::map<std::string, std::string>;

// Columns that tell a time, and how many of their unit are a second.
struct TimeColumn {
  std::string_view name;
  double per_second;
};
inline constexpr TimeColumn kTimeColumns[] = {
    {"seconds", 1}, {"median_seconds", 1}, {"milliseconds", 1e3}, {"ms", 1e3}, {"median_ms", 1e3}};
// The time column of that name; nullptr: it is none.
const TimeColumn* time_column(std::string_view name);
// The row's time in seconds. Refused where no column has one, where it is none that a kernel takes,
// and where columns differ by more than rounding, with their names.
Expected<double> time_of(const MeasurementRow& row);

// What is in a store's file. An SQLite database whose last changes are in a log beside it is
// refused: they would be missed, unnoticed.
Expected<std::string> read_store(const std::string& path);
// Names that stand for two values (two columns of a table, two members of an object) are refused:
// nobody could tell which one is meant.
Expected<std::vector<MeasurementRow>> measurement_rows(const std::string& content);
Refusal no_measurements(const std::string& why, const std::string& suggest = "");
// What a file is that begins like this, in words: "an SQLite database"; "": nothing that looks like
// a store.
std::string store_kind(std::string_view beginning, const std::string& path);

// The first of the fields that has a value.
const std::string* field(const MeasurementRow& row, std::initializer_list<const char*> names);
// What the text says as a whole; nullopt: no number, or none that is finite.
std::optional<double> finite_number(const std::string& s);
// "N=64 M=32" by name.
std::map<std::string, std::string> named_values(const std::string& s);
// The same as sizes, refused as the command line refuses them.
Expected<poly::Sizes> sizes_of(const std::string& s);

// What all rows are about, where they say so and agree.
struct StoreSubject {
  std::string kernel, machine;  // machine: "" if they do not say
  poly::Sizes sizes;
};
// nullopt: they do not say, or differ. Sizes that are none are refused.
Expected<std::optional<StoreSubject>> subject_of(const std::vector<MeasurementRow>& rows);

}  // namespace nautilus::gui
