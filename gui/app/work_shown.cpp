#include "gui/app/work_shown.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QShortcut>
#include <QToolButton>

namespace nautilus::gui {
namespace {

constexpr int kSoon = 300;  // ms

}  // namespace

WorkShown::WorkShown(QWidget* parent)
    : QWidget(parent), text_(new QLabel(this)), cancel_(new QToolButton(this)) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(text_);
  row->addWidget(cancel_);
  text_->setTextFormat(Qt::PlainText);
  cancel_->setText(tr("Cancel"));
  cancel_->setObjectName("cancel-work");
  cancel_->setToolTip(tr("Gives this up; everything is as before (Ctrl+.)"));
  cancel_->setAccessibleName(tr("Cancel what is at work"));
  QSizePolicy kept = cancel_->sizePolicy();
  kept.setRetainSizeWhenHidden(true);
  cancel_->setSizePolicy(kept);
  connect(cancel_, &QToolButton::clicked, this, &WorkShown::give_up);
  // Where nothing else means it: Esc of the window would take it from dialogs, filters and inputs.
  auto* escape = new QShortcut(Qt::Key_Escape, cancel_);
  escape->setContext(Qt::WidgetShortcut);
  connect(escape, &QShortcut::activated, this, &WorkShown::give_up);
  soon_.setSingleShot(true);
  soon_.setInterval(kSoon);
  connect(&soon_, &QTimer::timeout, this, &WorkShown::show_last);
  show_last();
}

int WorkShown::begin(const QString& what, std::function<void()> give_up) {
  works_[++next_] = {what, std::move(give_up)};
  soon_.start();
  show_last();
  return next_;
}

bool WorkShown::end(int work) {
  const bool was = works_.erase(work) > 0;
  if (was) show_last();
  return was;
}

void WorkShown::give_up() {
  if (works_.empty()) return;
  const Work last = std::move(works_.rbegin()->second);
  works_.erase(std::prev(works_.end()));
  show_last();
  last.give_up();
}

void WorkShown::show_last() {
  text_->setText(works_.empty() ? QString() : works_.rbegin()->second.what + QStringLiteral(" …"));
  cancel_->setVisible(can_give_up());
  changed();
}

}  // namespace nautilus::gui
