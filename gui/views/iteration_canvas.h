// The iteration space on a canvas: hover, a cursor for the keyboard, and the moment of the
// animation.
#pragma once

#include "gui/views/canvas.h"
#include "gui/views/iteration_scene.h"

namespace nautilus::gui {

class IterationCanvas : public Canvas {
  Q_OBJECT
 public:
  IterationCanvas(Theme& theme, QWidget* parent);
  void set_scene(const IterationPicture& p, std::vector<PanelChoice> choices, bool together);
  void set_message(const QString& m);  // drawn while there is nothing
  const IterationScene& scene() const { return scene_; }
  const SceneState& state() const { return state_; }
  void set_step(int step);  // -1: everything has run
  void set_arrows(bool kept);
  void set_chosen(int point);
  QPointF on_widget(int point) const { return viewport_.to_screen(scene_.position(point)); }

 Q_SIGNALS:
  void pointed(int point);  // by mouse or key; -1: none
  void play_key();
  void step_key(int by);  // -1, 1; INT_MIN, INT_MAX: first, last

 protected:
  QRectF world() const override { return scene_.bounds(); }
  double fit_scale() const override { return 1.6; }
  QMarginsF fit_margins() const override { return {8, 4, 8, 4}; }
  void paint_canvas(QPainter& p) override;
  void hover_at(QPointF at) override;
  void leave() override;
  void click_at(QPointF at, Qt::KeyboardModifiers) override;
  bool key(QKeyEvent* e) override;

 private:
  Theme& theme_;
  IterationScene scene_;
  SceneState state_;
  QString message_;
};

}  // namespace nautilus::gui
