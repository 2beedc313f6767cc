#include "gui/views/canvas.h"

#include <QApplication>
#include <QKeyEvent>
#include <QNativeGestureEvent>
#include <QPainter>
#include <cmath>

namespace nautilus::gui {

Canvas::Canvas(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMinimumSize(120, 90);
}

QRectF Canvas::area_in(QSize size) const { return QRectF(QPointF(0, 0), QSizeF(size)); }

void Canvas::set_viewport(const Viewport& v) {
  const QRectF area = viewport_.area;
  viewport_ = v;
  viewport_.area = area;
  moved();
}

void Canvas::fit() {
  viewport_.area = area_in(size());
  viewport_.fit(world(), fit_margins(), fit_scale());
  moved_ = false;
  update();
  viewport_changed();
}

void Canvas::moved() {
  moved_ = true;
  update();
  viewport_changed();
}

void Canvas::zoom_about_middle(double factor) {
  viewport_.zoom(viewport_.area.center(), factor);
  moved();
}

void Canvas::paintEvent(QPaintEvent*) {
  QPainter p(this);
  paint_canvas(p);
}

void Canvas::resizeEvent(QResizeEvent*) { area_changed(); }

void Canvas::area_changed() {
  viewport_.area = area_in(size());
  if (!moved_) refit();
  update();
  viewport_changed();
}

bool Canvas::event(QEvent* e) {
  if (e->type() == QEvent::NativeGesture) {
    auto* g = static_cast<QNativeGestureEvent*>(e);
    if (g->gestureType() == Qt::ZoomNativeGesture) {
      viewport_.zoom(g->position(), 1 + g->value());
      moved();
      return true;
    }
  }
  return QWidget::event(e);
}

// A wheel zooms; a pad with pixels for steps pans, and zooms with Ctrl.
void Canvas::wheelEvent(QWheelEvent* e) {
  const bool pad = !e->pixelDelta().isNull() && e->phase() != Qt::NoScrollPhase;
  if (pad && !(e->modifiers() & Qt::ControlModifier)) {
    viewport_.pan(e->pixelDelta());
  } else if (e->modifiers() & Qt::ShiftModifier) {
    const QPoint d = e->angleDelta();
    viewport_.pan(QPointF(d.x() + d.y(), 0) * 0.5);
  } else {
    viewport_.zoom(e->position(), std::pow(1.0015, e->angleDelta().y()));
  }
  moved();
  hover_at(e->position());
  e->accept();
}

void Canvas::mousePressEvent(QMouseEvent* e) {
  if (e->button() != Qt::LeftButton && e->button() != Qt::MiddleButton) return;
  pressed_ = true;
  dragging_ = false;
  pressed_at_ = dragged_from_ = e->position();
}

void Canvas::mouseMoveEvent(QMouseEvent* e) {
  if (!pressed_) return hover_at(e->position());
  if (!dragging_ &&
      (e->position() - pressed_at_).manhattanLength() < QApplication::startDragDistance())
    return;
  if (!dragging_) setCursor(Qt::ClosedHandCursor);
  dragging_ = true;
  viewport_.pan(e->position() - dragged_from_);
  dragged_from_ = e->position();
  moved();
}

void Canvas::mouseReleaseEvent(QMouseEvent* e) {
  if (!pressed_) return;
  pressed_ = false;
  if (dragging_) {
    dragging_ = false;
    unsetCursor();
    return;
  }
  if (e->button() == Qt::LeftButton) click_at(e->position(), e->modifiers());
}

void Canvas::mouseDoubleClickEvent(QMouseEvent* e) {
  if (e->button() == Qt::LeftButton) double_click_at(e->position());
}

void Canvas::leaveEvent(QEvent*) { leave(); }

// Four steps cross a quarter of the view.
bool Canvas::pan_key(QKeyEvent* e) {
  const double step = std::min(viewport_.area.width(), viewport_.area.height()) / 8;
  const bool shift = e->modifiers() & Qt::ShiftModifier, plain = e->modifiers() == Qt::NoModifier;
  switch (e->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Up:
    case Qt::Key_Down:
      if (!plain && !shift) return false;
      break;
    default:
      if (!plain) return false;
  }
  switch (e->key()) {
    case Qt::Key_A:
    case Qt::Key_Left:
      viewport_.pan({step, 0});
      return true;
    case Qt::Key_D:
    case Qt::Key_Right:
      viewport_.pan({-step, 0});
      return true;
    case Qt::Key_W:
    case Qt::Key_Up:
      viewport_.pan({0, step});
      return true;
    case Qt::Key_S:
    case Qt::Key_Down:
      viewport_.pan({0, -step});
      return true;
  }
  return false;
}

void Canvas::keyPressEvent(QKeyEvent* e) {
  if (key(e)) return e->accept();
  if (pan_key(e)) {
    moved();
    return e->accept();
  }
  switch (e->key()) {
    case Qt::Key_Space:
      return fit();
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoom_in();
    case Qt::Key_Minus:
      return zoom_out();
  }
  QWidget::keyPressEvent(e);
}

}  // namespace nautilus::gui
