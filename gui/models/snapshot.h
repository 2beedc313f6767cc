// A copy of the document, to be written on another thread: taken in slices of a few milliseconds
// between other events, because 100,000 candidates are too many for one. What changes meanwhile is
// copied again before the end, so the copy is the document as it is when `done` is called.
#pragma once

#include <QObject>
#include <QTimer>
#include <functional>
#include <memory>
#include <set>

#include "gui/models/document.h"

namespace nautilus::gui {

class Snapshot : public QObject {
  Q_OBJECT
 public:
  // Null: another document came meanwhile.
  using Done = std::function<void(std::shared_ptr<sched::Session>)>;
  // Begins at once, and deletes itself after `done`.
  Snapshot(Document& document, Done done, QObject* parent);

 private:
  void slice();
  void end(std::shared_ptr<sched::Session> s);
  Document& document_;
  Done done_;
  std::vector<sched::SearchNode> nodes_;
  std::set<int> stale_;
  QTimer turn_;
};

}  // namespace nautilus::gui
