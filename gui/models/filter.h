// One condition on candidates: "state != dominated", "seconds < 2e-4", "knob tile.i >= 64",
// "below 42", "text rolling".
#pragma once

#include <QString>
#include <optional>

#include "gui/models/document.h"

namespace nautilus::gui {

struct Filter {
  enum class Field : uint8_t { State, Seconds, LowerBound, Verdict, Limiter, Knob, Depth, Below, Text };
  enum class Op : uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, Contains };
  Field field = Field::Text;
  Op op = Op::Contains;
  QString name;   // Knob: which
  QString value;  // a number in SI units, a state's name, a text
  bool operator==(const Filter&) const = default;
};
QString to_string(const Filter& f);
// The fields take: state and verdict a name with = or != (besides the states "best", "measured",
// "pinned" and "noted"), numbers any comparison, limiter and text `contains`, below a node's id.
std::optional<Filter> filter_from_string(const QString& s, QString* why);

// Whether a node meets the condition. One without the number that is compared (not costed, no such
// knob) does not.
bool meets(const Filter& f, const Document& document, const sched::SearchNode& n);

}  // namespace nautilus::gui
