// Where the views are, and how everything looks.
#include <QApplication>
#include <QSettings>
#include <QStyle>
#include <QStyleFactory>
#include <QTabBar>
#include <QTimer>
#include <QToolBar>

#include "gui/app/explore_bar.h"
#include "gui/app/main_window.h"
#include "gui/app/notes_panel.h"
#include "gui/app/start_page.h"
#include "gui/app/view_dock.h"
#include "gui/app/views.h"
#include "gui/views/schedule_view.h"
#include "gui/views/search_tree.h"

namespace nautilus::gui {

void MainWindow::make_docks() {
  views_ = make_views({document_, selection_, filters_, bench_, theme_}, this);
  for (View* v : views_) docks_ << new ViewDock(v->name(), v->title(), v, this);
  // While a search lives, it makes the candidates that a person asks for.
  if (auto* schedule = dynamic_cast<ScheduleView*>(view("schedule"))) {
    HandSteps& hand = schedule->hand_steps();
    hand.set_adder([this, alone = hand.adder()](int parent, const HandSteps::Steps& steps,
                                                HandSteps::Done done) {
      if (search_.alive())
        search_.add_by_hand(parent, steps, std::move(done));
      else
        alone(parent, steps, std::move(done));
    });
    connect(schedule, &ScheduleView::message, this, &MainWindow::say);
  }
  if (auto* tree = dynamic_cast<SearchTreeView*>(view("tree")))
    connect(tree, &SearchTreeView::root_changed, this, [this](int node) {
      if (node > 0) say(tr("Ctrl+R searches only what lies below the selected candidate"));
    });
  notes_ = new NotesPanel(document_, selection_, this);
  docks_ << new ViewDock("notes", tr("Notes"), notes_, this);
}

// Tree | pictures; below schedule | why | notes; below the tables, in a low window behind the
// schedule; lessons beside all.
void MainWindow::arrange() {
  constexpr int kThreeRows = 850;
  const bool low = height() < kThreeRows;
  const auto all = [&](std::initializer_list<const char*> names) {
    QList<ViewDock*> out;
    for (const char* n : names)
      if (ViewDock* d = dock(n)) out << d;
    return out;
  };
  const QList<ViewDock*> pictures = all({"roofline", "iteration", "code", "budget", "compare"}),
                         tables = all({"table", "parallel"}),
                         details = all({"schedule", "why", "notes"});
  QList<ViewDock*> rows;  // the first dock of each
  const auto row = [&](ViewDock* first) {
    if (rows.isEmpty())
      addDockWidget(Qt::LeftDockWidgetArea, first);
    else
      splitDockWidget(rows.back(), first, Qt::Vertical);
    rows << first;
  };
  const QList<ViewDock*> top = all({"tree"}) + pictures.mid(0, 1);
  for (const QList<ViewDock*>& r : {top, details, low ? QList<ViewDock*>() : tables.mid(0, 1)})
    if (!r.isEmpty()) row(r.front());
  for (const QList<ViewDock*>& r : {top, details})
    for (int k = 1; k < r.size(); ++k) splitDockWidget(r[k - 1], r[k], Qt::Horizontal);
  for (const QList<ViewDock*>& tabs : {pictures, low ? details.mid(0, 1) + tables : tables}) {
    for (int k = 1; k < tabs.size(); ++k) tabifyDockWidget(tabs[k - 1], tabs[k]);
    if (!tabs.isEmpty()) tabs.front()->raise();
  }
  if (ViewDock* d = dock("lesson")) addDockWidget(Qt::RightDockWidgetArea, d);
  const auto share = [&](std::initializer_list<std::pair<const char*, int>> parts,
                         Qt::Orientation o) {
    QList<QDockWidget*> docks;
    QList<int> sizes;
    for (const auto& [name, size] : parts)
      if (ViewDock* d = dock(name)) docks << d, sizes << size;
    if (docks.size() > 1) resizeDocks(docks, sizes, o);
  };
  share({{"tree", 700}, {"roofline", 860}}, Qt::Horizontal);
  share({{"schedule", 700}, {"why", 600}, {"notes", 260}}, Qt::Horizontal);
  if (low)
    share({{"tree", 380}, {"schedule", 240}}, Qt::Vertical);
  else
    share({{"tree", 450}, {"schedule", 250}, {"table", 200}}, Qt::Vertical);
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
  if (on) return start_->setFocus();
  const QSize wanted = size();
  restoreState(plain_layout_);
  const QByteArray own = QSettings().value("layout").toByteArray();
  if (own.isEmpty() || !restoreState(own)) arrange();
  start_->hide();
  if (ViewDock* lesson = dock("lesson")) lesson->hide();
  // The plain layout has three rows: in a low window it asked for more room than it needs now.
  if (size() != wanted && !isMaximized() && !isFullScreen()) resize(wanted);
}

bool MainWindow::reveal(const QString& name) {
  ViewDock* d = dock(name);
  if (!d) return false;
  d->reveal();
  if (name != "lesson") return true;
  QTimer::singleShot(0, d, [this, d] {  // its width is known once it was laid out
    constexpr int kReadable = 340;
    if (!d->isFloating() && d->width() < kReadable) resizeDocks({d}, {kReadable}, Qt::Horizontal);
  });
  return true;
}

bool MainWindow::on_start_page() const { return start_->isVisibleTo(this); }

void MainWindow::apply_theme() {
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
