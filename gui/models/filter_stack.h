// Which candidates are shown: conditions that all must hold, in the order they were added, each a
// chip; adding, removing and editing can be undone. The same in all views: what does not pass is
// dimmed or left out there.
#pragma once

#include <QObject>
#include <QString>
#include <QUndoStack>
#include <vector>

#include "gui/models/document.h"

namespace nautilus::gui {

// "state != dominated", "seconds < 2e-4", "knob tile.i >= 64", "below 42", "text rolling".
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
std::optional<Filter> filter_from_string(const QString& s, QString* why);

class FilterStack : public QObject {
  Q_OBJECT
 public:
  explicit FilterStack(const Document& document, QObject* parent = nullptr);
  const std::vector<Filter>& filters() const { return filters_; }
  bool passes(int node) const;  // constant time: kept by node
  int passing() const;
  void add(const Filter& f);
  void remove(size_t index);
  void replace(size_t index, const Filter& f);
  void clear();
  QUndoStack& undo_stack() { return undo_; }

 signals:
  void changed();

 private:
  void recompute(size_t first);
  const Document& document_;
  std::vector<Filter> filters_;
  std::vector<bool> passes_;
  QUndoStack undo_;
};

}  // namespace nautilus::gui
