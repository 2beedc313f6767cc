// A dock around a view: its title, its menu, float and close.
#pragma once

#include <QDockWidget>
#include <functional>

#include "gui/views/view.h"

class QLabel;

namespace nautilus::gui {

class ViewDock : public QDockWidget {
  Q_OBJECT
 public:
  ViewDock(const QString& name, const QString& title, QWidget* content, QWidget* parent);
  // What the menu button shows: of the view, then what the program adds.
  void set_menu(const QList<QAction*>& actions);
  void reveal();  // shown, in front, with the focus
};

}  // namespace nautilus::gui
