// A measurement store as rows of named values: CSV with a head line, JSON (an array of objects, or
// an object with such an array), or the tables of an SQLite database that have a time.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autosched/search.h"
#include "polyhedral/expected.h"

namespace nautilus::gui {

using MeasurementRow = std::map<std::string, std::string>;

Expected<std::vector<MeasurementRow>> measurement_rows(const std::string& content);
Refusal no_measurements(const std::string& why);
// What a file is that begins like this, in words: "an SQLite database"; "": nothing that looks like
// a store.
std::string store_kind(std::string_view beginning, const std::string& path);

// The first of the fields that has a value.
const std::string* field(const MeasurementRow& row, std::initializer_list<const char*> names);
// "N=64 M=32" by name.
std::map<std::string, std::string> named_values(const std::string& s);

// What all rows are about, where they say so and agree.
struct StoreSubject {
  std::string kernel, machine;  // machine: "" if they do not say
  poly::Sizes sizes;
};
std::optional<StoreSubject> subject_of(const std::vector<MeasurementRow>& rows);

}  // namespace nautilus::gui
