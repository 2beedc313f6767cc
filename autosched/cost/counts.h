// How many tiles a choice of tile sizes makes: exact, cached by the shape of the domain and the
// sizes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autosched/cost/structure.h"

namespace nautilus::sched {

// One coordinate floor(e / step) of a tile.
struct TileCoordinate {
  Affine e;
  int64_t step = 1;
};
class TileCounter {
 public:
  // Distinct coordinate tuples over the statement's instances (non-empty tiles).
  double nonempty(const StmtModel& s, const std::vector<TileCoordinate>& coords);
  // Those among them whose whole box lies in the domain (projected on the dims that the coordinates
  // use).
  double full(const StmtModel& s, const std::vector<TileCoordinate>& coords);
  // Largest number of tuples that share the first `outer` coordinates, over the mean of it.
  double imbalance(const StmtModel& s, const std::vector<TileCoordinate>& outer,
                   const std::vector<TileCoordinate>& all);
  long isl_counts = 0;

 private:
  struct Shape {
    std::vector<int> dims;  // of the statement, in the projected set's order
    isl::set set;
    std::string text;
    bool box = false;
  };
  const Shape& shape(const StmtModel& s, const std::vector<TileCoordinate>& coords);
  double tiles(const StmtModel& s, const std::vector<TileCoordinate>& coords, bool full_only);
  double count(const Shape& shape, const std::vector<TileCoordinate>& coords, bool full_only);
  double longest(const Shape& shape, const std::vector<TileCoordinate>& outer,
                 const std::vector<TileCoordinate>& all);
  std::map<std::string, Shape> shapes_;
  std::map<std::string, double> counts_;
};

}  // namespace nautilus::sched
