// Which candidates are shown: conditions that all must hold, in the order they were added, each a
// chip; adding, removing and editing can be undone. The same in all views: what does not pass is
// dimmed or left out there.
#pragma once

#include <QObject>
#include <QString>
#include <QUndoStack>
#include <vector>

#include "gui/models/filter.h"

namespace nautilus::gui {

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
  // The window's: steps by hand enter it too, so that Undo takes back whatever was last.
  QUndoStack& undo_stack() { return undo_; }

 Q_SIGNALS:
  void changed();

 private:
  class Edit;
  void edit(std::vector<Filter> to, const QString& what);
  bool meets_all(int node) const;
  void recompute(size_t first);
  const Document& document_;
  std::vector<Filter> filters_;
  std::vector<bool> passes_;
  int passing_ = 0;
  QUndoStack undo_;
};

}  // namespace nautilus::gui
