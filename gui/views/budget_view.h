// Memory and time of the selected plan.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QScrollArea>

#include "gui/views/budget_paint.h"
#include "gui/views/view.h"

namespace nautilus::gui {

// The picture, with what lies under the mouse.
class BudgetCanvas : public QWidget {
  Q_OBJECT
 public:
  BudgetCanvas(const Shared& shared, QWidget* parent);
  void set_budget(std::shared_ptr<const Budget> b, int kernel);
  void set_message(const QString& text);
  void zoom(double factor, double at);  // of the timeline, about a point of it (0 to 1)
  void fit();
  double from() const { return from_; }
  double to() const { return to_; }
  void set_span(double from, double to);
  const std::vector<BudgetHit>& hits() const { return hits_; }
  double paint_on(QPainter& p, double width);
  const BudgetHit* hit(const QPointF& at) const;

 protected:
  void paintEvent(QPaintEvent* e) override;
  void mouseMoveEvent(QMouseEvent* e) override;
  void mousePressEvent(QMouseEvent* e) override;
  void mouseReleaseEvent(QMouseEvent* e) override;
  void mouseDoubleClickEvent(QMouseEvent* e) override;
  void leaveEvent(QEvent* e) override;
  void wheelEvent(QWheelEvent* e) override;
  void keyPressEvent(QKeyEvent* e) override;
  bool event(QEvent* e) override;

 private:
  Focus lit() const;
  const Shared shared_;
  std::shared_ptr<const Budget> budget_;
  QString message_;
  int kernel_ = 0;
  double from_ = 0, to_ = 1;  // part of the timeline shown
  std::vector<BudgetHit> hits_;
  QRectF timeline_;
  QPointF pressed_, at_;
  bool dragging_ = false;
};

class BudgetView : public View {
  Q_OBJECT
 public:
  BudgetView(Shared shared, QWidget* parent);
  void paint_picture(QPainter& p, const QRectF& page) override;
  QList<QJsonObject> export_rows() const override;
  QJsonObject viewport() const override;
  void set_viewport(const QJsonObject& v) override;
  bool busy() const override { return asked_; }
  const Budget* budget() const { return budget_.get(); }
  BudgetCanvas* canvas() { return canvas_; }
  int kernel() const;
  void show_kernel(int k);

 protected:
  void showEvent(QShowEvent* e) override;

 private:
  void ask();
  void show_kernels();
  void answer(Budget b);

  std::shared_ptr<const Budget> budget_;
  BudgetCanvas* canvas_ = nullptr;
  QComboBox* kernels_ = nullptr;
  QLabel* about_ = nullptr;
  bool asked_ = false, stale_ = true;
};

}  // namespace nautilus::gui
