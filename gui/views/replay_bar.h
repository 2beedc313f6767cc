// A slider that replays how the search tree grew: by the order in which candidates were made, which
// their numbers are, or by the time of the search, where that was recorded.
#pragma once

#include <QAction>
#include <QTimer>
#include <QWidget>
#include <vector>

#include "gui/models/document.h"

class QLabel;
class QSlider;
class QToolButton;

namespace nautilus::gui {

class SearchTreeCanvas;

class ReplayBar : public QWidget {
  Q_OBJECT
 public:
  ReplayBar(const Document& document, SearchTreeCanvas& canvas, QWidget* parent);
  QAction* by_time() const { return by_time_; }  // order or time
  // Whether times are wanted, where they are known.
  bool wants_time() const { return by_time_->isChecked(); }
  void set_wants_time(bool on) { by_time_->setChecked(on); }

 private:
  void make_switch();
  void catch_up();
  void show_state();
  void show_slider();
  void move_to(int value);
  void play();
  void play_step();
  bool timed() const { return by_time_->isChecked() && by_time_->isEnabled(); }
  int made_by(int milliseconds) const;  // candidates
  int milliseconds_until(int candidates) const;
  QString progress_text() const;

  const Document& document_;
  SearchTreeCanvas& canvas_;
  QAction* by_time_;
  QToolButton *play_, *switch_;
  QSlider* slider_;
  QLabel* text_;
  QTimer timer_;
  bool times_are_known_ = false;  // of some candidate, whichever
  std::vector<double> made_at_;   // seconds of search, never less than of the candidate before
};

}  // namespace nautilus::gui
