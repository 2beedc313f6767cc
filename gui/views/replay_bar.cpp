#include "gui/views/replay_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QSlider>
#include <QToolButton>
#include <algorithm>
#include <cmath>

#include "gui/models/quantity.h"
#include "gui/views/elided_label.h"
#include "gui/views/search_tree_canvas.h"

namespace nautilus::gui {
namespace {

constexpr double kMilliseconds = 1000;  // of a second
constexpr int kFrames = 250;            // of a whole replay: about ten seconds
constexpr int kFrame = 40;              // ms
constexpr double kMostSeconds = 1e6;    // what a file says may be anything

QString clock_text(int milliseconds) {
  return ReplayBar::tr("%1 s").arg(milliseconds / kMilliseconds, 0, 'f', 2);
}

}  // namespace

ReplayBar::ReplayBar(const Document& document, SearchTreeCanvas& canvas, QWidget* parent)
    : QWidget(parent),
      document_(document),
      canvas_(canvas),
      by_time_(new QAction(tr("Replay by search time"), this)),
      play_(new QToolButton(this)),
      switch_(new QToolButton(this)),
      slider_(new QSlider(Qt::Horizontal, this)),
      text_(new ElidedLabel({}, this)) {
  play_->setText(QStringLiteral("\u25b6"));
  play_->setAutoRaise(true);
  play_->setObjectName(QStringLiteral("replay_play"));
  play_->setAccessibleName(tr("Play the search"));
  play_->setToolTip(tr("Play how the tree grew"));
  slider_->setMinimumWidth(60);  // a replay can still be steered
  slider_->setObjectName(QStringLiteral("replay_slider"));
  text_->setObjectName(QStringLiteral("replay_step"));
  make_switch();
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(8, 2, 8, 2);
  row->addWidget(play_);
  row->addWidget(switch_);
  row->addWidget(slider_, 1);
  row->addWidget(text_);
  text_->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Preferred);  // as wide as its text
  connect(slider_, &QSlider::valueChanged, this, &ReplayBar::move_to);
  connect(play_, &QToolButton::clicked, this, &ReplayBar::play);
  connect(&timer_, &QTimer::timeout, this, &ReplayBar::play_step);
  connect(&canvas_, &SearchTreeCanvas::picture_changed, this, &ReplayBar::show_state);
  connect(&document_, &Document::reset, this, [this] {
    made_at_.clear();
    times_are_known_ = false;
    show_state();
  });
  show_state();
}

void ReplayBar::make_switch() {
  by_time_->setCheckable(true);
  by_time_->setShortcut(Qt::Key_T);
  switch_->setAutoRaise(true);
  switch_->setObjectName(QStringLiteral("replay_switch"));
  connect(switch_, &QToolButton::clicked, by_time_, &QAction::trigger);
  connect(by_time_, &QAction::toggled, this, &ReplayBar::show_state);
}

// Made by hand, or before there were times: when the one before it was.
void ReplayBar::catch_up() {
  const auto& nodes = document_.nodes();
  for (size_t k = made_at_.size(); k < nodes.size(); ++k) {
    const double before = made_at_.empty() ? 0 : made_at_.back(), at = nodes[k].made_at;
    times_are_known_ |= at >= 0;
    made_at_.push_back(at > before ? std::min(at, kMostSeconds) : before);
  }
}

int ReplayBar::made_by(int milliseconds) const {
  const auto end = std::upper_bound(made_at_.begin(), made_at_.end(), milliseconds / kMilliseconds);
  return std::max(1, static_cast<int>(end - made_at_.begin()));
}

int ReplayBar::milliseconds_until(int candidates) const {
  if (candidates <= 0 || made_at_.empty()) return 0;
  const size_t last = std::min(made_at_.size(), static_cast<size_t>(candidates)) - 1;
  return static_cast<int>(std::ceil(made_at_[last] * kMilliseconds));
}

void ReplayBar::move_to(int value) { canvas_.set_limit(timed() ? made_by(value) : value); }

void ReplayBar::play() {
  if (timer_.isActive()) {
    timer_.stop();
  } else {
    if (!canvas_.replaying()) slider_->setValue(slider_->minimum());
    timer_.start(kFrame);
  }
  show_state();
}

void ReplayBar::play_step() {
  const int end = slider_->maximum(), step = std::max(1, end / kFrames);
  if (slider_->value() + step >= end) timer_.stop();
  slider_->setValue(std::min(end, slider_->value() + step));
}

void ReplayBar::show_state() {
  catch_up();
  const bool known = times_are_known_;
  by_time_->setEnabled(known);
  by_time_->setToolTip(known ? tr("Distances on the slider are times of the search, or numbers of "
                                  "candidates (T)")
                             : tr("This session does not say when its candidates were made"));
  switch_->setEnabled(known);
  switch_->setText(timed() ? tr("time") : tr("order"));
  switch_->setToolTip(by_time_->toolTip());
  switch_->setAccessibleName(timed() ? tr("Replay by search time") : tr("Replay by order"));
  show_slider();
  play_->setText(timer_.isActive() ? QStringLiteral("\u2016") : QStringLiteral("\u25b6"));
  text_->setText(progress_text());
}

// A moment between two candidates stays where it is.
void ReplayBar::show_slider() {
  const int n = static_cast<int>(canvas_.facts().size()), limit = canvas_.limit();
  const QSignalBlocker quiet(slider_);
  slider_->setEnabled(n > 1);
  play_->setEnabled(n > 1);
  slider_->setAccessibleName(timed() ? tr("Replay: time of the search")
                                     : tr("Replay: candidates made so far"));
  slider_->setToolTip(
      timed() ? tr("Replay the search. Equal distances are equal times of the search.")
              : tr("Replay the search. Equal distances are equal numbers of candidates, "
                   "in the order in which they were made."));
  const int end = timed() ? milliseconds_until(n) : n;
  slider_->setRange(timed() ? 0 : std::min(n, 1), end);
  slider_->setPageStep(std::max(1, end / 20));
  slider_->setSingleStep(timed() ? std::max(1, end / 200) : 1);
  if (!timed())
    slider_->setValue(limit);
  else if (!canvas_.replaying())
    slider_->setValue(end);
  else if (made_by(slider_->value()) != limit)
    slider_->setValue(milliseconds_until(limit));
}

QString ReplayBar::progress_text() const {
  const int n = static_cast<int>(canvas_.facts().size());
  QString text = tr("%1 candidates").arg(count_text(n));
  if (canvas_.replaying() && timed())
    text = tr("%1 of %2, %3 candidates")
               .arg(clock_text(slider_->value()), clock_text(slider_->maximum()),
                    count_text(canvas_.limit()));
  else if (canvas_.replaying())
    text = tr("%1 of %2 in search order").arg(count_text(canvas_.limit()), count_text(n));
  if (const int best = canvas_.best(); best >= 0) {
    const float s = canvas_.facts()[static_cast<size_t>(best)].seconds;
    if (s > 0) text += tr(", best %1").arg(seconds_text(s));
  }
  const SearchTreePicture& p = canvas_.picture();
  if (p.folded_nodes > 0 && !canvas_.replaying())
    text += tr(", %1 folded").arg(count_text(p.folded_nodes));
  return text;
}

}  // namespace nautilus::gui
