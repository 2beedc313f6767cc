// Candidates as lines over axes of knobs and figures. A brush on an axis isolates what it covers,
// in all views.
#pragma once

#include <QImage>
#include <QTimer>
#include <set>

#include "gui/models/parallel_data.h"
#include "gui/models/slices.h"
#include "gui/views/view.h"

namespace nautilus::gui {

class ParallelView : public View {
  Q_OBJECT
 public:
  ParallelView(Shared shared, QWidget* parent);
  void paint_picture(QPainter& p, const QRectF& page) override;
  QList<QJsonObject> export_rows() const override;
  QJsonObject viewport() const override;
  void set_viewport(const QJsonObject& v) override;
  bool busy() const override {
    return later_.isActive() || refine_.isActive() || making_.slices.busy();
  }

  const ParallelData& data() const { return data_; }
  int axis() const { return axis_; }  // that keys act on
  double axis_x(int axis) const;      // in this widget
  QRectF plot() const;                // the axes' extent, positions 0 to 1 and the missing
  double y_of(double position) const;
  double position_of(double y) const;
  std::vector<uint8_t> lit() const { return lit_; }
  void set_log(int axis, bool on);
  void set_flip(int axis, bool on);
  void move_axis(int from, int to);
  void show_axis(const QString& id, bool on);
  void set_brush(int axis, std::optional<std::pair<double, double>> span);
  void clear_brushes();
  void reload();

 protected:
  void showEvent(QShowEvent* e) override;
  void paintEvent(QPaintEvent* e) override;
  void resizeEvent(QResizeEvent* e) override;
  void mousePressEvent(QMouseEvent* e) override;
  void mouseMoveEvent(QMouseEvent* e) override;
  void mouseReleaseEvent(QMouseEvent* e) override;
  void mouseDoubleClickEvent(QMouseEvent* e) override;
  void leaveEvent(QEvent* e) override;
  void wheelEvent(QWheelEvent* e) override;
  void keyPressEvent(QKeyEvent* e) override;
  void contextMenuEvent(QContextMenuEvent* e) override;
  bool event(QEvent* e) override;

 private:
  enum class Drag : uint8_t { None, Axis, Brush, MoveBrush, Pan };
  void make_actions();
  // Lines and axes from the document, in steps (parallel_load.cpp).
  struct Making {
    ParallelData data;
    std::vector<ParallelAxis> before;
    std::vector<Column> columns;  // that may become axes
    size_t next = 0;
    bool chosen = false;  // by the user: each is shown
    Slices slices;
  };
  std::vector<Column> possible_columns() const;
  std::vector<Column> default_columns() const;
  void begin_making();
  bool make_step();  // whether there is more to do
  void end_making();
  std::vector<int> candidates() const;
  QSizeF extent() const { return page_.value_or(QSizeF(size())); }
  double spacing() const;
  double scroll_limit() const;
  int axis_at(const QPointF& at, bool on_line) const;
  int line_at(const QPointF& at) const;  // candidate
  void relight();                        // which lines are lit; then repaints
  void reload_shown();                   // now if it is on screen, else when it comes there
  void catch_up();                       // now
  void catch_up_soon();                  // in slices
  void restore_axes(const QJsonObject& v);
  void isolate_soon();
  void scroll_to(double x);
  void key_brush(int direction, bool grow);

  // Painting.
  QImage layer(const std::vector<uint8_t>* mask, const QColor& colour, int pixels = 1) const;
  void paint_lines(QPainter& p, const std::vector<uint8_t>& which, double alpha) const;
  void paint_line(QPainter& p, int node, const QColor& colour, double width) const;
  void paint_axes(QPainter& p) const;
  void paint_legend(QPainter& p) const;
  void paint_all(QPainter& p, bool cached);
  QColor line_colour(int index) const;

  QAction *log_, *flip_, *hide_, *clear_, *all_;
  ParallelData data_;
  Making making_;
  std::vector<QString> shown_;  // ids of columns; empty: the default
  std::vector<uint8_t> lit_;
  int lit_count_ = 0;
  bool all_candidates_ = false;  // also those without a predicted time
  double scroll_ = 0;
  std::optional<QSizeF> page_;  // while a picture is painted
  int axis_ = 0;
  Drag drag_ = Drag::None;
  int drag_axis_ = -1;
  QPointF pressed_, at_;
  double brush_from_ = 0;
  std::pair<double, double> brush_before_;
  QImage base_, bright_;   // density of all and of the lit; null: to be made
  bool base_dim_ = false;  // base_ is behind the lit ones
  std::set<int> sent_;     // isolated by this view's brushes
  bool coarse_ = false;    // bright_ is a quick one, made while a brush moves
  bool stale_ = true;
  std::optional<QJsonObject> saved_;  // viewport to come back to
  QTimer later_, isolate_, refine_;
};

}  // namespace nautilus::gui
