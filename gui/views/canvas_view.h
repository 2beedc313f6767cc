// A view that is one canvas with bars around it: what it shows, saves and waits for is the
// canvas's.
#pragma once

#include "gui/views/canvas.h"
#include "gui/views/view.h"

namespace nautilus::gui {

// A canvas with a picture of its own for export, and a state that is saved with the session.
class PictureCanvas : public Canvas {
  Q_OBJECT
 public:
  using Canvas::Canvas;
  virtual void paint_on(QPainter& p, const QRectF& page) = 0;
  virtual QJsonObject state() const = 0;
  virtual void set_state(const QJsonObject& j) = 0;
  virtual bool busy() const = 0;
};

template <class Picture>
class CanvasView : public View {
 public:
  CanvasView(Shared shared, const QString& name, const QString& title, QWidget* parent)
      : View(shared, name, title, parent), canvas_(new Picture(shared, this)) {
    setFocusProxy(canvas_);
  }
  Picture* canvas() const { return canvas_; }
  void paint_picture(QPainter& p, const QRectF& page) override { canvas_->paint_on(p, page); }
  QSizeF picture_size() const override { return canvas_->size(); }
  QJsonObject viewport() const override { return canvas_->state(); }
  void set_viewport(const QJsonObject& j) override { canvas_->set_state(j); }
  bool busy() const override { return canvas_->busy(); }

 protected:
  Picture* const canvas_;
};

}  // namespace nautilus::gui
