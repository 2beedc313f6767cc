// The map from a model's configuration to facts and from facts to corpus kernels: data
// (corpus/layers.json), read and evaluated here. Nothing in it is known to the code.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "polyhedral/expected.h"

namespace nautilus::spec {

// Facts of a model by name: numbers (flags are 0 or 1) and texts.
struct Facts {
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> texts;
};

// An expression over facts, or a Refusal that names what is wrong with the map.
Expected<double> fact_value(const std::string& expression, const Facts& facts);
// "{heads} heads" with the fact's value; an unknown name stays as it is.
std::string filled(const std::string& text, const Facts& facts);

// The map as it is in the corpus.
Expected<nlohmann::json> load_layers();
// Runs `read`, which takes what it needs from the map; a part that is missing or of another kind is
// a Refusal.
Refusal damaged_layers(const std::string& why);

// The first of `checks` that does not hold, as a Refusal of `asked`.
std::optional<Refusal> failed_check(const nlohmann::json& checks, const Facts& facts,
                                    const std::string& asked);
// Texts of those `notes` whose condition holds.
Expected<std::vector<std::string>> notes_of(const nlohmann::json& notes, const Facts& facts);
// [[name, expression], ...], in order, into facts.
std::optional<Refusal> add_values(const nlohmann::json& values, Facts& facts);

}  // namespace nautilus::spec
