#include "gui/app/explore_bar.h"

#include <QDoubleSpinBox>
#include <QEvent>
#include <QLabel>
#include <QSpinBox>
#include <QToolButton>

#include "gui/app/commands.h"

namespace nautilus::gui {

ExploreBar::ExploreBar(const Document& document, const LiveSearch& search, const Commands& commands,
                       QWidget* parent)
    : QToolBar(tr("Explore"), parent), document_(document), search_(search) {
  setObjectName("explore-bar");
  setMovable(false);
  setToolButtonStyle(Qt::ToolButtonTextOnly);
  const auto put = [&](const QString& id, const QString& glyph = {}) {
    if (!glyph.isEmpty()) commands.action(id)->setIconText(glyph);
    addAction(commands.action(id));
    widgetForAction(commands.action(id))
        ->setAccessibleName(commands.action(id)->text().remove('&').remove("…"));
  };
  put("file.open");
  put("file.save");
  addSeparator();
  what_ = new QToolButton(this);
  what_->setDefaultAction(commands.action("search.sizes"));
  addWidget(what_);
  addSeparator();
  for (const char* id : {"search.explore", "search.pause", "search.step", "search.stop"}) put(id);
  addSeparator();
  addWidget(new QLabel(tr(" Budget "), this));
  seconds_ = new QDoubleSpinBox(this);
  seconds_->setRange(0, 1e6);
  seconds_->setDecimals(0);
  seconds_->setValue(10);
  seconds_->setSuffix(tr(" s"));
  seconds_->setSpecialValueText(tr("no limit"));
  seconds_->setToolTip(tr("How long one press of Explore searches; 0: no limit"));
  seconds_->setAccessibleName(tr("Time budget"));
  addWidget(seconds_);
  plans_ = new QSpinBox(this);
  plans_->setRange(0, 10'000'000);
  plans_->setSingleStep(1000);
  plans_->setValue(20'000);
  plans_->setSuffix(tr(" plans"));
  plans_->setSpecialValueText(tr("any plans"));
  plans_->setGroupSeparatorShown(true);
  plans_->setToolTip(tr("How many plans one press of Explore costs at most; 0: no limit"));
  plans_->setAccessibleName(tr("Plan budget"));
  addWidget(plans_);
  addSeparator();
  target_ = new QToolButton(this);
  target_->setToolTip(
      tr("What is explored: everything, or what lies below a candidate (Ctrl+R "
         "takes the selected one); click for everything again"));
  target_->setAccessibleName(tr("Target"));
  connect(target_, &QToolButton::clicked, commands.action("search.whole"), &QAction::trigger);
  addWidget(target_);
  addSeparator();
  put("go.back", "◂");
  put("go.forward", "▸");
  addSeparator();
  put("go.find");
  put("go.palette");
  put("help.keys", "?");
  connect(&document_, &Document::reset, this, &ExploreBar::show_document);
  connect(&document_, &Document::options_changed, this, &ExploreBar::show_document);
  connect(&search_, &LiveSearch::root_changed, this, &ExploreBar::show_target);
  show_document();
  show_target();
}

// The style's mark of what has no room is black, whatever the theme.
void ExploreBar::changeEvent(QEvent* e) {
  QToolBar::changeEvent(e);
  auto* more = findChild<QToolButton*>("qt_toolbar_ext_button");
  if (!more || more->text() == QStringLiteral("»")) return;
  more->setIcon(QIcon());
  more->setText(QStringLiteral("»"));
  more->setToolTip(tr("What has no room here"));
  more->setAccessibleName(more->toolTip());
}

void ExploreBar::show_document() {
  const sched::Session& s = document_.session();
  what_->defaultAction()->setEnabled(!document_.empty() && locked_.isEmpty());
  if (document_.empty()) {
    what_->defaultAction()->setText(tr("Sizes and machine…"));
    return;
  }
  const std::string sizes = poly::sizes_text(s.options.sizes);
  QString shown = QString::fromStdString(sizes);
  constexpr int kMost = 34;
  if (shown.size() > kMost) shown = shown.left(kMost) + "…";
  what_->defaultAction()->setText((locked_.isEmpty() ? QString() : tr("Locked: ")) +
                                  QString::fromStdString(s.kernel) + "  ·  " + shown + "  ·  " +
                                  QString::fromStdString(s.options.machine.id));
  if (!locked_.isEmpty()) return what_->setToolTip(locked_);
  what_->setToolTip(tr("%1 with %2 on %3: change sizes or machine (Ctrl+T)")
                        .arg(QString::fromStdString(s.kernel), QString::fromStdString(sizes),
                             QString::fromStdString(s.options.machine.name)));
}

void ExploreBar::set_locked(const QString& why) {
  locked_ = why;
  show_document();
}

void ExploreBar::show_target() {
  target_->setText(search_.root() > 0 ? tr("Target: below %1").arg(search_.root())
                                      : tr("Target: everything"));
}

Allowance ExploreBar::allowance() const {
  return {seconds_->value(), plans_->value(), Allowance{}.nodes};
}

void ExploreBar::set_allowance(const Allowance& a) {
  seconds_->setValue(a.seconds);
  plans_->setValue(a.plans);
}

}  // namespace nautilus::gui
