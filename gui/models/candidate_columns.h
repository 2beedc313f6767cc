// What can be told of every candidate, one column a quantity: for the table, parallel coordinates,
// comparisons and exports.
#pragma once

#include <QString>
#include <optional>
#include <string_view>
#include <vector>

#include "gui/models/document.h"
#include "gui/models/filter_stack.h"

namespace nautilus::gui {

struct Column {
  enum class What : uint8_t {
    Id,
    Decision,
    State,
    Verdict,
    Predicted,
    Bound,
    Measured,
    Ratio,  // measured over predicted
    Limiter,
    Depth,
    Intensity,  // at level `name`
    Achieved,
    Knob,  // `name`
  };
  What what = What::Id;
  QString name;
  bool operator==(const Column&) const = default;
  QString id() const;     // "predicted", "intensity.hbm", "knob.tile.i"
  QString title() const;  // "Predicted", "AI hbm", "tile.i"
  QString tip() const;    // what it is, with its unit
  bool numeric() const;
  bool log() const;  // spans decades: better seen on a logarithmic axis
};

// Id to limiter, an intensity a level of the machine, and the knobs that the nodes have.
std::vector<Column> columns_of(const Document& d);
std::vector<Column> columns_without_knobs(const Document& d);
// Knobs of nodes from `first` on, before `end`, that `known` lacks, sorted.
std::vector<Column> new_knobs(const Document& d, size_t first, size_t end,
                              const std::vector<Column>& known);

double number_of(const Document& d, const sched::SearchNode& n, const Column& c);  // NaN: none
std::vector<double> numbers_of(const Document& d, const std::vector<int>& nodes, const Column& c);
std::string_view text_of(const sched::SearchNode& n, const Column& c);  // of a column of texts
QString shown(const Document& d, const sched::SearchNode& n, const Column& c);
QString shown_number(double v, const Column& c);  // with its unit: "3.66 µs"
// The condition that keeps candidates which are like this one there; nothing where it has no value.
std::optional<Filter> filter_like(const Document& d, const sched::SearchNode& n, const Column& c);

}  // namespace nautilus::gui
