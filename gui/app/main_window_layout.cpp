// Where the views are, and how everything looks.
#include <QApplication>
#include <QSettings>
#include <QStyleFactory>
#include <QTabBar>

#include "gui/app/main_window.h"
#include "gui/app/notes_panel.h"
#include "gui/app/start_page.h"
#include "gui/app/view_dock.h"
#include "gui/app/views.h"

namespace nautilus::gui {

void MainWindow::make_docks() {
  views_ = make_views({document_, selection_, filters_, bench_, theme_}, this);
  for (View* v : views_) docks_ << new ViewDock(v->name(), v->title(), v, this);
  notes_ = new NotesPanel(document_, selection_, this);
  docks_ << new ViewDock("notes", tr("Notes"), notes_, this);
}

// Tree | pictures; below schedule | why | notes; below the tables. A view that is not linked leaves
// no gap.
void MainWindow::arrange() {
  using Names = QStringList;
  const auto place = [&](Qt::DockWidgetArea area, const Names& side_by_side, const Names& behind) {
    ViewDock* first = nullptr;
    for (const QString& name : side_by_side)
      if (ViewDock* d = dock(name)) {
        addDockWidget(area, d, Qt::Horizontal);
        first = d;
      }
    for (const QString& name : behind)
      if (ViewDock* d = dock(name)) {
        if (first) tabifyDockWidget(first, d);
        else addDockWidget(area, d, Qt::Horizontal), first = d;
      }
  };
  place(Qt::LeftDockWidgetArea, {"lesson"}, {});
  place(Qt::TopDockWidgetArea, {"tree", "roofline"}, {"iteration", "code", "budget", "compare"});
  place(Qt::BottomDockWidgetArea, {"schedule", "why", "notes"}, {});
  ViewDock* const row = dock("schedule") ? dock("schedule") : dock("notes");
  if (ViewDock* table = dock("table")) {
    splitDockWidget(row, table, Qt::Vertical);
    for (const char* beside : {"why", "notes"})
      if (ViewDock* d = dock(beside); d && d != row) splitDockWidget(row, d, Qt::Horizontal);
    if (ViewDock* p = dock("parallel")) tabifyDockWidget(table, p);
  }
  for (const char* front : {"roofline", "table"})
    if (ViewDock* d = dock(front)) d->raise();
  const auto share = [&](const Names& names, const QList<int>& sizes, Qt::Orientation o) {
    QList<QDockWidget*> docks;
    QList<int> of;
    for (int k = 0; k < names.size(); ++k)
      if (ViewDock* d = dock(names[k])) docks << d, of << sizes[k];
    if (docks.size() > 1) resizeDocks(docks, of, o);
  };
  share({"tree", "roofline"}, {45, 55}, Qt::Horizontal);
  share({"schedule", "why", "notes"}, {45, 38, 17}, Qt::Horizontal);
  share({"tree", "schedule", "table"}, {50, 30, 20}, Qt::Vertical);
  setCorner(Qt::TopLeftCorner, Qt::LeftDockWidgetArea);
  setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
}

void MainWindow::show_start_page(bool on) {
  if (on == start_->isVisibleTo(this) && !plain_layout_.isNull()) return;
  if (on) {
    plain_layout_ = saveState();
    for (ViewDock* d : docks_) d->hide();
  }
  start_->setVisible(on);
  explore_bar_->setVisible(!on);
  if (QToolBar* chips = findChild<QToolBar*>("chip-bar")) chips->setVisible(!on);
  if (on) return;
  restoreState(plain_layout_);
  const QByteArray own = QSettings().value("layout").toByteArray();
  if (own.isEmpty() || !restoreState(own)) arrange();
  start_->hide();
  if (ViewDock* lesson = dock("lesson")) lesson->hide();
}

bool MainWindow::on_start_page() const { return start_->isVisibleTo(this); }

void MainWindow::apply_theme() {
  QSettings().setValue("theme", static_cast<int>(theme_.mode()));
  if (!QApplication::style()->name().contains("fusion", Qt::CaseInsensitive))
    QApplication::setStyle(QStyleFactory::create("Fusion"));
  QApplication::setPalette(theme_.palette());
}

// A key that the focused view has a meaning for is not the window's while it has the focus.
void MainWindow::views_keys_first(QWidget* focused) {
  for (auto& [action, keys] : keys_taken_) action->setShortcuts(keys);
  keys_taken_.clear();
  const View* view = nullptr;
  for (QWidget* w = focused; w && !view; w = w->parentWidget()) view = qobject_cast<View*>(w);
  if (!view) return;
  QList<QKeySequence> taken;
  for (const QAction* a : view->findChildren<QAction*>())
    if (a->shortcutContext() != Qt::WindowShortcut) taken << a->shortcuts();
  for (const Commands::Command& c : commands_.all()) {
    if (c.action->parent() != this) continue;
    const QList<QKeySequence> keys = c.action->shortcuts();
    QList<QKeySequence> left = keys;
    left.removeIf([&](const QKeySequence& k) { return taken.contains(k); });
    if (left.size() == keys.size()) continue;
    keys_taken_ << std::pair(c.action, keys);
    c.action->setShortcuts(left);
  }
}

View* MainWindow::current_view() const {
  for (QWidget* w = QApplication::focusWidget(); w; w = w->parentWidget())
    if (auto* v = qobject_cast<View*>(w)) return v;
  for (View* v : views_)
    if (!v->visibleRegion().isEmpty()) return v;
  return nullptr;
}

}  // namespace nautilus::gui
