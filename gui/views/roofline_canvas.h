// The canvas of the roofline: where it looks, what the mouse and the keys do.
#pragma once

#include <QTimer>

#include "gui/models/slices.h"
#include "gui/views/canvas_view.h"
#include "gui/views/info_card.h"
#include "gui/views/roofline_painter.h"

namespace nautilus::gui {

class RooflineCanvas : public PictureCanvas {
  Q_OBJECT
 public:
  RooflineCanvas(Shared shared, QWidget* parent);

  const RooflineCloud& cloud() const { return cloud_; }
  const std::vector<Roof>& roofs() const { return roofs_; }
  bool busy() const override { return waits_for_program_ || later_.isActive() || grow_.busy(); }
  // Frozen to the machine's frame until somebody moves it.
  bool frozen() const { return !moved_by_hand(); }
  QRectF frame() const { return frame_; }  // the machine's own; the plot may show more decades
  QRectF plot() const;                     // of the screen
  void set_level(const QString& name);     // "": all but registers
  QString level() const { return level_; }
  uint32_t levels_shown() const;
  void set_colour(ColourBy c);
  ColourBy colour() const { return colour_; }
  void set_path_shown(bool on);
  bool path_shown() const { return path_shown_; }
  void set_roof_shown(size_t k, bool on);
  QPointF screen_point(int node) const;  // of its outermost level shown; NaN if it has none
  const RooflinePainter& painter() const { return painter_; }
  QString describe(int point) const { return card_of(point).plain_text(); }
  QJsonObject state() const override;
  void set_state(const QJsonObject& j) override;
  void paint_on(QPainter& p, const QRectF& page) override;

 public Q_SLOTS:
  void fit_data();  // all lit points and the ridges

 Q_SIGNALS:
  void roofs_changed();
  void settings_changed();  // level, colour, path

 protected:
  QRectF world() const override { return frame_for(frame_, area_in(size()).size()); }
  QRectF area_in(QSize size) const override;
  QMarginsF fit_margins() const override { return {}; }
  double fit_scale() const override { return viewport_.most; }
  void paint_canvas(QPainter& p) override;
  void hover_at(QPointF at) override;
  void leave() override;
  void click_at(QPointF at, Qt::KeyboardModifiers modifiers) override;
  void double_click_at(QPointF at) override;
  bool key(QKeyEvent* e) override;

 private:
  void document_reset();
  void ask_for_program();
  void grow();   // adds what the document has more
  void grown();  // families and the path anew
  void find_roofs();
  void light() { light_from(0); }
  void light_from(size_t first);  // points
  static QRectF plot_area(QSizeF size, const QMarginsF& legend);
  void redraw();  // also what lies under the selection
  void paint_base(QPainter& p);
  void find_path();
  int best() const;
  RooflineLook look() const;
  InfoCard card_of(int point) const;
  int point_at(QPointF screen) const;
  int roof_at(QPointF screen) const;
  bool click_badge(QPointF at);
  int next_in_direction(int key) const;
  void choose(int point, bool isolate);

  Shared shared_;
  RooflineCloud cloud_;
  ProgramUse use_;
  std::vector<Roof> roofs_;
  std::map<QString, bool> chosen_;  // roofs shown or hidden by hand
  QRectF frame_{-1, -15, 5, 5};
  RooflinePainter painter_;
  QString level_;
  ColourBy colour_ = ColourBy::Family;
  bool path_shown_ = true, waits_for_program_ = false;
  std::vector<PathStop> path_;
  int hovered_ = -1, hovered_roof_ = -1;
  QMarginsF legend_;  // taken of the widget
  QTimer later_;
  Slices grow_;
  bool fresh_ = true;  // the families of this document were not found yet
  QImage base_;        // all but what the selection and the mouse change
  bool base_kept_ = false;
  Viewport base_view_;
};

}  // namespace nautilus::gui
