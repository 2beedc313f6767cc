#include "gui/app/view_dock.h"

#include <QHBoxLayout>
#include <QMenu>
#include <QToolButton>

#include "gui/views/elided_label.h"

namespace nautilus::gui {

// Less than its controls would like: the window fits small screens, and whoever needs a view makes
// it larger.
constexpr QSize kLeastDock(160, 72);

ViewDock::ViewDock(const QString& name, const QString& title, QWidget* content, QWidget* parent)
    : QDockWidget(title, parent) {
  setObjectName(name);
  setWidget(content);
  content->setAccessibleName(title);
  content->setMinimumSize(kLeastDock);
  auto* bar = new QWidget(this);
  auto* box = new QHBoxLayout(bar);
  box->setContentsMargins(6, 1, 2, 1);
  box->setSpacing(2);
  auto* label = new ElidedLabel(title, bar);
  QFont f = label->font();
  f.setBold(true);
  label->setFont(f);
  box->addWidget(label, 1);
  const auto button = [&](const QString& glyph, const QString& what, const QString& object) {
    auto* b = new QToolButton(bar);
    b->setObjectName(object);
    b->setText(glyph);
    b->setAutoRaise(true);
    b->setToolTip(what);
    b->setAccessibleName(what + ": " + title);
    box->addWidget(b);
    return b;
  };
  QToolButton* open = button("≡", tr("Menu of this view: its commands and exports"), "menu");
  auto* menu = new QMenu(open);
  menu->setToolTipsVisible(true);
  connect(open, &QToolButton::clicked, menu,
          [open, menu] { menu->popup(open->mapToGlobal(QPoint(0, open->height()))); });
  connect(button("❐", tr("Float or dock"), "float"), &QToolButton::clicked, this,
          [this] { setFloating(!isFloating()); });
  connect(button("✕", tr("Close; the View menu brings it back"), "close"), &QToolButton::clicked,
          this, &QDockWidget::close);
  setTitleBarWidget(bar);
}

void ViewDock::set_menu(const QList<QAction*>& actions) {
  titleBarWidget()->findChild<QMenu*>()->addActions(actions);
}

void ViewDock::reveal() {
  show();
  raise();
  widget()->setFocus(Qt::ShortcutFocusReason);
}

}  // namespace nautilus::gui
