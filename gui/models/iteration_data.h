// The instances of a few statements in the order of a schedule, as plain data: what the iteration
// space and Why draw. Made on the bench's thread.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "polyhedral/dependence.h"
#include "polyhedral/expected.h"
#include "polyhedral/schedule.h"

namespace nautilus::gui {

// One component of a time stamp: a position in a sequence, or the value of a band's member.
struct TimePart {
  poly::NodeId node = 0;
  std::string name;  // of the member; "" for a sequence
  poly::Mapping mapping = poly::Mapping::Serial;
  int64_t step = 1;
  bool sequence = false;
};

struct IterStatement {
  std::string name;
  std::vector<std::string> dims;
  std::vector<bool> reduced;                  // by dimension
  std::string tensor;                         // that it writes
  int x = -1, y = -1;                         // the dimensions to show first; -1: there is none
  std::vector<int64_t> low, high;             // of the points below, inclusive; empty: no points
  std::vector<std::vector<TimePart>> clocks;  // one a leaf that it runs in
  bool complete = true;                       // false: some points are left out
};
struct IterPoint {
  int statement = 0, clock = 0;
  std::vector<int64_t> at, time, element;
};

enum class Fate : uint8_t { Kept, Paid, Violated };  // Paid: by a correction
struct IterArrow {
  int from = 0, to = 0;  // points
  int dependence = 0;
  Fate fate = Fate::Kept;
};
struct IterDependence {
  std::string source, sink, tensor, kind;
  Fate fate = Fate::Kept;  // the worst of its pairs
  poly::NodeId node = -1;  // where the order goes wrong, with the member's name
  std::string member;
};

struct IterationPicture {
  poly::Sizes sizes;  // at which it was made
  bool scaled = false, cropped = false;
  std::vector<std::string> notes;  // what was changed or left out, in words
  std::vector<IterStatement> statements;
  std::vector<IterPoint> points;  // in order of execution
  std::vector<IterDependence> dependences;
  std::vector<IterArrow> arrows;
  // All statements of the program, to choose from.
  std::vector<std::string> available;
};

struct IterationRequest {
  std::vector<poly::TransformStep> steps;  // from the initial schedule; the last may be illegal
  std::vector<std::string> statements;     // empty: two that are out of order, else the first
  poly::Sizes sizes;                       // empty: chosen
  // Where to look when the sizes cannot be made small: by statement.
  std::map<std::string, std::vector<int64_t>> focus;
  size_t most_points = 12'000, most_arrows = 20'000;
};

// `program`: at the real sizes; `general`: its sizes free, or null. Sizes and tiles are scaled down
// where `general` allows; else the picture is a window onto the real sizes. `stop`, when set, ends
// it early with a Refusal.
Expected<IterationPicture> iteration_picture(const poly::ProgramPtr& program,
                                             const poly::ProgramPtr& general,
                                             const poly::Sizes& real,
                                             const IterationRequest& request,
                                             const std::atomic<bool>* stop = nullptr);

// By point: the step of an animation in which it runs, from 0. What one tile computes runs at once;
// with `blocks_together` also what runs in different blocks.
std::vector<int> steps_of(const IterationPicture& p, bool blocks_together);

// The tiles of one statement over two of its dimensions (y may be -1): bounding boxes of the points
// with the same values of the tile loops, in order.
struct TileRect {
  int64_t x0, y0, x1, y1;  // inclusive
  std::string name;        // "i0=1, j0=2"
};
std::vector<TileRect> tile_rects(const IterationPicture& p, int statement, int x, int y,
                                 const std::vector<int>& shown);

// "i0=1 j0=2 | 3 | i=5": a time stamp for people.
std::string time_text(const IterationPicture& p, int point);
std::string fate_words(Fate f);  // "out of order", "paid by a correction", "kept"

}  // namespace nautilus::gui
