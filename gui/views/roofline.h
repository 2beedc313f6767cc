// The roofline view: candidates under the roofs of the machine, one marker a memory level, and the
// path of transforms that led to the selected one.
#pragma once

#include "gui/views/roofline_canvas.h"

class QComboBox;
class QMenu;

namespace nautilus::gui {

class RooflineView : public CanvasView<RooflineCanvas> {
  Q_OBJECT
 public:
  RooflineView(Shared shared, QWidget* parent);
  QList<QJsonObject> export_rows() const override;

 private:
  QWidget* make_bar();
  void make_actions();
  void show_roofs();
  void show_settings();

  QComboBox *level_ = nullptr, *colour_ = nullptr;
  QMenu* roofs_menu_ = nullptr;
  QAction* path_ = nullptr;
};

}  // namespace nautilus::gui
