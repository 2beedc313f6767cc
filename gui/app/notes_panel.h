// What people wrote: the note on the selected candidate, and the list of noted and pinned ones.
#pragma once

#include <QTimer>
#include <QWidget>

#include "gui/models/document.h"
#include "gui/models/selection.h"

class QLabel;
class QListWidget;
class QPlainTextEdit;

namespace nautilus::gui {

class NotesPanel : public QWidget {
  Q_OBJECT
 public:
  NotesPanel(Document& document, Selection& selection, QWidget* parent);
  QPlainTextEdit* editor() const { return editor_; }
  QListWidget* list() const { return list_; }
  void write();  // what is typed, into the document now

 private:
  void show_node();
  void show_list();
  Document& document_;
  Selection& selection_;
  QLabel* title_;
  QPlainTextEdit* editor_;
  QListWidget* list_;
  QTimer pause_;
  int node_ = -1;
};

}  // namespace nautilus::gui
