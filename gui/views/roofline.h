// The roofline view: candidates under the roofs of the machine, one marker a memory level, and the
// path of transforms that led to the selected one.
#pragma once

#include "gui/views/roofline_canvas.h"
#include "gui/views/view.h"

class QComboBox;
class QMenu;
class QToolButton;

namespace nautilus::gui {

class RooflineView : public View {
  Q_OBJECT
 public:
  RooflineView(Shared shared, QWidget* parent);
  RooflineCanvas* canvas() const { return canvas_; }

  QString name() const override { return QStringLiteral("roofline"); }
  QString title() const override { return tr("Roofline"); }
  void paint_picture(QPainter& p, const QRectF& page) override { canvas_->paint_on(p, page); }
  QSizeF picture_size() const override { return canvas_->size(); }
  QList<QJsonObject> export_rows() const override;
  QList<QAction*> view_actions() override { return actions_; }
  QJsonObject viewport() const override { return canvas_->state(); }
  void set_viewport(const QJsonObject& j) override { canvas_->set_state(j); }
  bool busy() const override { return canvas_->busy(); }

 private:
  QWidget* make_bar();
  void make_actions();
  void show_roofs();
  void show_settings();

  RooflineCanvas* canvas_;
  QComboBox *level_ = nullptr, *colour_ = nullptr;
  QToolButton* roofs_ = nullptr;
  QMenu* roofs_menu_ = nullptr;
  QAction* path_ = nullptr;
  QList<QAction*> actions_;
};

}  // namespace nautilus::gui
