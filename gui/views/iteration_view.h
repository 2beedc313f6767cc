// The iteration space of the selected candidate: instances of one or two statements, their tiles,
// their order as an animation, and the dependences between them.
#pragma once

#include <QTimer>

#include "gui/models/sched_jobs.h"
#include "gui/views/iteration_scene.h"
#include "gui/views/view.h"

class QCheckBox;
class QComboBox;
class QHBoxLayout;
class QLabel;
class QSlider;
class QSpinBox;
class QToolButton;

namespace nautilus::gui {

class IterationCanvas;

class IterationView : public View {
  Q_OBJECT
 public:
  IterationView(Shared shared, QWidget* parent);
  void paint_picture(QPainter& p, const QRectF& page) override;
  QSizeF picture_size() const override;
  QList<QJsonObject> export_rows() const override;
  QJsonObject viewport() const override;
  void set_viewport(const QJsonObject& j) override;
  bool busy() const override { return waiting_; }

  IterationCanvas& canvas() { return *canvas_; }
  int step() const { return step_; }  // -1: all has run
  bool playing() const { return clock_.isActive(); }
  QLabel* notes() const { return notes_; }
  QLabel* readout() const { return readout_; }

 public Q_SLOTS:
  void set_step(int step);
  void play(bool on);
  void show_statements(const QString& first, const QString& second);  // "": automatic / none

 protected:
  void showEvent(QShowEvent*) override { ask(); }
  void resizeEvent(QResizeEvent* e) override;

 private:
  void make_bar();
  void make_player();
  void make_actions();
  void on_selection(unsigned parts);
  void ask();
  void show_answer(const IterationAnswer& a);
  void fill_choices();
  void fill_slices();
  void redraw();  // from the same points: dimensions or slices changed
  void point_at(int point);
  void step_by(int by);
  void open_sizes();
  QString summary() const;

  IterationCanvas* canvas_;
  QComboBox *first_, *second_, *x_, *y_;
  QHBoxLayout* slices_;
  QList<QSpinBox*> slice_spins_;
  QToolButton *sizes_, *play_, *back_, *forward_, *begin_, *end_;
  QComboBox* speed_;
  QCheckBox *arrows_, *together_;
  QSlider* slider_;
  QLabel *notes_, *readout_, *moment_;
  QTimer clock_;
  IterationPicture picture_;
  std::vector<PanelChoice> choices_;
  std::vector<std::string> wanted_;  // statements asked for; empty: automatic
  poly::Sizes wanted_sizes_;
  int shown_ = -2, step_ = -1;
  std::string made_of_;  // of the candidate that is shown
  bool waiting_ = false, filling_ = false;
};

}  // namespace nautilus::gui
