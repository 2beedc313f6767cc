// The tool bar of the search: what is explored, explore, pause, step, stop, budgets, and below
// which candidate.
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
  // Why sizes and machine cannot be changed now; "": they can.
  void set_locked(const QString& why);
  const QString& locked() const { return locked_; }

 protected:
  void changeEvent(QEvent* e) override;

 private:
  void show_document();
  void show_target();
  const Document& document_;
  const LiveSearch& search_;
  QString locked_;
  QToolButton *what_, *target_;
  QDoubleSpinBox* seconds_;
  QSpinBox* plans_;
};

}  // namespace nautilus::gui
