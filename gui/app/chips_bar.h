// The filters as chips: add by typing, edit by click, remove by the cross, undo and redo.
#pragma once

#include <QWidget>

#include "gui/models/filter_stack.h"

class QLabel;
class QLineEdit;
class QHBoxLayout;

namespace nautilus::gui {

constexpr int kMostFilterText = 500;  // characters of one condition

class ChipsBar : public QWidget {
  Q_OBJECT
 public:
  ChipsBar(const Document& document, FilterStack& filters, QWidget* parent);
  QLineEdit* line() const { return line_; }
  void edit_new();  // the cursor into the line

 private:
  void show_chips();
  void show_count();
  void enter();
  const Document& document_;
  FilterStack& filters_;
  QLineEdit* line_;
  QLabel* count_;
  QWidget* chips_;
  QHBoxLayout* row_;
  int editing_ = -1;  // the chip that is in the line
};

}  // namespace nautilus::gui
