#include "gui/views/view_bar.h"

#include <QFrame>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>
#include <functional>
#include <utility>

namespace nautilus::gui {
namespace {

constexpr int kBarGap = 4, kBarSide = 6, kBarEdge = 3;  // pixels

class BarPopup : public QFrame {
 public:
  BarPopup(QWidget* parent, std::function<void()> closed)
      : QFrame(parent, Qt::Popup), closed_(std::move(closed)) {
    setFrameShape(QFrame::StyledPanel);
    setAttribute(Qt::WA_DeleteOnClose);
  }

 protected:
  void keyPressEvent(QKeyEvent* e) override {
    if (e->key() == Qt::Key_Escape) return void(close());
    QFrame::keyPressEvent(e);
  }
  void hideEvent(QHideEvent* e) override {
    QFrame::hideEvent(e);
    if (const auto closed = std::exchange(closed_, nullptr)) closed();
  }

 private:
  std::function<void()> closed_;
};

}  // namespace

ViewBar::ViewBar(QWidget* parent) : QWidget(parent), more_(new QToolButton(this)) {
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  more_->setObjectName(QStringLiteral("view_bar_more"));
  more_->setText(QStringLiteral("»"));
  more_->setAutoRaise(true);
  more_->setToolTip(tr("What has no room here"));
  more_->setAccessibleName(more_->toolTip());
  more_->hide();
  connect(more_, &QToolButton::clicked, this, &ViewBar::open);
}

ViewBar::~ViewBar() = default;

void ViewBar::add(QWidget* w) {
  w->setParent(this);
  w->show();
  items_.push_back(w);
  updateGeometry();
}

void ViewBar::add(const QString& label, QWidget* w) {
  auto* both = new QWidget(this);
  auto* row = new QHBoxLayout(both);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(kBarGap);
  auto* words = new QLabel(label, both);
  words->setBuddy(w);
  row->addWidget(words);
  row->addWidget(w);
  add(both);
}

void ViewBar::add_stretching(QWidget* w) {
  stretching_ = w;
  add(w);
}

int ViewBar::width_of(const QWidget* w) const {
  return std::min(w->maximumWidth(), std::max(w->sizeHint().width(), w->minimumWidth()));
}

QSize ViewBar::sizeHint() const {
  int width = 2 * kBarSide, height = more_->sizeHint().height();
  for (const QWidget* w : items_) {
    const int mine = width_of(w);
    if (mine > 0) width += mine + kBarGap;
    height = std::max(height, w->sizeHint().height());
  }
  return {width, height + 2 * kBarEdge};
}

QSize ViewBar::minimumSizeHint() const {
  return {2 * kBarSide + more_->sizeHint().width(), sizeHint().height()};
}

void ViewBar::resizeEvent(QResizeEvent* e) {
  QWidget::resizeEvent(e);
  arrange();
}

bool ViewBar::event(QEvent* e) {
  const bool taken = QWidget::event(e);
  if (e->type() == QEvent::LayoutRequest || e->type() == QEvent::Show) {
    updateGeometry();
    arrange();
  }
  return taken;
}

void ViewBar::arrange() {
  if (popup_) return;
  const int need = sizeHint().width(), more = more_->sizeHint().width();
  const bool all = need <= width() + kBarGap;
  const int end = width() - kBarSide - (all ? 0 : more + kBarGap);
  int x = kBarSide;
  behind_.clear();
  for (QWidget* w : items_) {
    int mine = width_of(w);
    if (all && w == stretching_) mine += std::max(0, width() - need + kBarGap);
    if (!behind_.empty() || x + mine > end) {
      if (mine > 0) behind_.push_back(w);
      w->setVisible(false);
      continue;
    }
    const int height = std::min(w->sizeHint().height(), this->height());
    const int left = layoutDirection() == Qt::RightToLeft ? width() - x - mine : x;
    w->setGeometry(left, (this->height() - height) / 2, mine, height);
    w->setVisible(true);
    if (mine > 0) x += mine + kBarGap;
  }
  const int left = layoutDirection() == Qt::RightToLeft ? kBarSide : width() - kBarSide - more;
  more_->setGeometry(left, (height() - more_->sizeHint().height()) / 2, more,
                     more_->sizeHint().height());
  more_->setVisible(!behind_.empty());
}

void ViewBar::open() {
  if (popup_ || behind_.empty()) return;
  popup_ = new BarPopup(this, [this] { take_back(); });
  auto* column = new QVBoxLayout(popup_);
  column->setContentsMargins(kBarSide, kBarSide, kBarSide, kBarSide);
  for (QWidget* w : behind_) {
    column->addWidget(w);
    w->show();
    auto buttons = w->findChildren<QToolButton*>();
    if (auto* self = qobject_cast<QToolButton*>(w)) buttons << self;
    for (QToolButton* b : buttons) connect(b, &QToolButton::clicked, popup_, &QWidget::close);
  }
  popup_->adjustSize();
  popup_->move(more_->mapToGlobal(QPoint(more_->width() - popup_->width(), more_->height())));
  popup_->show();
  behind_.front()->setFocus();
}

void ViewBar::take_back() {
  popup_ = nullptr;
  for (QWidget* w : behind_) w->setParent(this);  // which hides it
  arrange();
}

}  // namespace nautilus::gui
