// Sizes small enough to draw every instance: which values the size parameters get, and what becomes
// of the tile sizes of a script.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "polyhedral/schedule.h"

namespace nautilus::gui {

// Tile sizes of a script (and the multiples of split_k) to small ones in about the same
// proportions: 64 and 128 become 2 and 4.
std::map<int64_t, int64_t> small_tiles(const std::vector<poly::TransformStep>& steps);
std::vector<poly::TransformStep> with_tiles(const std::vector<poly::TransformStep>& steps,
                                            const std::map<int64_t, int64_t>& by);

// Whether a dimension of the statement is folded away by its reduction.
bool reduces(const poly::Statement& s, size_t dim);

// The two dimensions of a statement that are worth seeing first: those that share a condition (a
// mask), else the last two.
std::pair<int, int> best_dims(const poly::Statement& s);

// Values for the parameters of `general`: about `most` along the dimensions that are seen of these
// statements, a few along the others, none above `real`, and such that the facts of the program
// hold. Nothing if there are no such sizes.
std::optional<poly::Sizes> small_sizes(const poly::Program& general, const poly::Sizes& real,
                                       const std::vector<std::string>& statements, int64_t most);

// "N 4096 -> 12, tile 64 -> 4", what differs alone; "" if nothing does.
std::string scale_text(const poly::Sizes& real, const poly::Sizes& small,
                       const std::map<int64_t, int64_t>& tiles);

}  // namespace nautilus::gui
