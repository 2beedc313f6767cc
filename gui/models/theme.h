// Colours and glyphs, light and dark, safe for colour-blind people (Okabe and Ito's palette): a
// state is always told by glyph and colour together.
#pragma once

#include <QColor>
#include <QFont>
#include <QObject>
#include <QPalette>
#include <QString>
#include <optional>

#include "autosched/search.h"

namespace nautilus::gui {

// How a time is known, drawn alike by the search tree and the roofline: hollow predicted, filled
// measured, ringed when the outputs were right too, crossed out when they were wrong.
enum class TimeMark : uint8_t { Hollow, Filled, Ringed, Wrong };
inline constexpr int kTimeMarks = 4;
TimeMark time_mark_of(const std::optional<sched::MeasuredPlan>& m);

class Theme : public QObject {
  Q_OBJECT
 public:
  enum class Mode : uint8_t { System, Light, Dark };
  explicit Theme(QObject* parent = nullptr);
  Mode mode() const { return mode_; }
  bool dark() const { return dark_; }
  void set_mode(Mode m);

  QColor background() const, surface() const, text() const, muted() const, line() const;
  QColor accent() const, selection() const, good() const, bad() const, warning() const;
  QColor series(int k) const;  // eight that can be told apart
  QColor state(sched::NodeState s) const;
  static QString glyph(sched::NodeState s);  // one character: "✗" illegal, "★" best is star()
  static QString star();
  static QString state_words(sched::NodeState s);  // "over capacity"
  static QString mark_words(TimeMark m);           // "measured, result right"
  QFont mono() const, ui() const;
  QPalette palette() const;  // for the widgets

 Q_SIGNALS:
  void changed();

 private:
  Mode mode_ = Mode::System;
  bool dark_ = false;
};

QColor faded(QColor c, double alpha);
QColor mixed(const QColor& a, const QColor& b, double share_of_b);
QColor ink_on(const QColor& ground);  // black or white, whichever is read better on it

}  // namespace nautilus::gui
