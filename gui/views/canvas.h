// The widget that pictures too large for the screen are painted on: wheel zooms to the cursor,
// drag, WASD and Shift+arrows pan, + and - zoom, Space shows everything. There are no animations:
// what is on screen after an event is final. Views override the pictures and what clicks mean.
#pragma once

#include <QWidget>

#include "gui/views/viewport.h"

namespace nautilus::gui {

class Canvas : public QWidget {
  Q_OBJECT
 public:
  explicit Canvas(QWidget* parent);
  const Viewport& viewport() const { return viewport_; }
  void set_viewport(const Viewport& v);
  bool moved_by_hand() const { return moved_; }  // since it was last fitted
  void set_moved_by_hand(bool on) { moved_ = on; }

 public Q_SLOTS:
  virtual void fit();
  void zoom_in() { zoom_about_middle(1.25); }
  void zoom_out() { zoom_about_middle(1 / 1.25); }

 Q_SIGNALS:
  void viewport_changed();

 protected:
  // The size, or what is around the picture, changed: until somebody moved it, the picture stays
  // fitted; afterwards its middle stays.
  void area_changed();
  virtual void refit() { fit(); }
  // What Space shows.
  virtual QRectF world() const = 0;
  // The part of the widget the world is painted on, and the space that fit leaves around.
  virtual QRectF area_in(QSize size) const;
  virtual QMarginsF fit_margins() const { return {24, 24, 24, 24}; }
  virtual double fit_scale() const { return 1; }  // the largest that fit chooses
  virtual void paint_canvas(QPainter& p) = 0;
  virtual void hover_at(QPointF) {}
  virtual void leave() {}
  virtual void click_at(QPointF, Qt::KeyboardModifiers) {}
  virtual void double_click_at(QPointF) {}
  virtual bool key(QKeyEvent*) { return false; }  // true: it was taken

  bool event(QEvent* e) override;
  void paintEvent(QPaintEvent*) override;
  void resizeEvent(QResizeEvent*) override;
  void wheelEvent(QWheelEvent* e) override;
  void mousePressEvent(QMouseEvent* e) override;
  void mouseMoveEvent(QMouseEvent* e) override;
  void mouseReleaseEvent(QMouseEvent* e) override;
  void mouseDoubleClickEvent(QMouseEvent* e) override;
  void leaveEvent(QEvent*) override;
  void keyPressEvent(QKeyEvent* e) override;

  Viewport viewport_;

 private:
  void zoom_about_middle(double factor);
  void moved();
  bool pan_key(QKeyEvent* e);
  QPointF pressed_at_, dragged_from_;
  bool pressed_ = false, dragging_ = false, moved_ = false;
};

}  // namespace nautilus::gui
