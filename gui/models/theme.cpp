#include "gui/models/theme.h"

#include <QFontDatabase>
#include <QGuiApplication>
#include <QPalette>
#include <algorithm>
#include <array>

namespace nautilus::gui {
namespace {

using sched::NodeState;

// Okabe and Ito's colours, a shade darker for lines on white where theirs are too light.
struct Pair {
  QRgb light, dark;
};
constexpr std::array<Pair, 8> kSeries = {{{0x0072B2, 0x56B4E9},
                                          {0xD55E00, 0xE8772E},
                                          {0x009E73, 0x2FC49A},
                                          {0xB0568C, 0xD99BC0},
                                          {0xB07D00, 0xE69F00},
                                          {0x2F8FC4, 0x8CCBF0},
                                          {0x8A8300, 0xF0E442},
                                          {0x555555, 0xBBBBBB}}};

struct StateLook {
  const char* glyph;
  const char* words;
  int series;
};
StateLook look(NodeState s) {
  switch (s) {
    case NodeState::Open:
      return {"○", "open", 5};
    case NodeState::Expanded:
      return {"●", "expanded", 0};
    case NodeState::Complete:
      return {"◆", "complete", 2};
    case NodeState::Illegal:
      return {"✗", "illegal", 1};
    case NodeState::Unknown:
      return {"?", "unknown", 3};
    case NodeState::OverCapacity:
      return {"▣", "over capacity", 4};
    case NodeState::Dominated:
      return {"▽", "dominated", 7};
    case NodeState::Bounded:
      return {"⊘", "bounded", 7};
    case NodeState::Duplicate:
      return {"≡", "duplicate", 6};
    case NodeState::Budget:
      return {"…", "out of budget", 7};
    case NodeState::Failed:
      return {"!", "failed", 1};
  }
  return {"?", "", 7};
}

QColor pick(bool dark, QRgb light_value, QRgb dark_value) {
  return QColor::fromRgb(dark ? dark_value : light_value);
}

}  // namespace

TimeMark time_mark_of(const std::optional<sched::MeasuredPlan>& m) {
  return !m                 ? TimeMark::Hollow
         : m->right.holds() ? TimeMark::Ringed
         : m->right.fails() ? TimeMark::Wrong
                            : TimeMark::Filled;
}

Theme::Theme(QObject* parent) : QObject(parent) { set_mode(Mode::System); }

void Theme::set_mode(Mode m) {
  const bool was = dark_;
  static const bool system_dark =
      qGuiApp && qGuiApp->palette().color(QPalette::Window).lightness() < 128;
  mode_ = m;
  dark_ = m == Mode::Dark || (m == Mode::System && system_dark);
  if (dark_ != was) changed();
}

QColor Theme::background() const { return pick(dark_, 0xFFFFFF, 0x16191D); }
QColor Theme::surface() const { return pick(dark_, 0xF3F5F7, 0x21262C); }
QColor Theme::text() const { return pick(dark_, 0x16191D, 0xE8ECF0); }
QColor Theme::muted() const { return pick(dark_, 0x5A636D, 0x9AA5B1); }
QColor Theme::line() const { return pick(dark_, 0xCDD3DA, 0x3A424B); }
QColor Theme::accent() const { return pick(dark_, 0x0072B2, 0x56B4E9); }
QColor Theme::selection() const { return pick(dark_, 0xCFE6F5, 0x1E4258); }
QColor Theme::good() const { return series(2); }
QColor Theme::bad() const { return series(1); }
QColor Theme::warning() const { return series(4); }

QColor Theme::series(int k) const {
  const Pair& p = kSeries[static_cast<size_t>(k) % kSeries.size()];
  return pick(dark_, p.light, p.dark);
}

QColor Theme::state(NodeState s) const { return series(look(s).series); }
QString Theme::glyph(NodeState s) { return QString::fromUtf8(look(s).glyph); }
QString Theme::star() { return QStringLiteral("★"); }
QString Theme::state_words(NodeState s) { return look(s).words; }

QString Theme::mark_words(TimeMark m) {
  switch (m) {
    case TimeMark::Hollow:
      return QStringLiteral("predicted");
    case TimeMark::Filled:
      return QStringLiteral("measured, not compared");
    case TimeMark::Ringed:
      return QStringLiteral("measured, result right");
    case TimeMark::Wrong:
      return QStringLiteral("measured, result wrong");
  }
  return {};
}

QFont Theme::mono() const {
  QFont f = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  if (f.pointSizeF() < 9) f.setPointSizeF(9);
  return f;
}

QFont Theme::ui() const { return QGuiApplication::font(); }

QPalette Theme::palette() const {
  QPalette p;
  p.setColor(QPalette::Window, surface());
  p.setColor(QPalette::WindowText, text());
  p.setColor(QPalette::Base, background());
  p.setColor(QPalette::AlternateBase, surface());
  p.setColor(QPalette::Text, text());
  p.setColor(QPalette::Button, surface());
  p.setColor(QPalette::ButtonText, text());
  p.setColor(QPalette::ToolTipBase, surface());
  p.setColor(QPalette::ToolTipText, text());
  p.setColor(QPalette::PlaceholderText, muted());
  p.setColor(QPalette::Highlight, accent());
  p.setColor(QPalette::HighlightedText, dark_ ? QColor(Qt::black) : QColor(Qt::white));
  p.setColor(QPalette::Link, accent());
  p.setColor(QPalette::Light, background());
  p.setColor(QPalette::Midlight, line());
  p.setColor(QPalette::Mid, line());
  p.setColor(QPalette::Dark, muted());
  p.setColor(QPalette::Shadow, dark_ ? QColor(Qt::black) : muted());
  for (auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    p.setColor(QPalette::Disabled, role, muted());
  return p;
}

QColor faded(QColor c, double alpha) {
  c.setAlphaF(static_cast<float>(std::clamp(alpha, 0.0, 1.0)));
  return c;
}

QColor mixed(const QColor& a, const QColor& b, double t) {
  return QColor::fromRgbF(static_cast<float>(a.redF() * (1 - t) + b.redF() * t),
                          static_cast<float>(a.greenF() * (1 - t) + b.greenF() * t),
                          static_cast<float>(a.blueF() * (1 - t) + b.blueF() * t));
}

QColor ink_on(const QColor& c) {
  const double light = 0.299 * c.redF() + 0.587 * c.greenF() + 0.114 * c.blueF();
  return light > 0.55 ? QColor(20, 20, 20) : QColor(Qt::white);
}

}  // namespace nautilus::gui
