// The tool bar of the search: what is explored, explore, pause, step, stop, budgets, and below which
// candidate.
#pragma once

#include <QToolBar>

#include "gui/models/live_search.h"

class QDoubleSpinBox;
class QLabel;
class QSpinBox;
class QToolButton;

namespace nautilus::gui {

class Commands;

class ExploreBar : public QToolBar {
  Q_OBJECT
 public:
  ExploreBar(const Document& document, const LiveSearch& search, const Commands& commands,
             QWidget* parent);
  Allowance allowance() const;
  void set_allowance(const Allowance& a);

 Q_SIGNALS:
  void whole_tree_requested();

 private:
  void show_document();
  void show_target();
  const Document& document_;
  const LiveSearch& search_;
  QToolButton *what_, *target_;
  QDoubleSpinBox* seconds_;
  QSpinBox* plans_;
};

}  // namespace nautilus::gui
