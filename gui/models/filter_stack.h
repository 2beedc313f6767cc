// Which candidates are shown: conditions that all must hold, in the order they were added, each a
// chip; adding, removing and editing can be undone. The same in all views: what does not pass is
// dimmed or left out there. Many candidates are asked in slices, between other events: until all
// have answered, those pass that passed before.
#pragma once

#include <QObject>
#include <QString>
#include <QUndoStack>
#include <vector>

#include "gui/models/filter.h"
#include "gui/models/slices.h"

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
  bool busy() const { return asking_.busy(); }

 Q_SIGNALS:
  void edited();   // the conditions
  void changed();  // which candidates pass

 private:
  class Edit;
  void edit(std::vector<Filter> to, const QString& what);
  bool meets_all(int node) const;
  void document_reset();
  void ask_all();
  bool ask_next();
  void answered();
  void appended();
  void ask_again(const std::vector<int>& ids);
  void ask_again(std::vector<int>& then, const std::vector<int>& now);
  const Document& document_;
  std::vector<Filter> filters_;
  std::vector<bool> passes_;
  std::vector<bool> answers_;  // while all are asked: of the first so many
  bool once_more_ = false;     // many changed since they answered
  int passing_ = 0;
  std::vector<int> best_, pins_;  // as they were when last asked
  Slices asking_;
  QUndoStack undo_;
};

}  // namespace nautilus::gui
