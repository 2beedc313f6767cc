#include "gui/app/main_window.h"

#include <QApplication>
#include <QDragEnterEvent>
#include <QLabel>
#include <QMessageBox>
#include <QMimeData>
#include <QSettings>
#include <QStatusBar>
#include <QUrl>

#include "gui/app/chips_bar.h"
#include "gui/app/explore_bar.h"
#include "gui/app/notes_panel.h"
#include "gui/app/start_page.h"
#include "gui/app/view_dock.h"
#include "gui/views/lesson_view.h"

namespace nautilus::gui {

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent) {
  setObjectName("main-window");
  resize(1600, 1000);
  setDockNestingEnabled(true);
  setAcceptDrops(true);
  theme_.set_mode(static_cast<Theme::Mode>(QSettings().value("theme", 0).toInt()));
  apply_theme();
  connect(&document_, &Document::reset, this, [this] {
    ++documents_;
    search_.drop();
    filters_.undo_stack().clear();
    selection_.clear();
    bench_.set_work(document_.session());
  });
  // Before the views, which ask again.
  connect(&document_, &Document::options_changed, this,
          [this] { bench_.set_options(document_.session().options); });
  start_ = new StartPage(this);
  setCentralWidget(start_);
  make_docks();
  make_commands();
  explore_bar_ = new ExploreBar(document_, search_, commands_, this);
  addToolBar(explore_bar_);
  addToolBarBreak();
  auto* chip_bar = addToolBar(tr("Filters"));
  chip_bar->setObjectName("chip-bar");
  chip_bar->setMovable(false);
  chips_ = new ChipsBar(document_, filters_, chip_bar);
  chip_bar->addWidget(chips_);
  make_menus();
  make_view_menus();
  arrange();
  status_ = new QLabel(this);
  working_ = new QLabel(this);
  work_ = new WorkShown(this);
  statusBar()->addPermanentWidget(work_);
  statusBar()->addPermanentWidget(working_);
  connect(work_, &WorkShown::changed, this, &MainWindow::update_commands);
  for (View* v : views_)
    connect(v, &View::works, this, [this, v, work = 0](const QString& what) mutable {
      work_->end(work);
      work = what.isEmpty() ? 0 : work_->begin(what, [v] { v->give_up(); });
    });
  statusBar()->addPermanentWidget(status_);

  connect(&bench_, &Bench::busy_changed, this, [this](bool on, const QString& what) {
    working_->setText(on ? tr("working: %1 …").arg(what) : QString());
  });
  connect(&bench_, &Bench::failed, this,
          [this](QObject* asker, const QString& what, const QString& why) {
            if (asker) return say(what + ": " + why);
            tell_problem(
                tr("The program cannot be read"),
                tr("Views that need it stay empty; the candidates are there.\n%1").arg(why));
          });
  connect(&search_, &LiveSearch::refused, this,
          [this](const QString& why) { tell_problem(tr("The search refused"), why); });
  connect(&search_, &LiveSearch::ended, this, &MainWindow::search_ended);
  connect(&search_, &LiveSearch::phase_changed, this, &MainWindow::update_commands);
  connect(&search_, &LiveSearch::root_changed, this, &MainWindow::update_commands);
  connect(&search_, &LiveSearch::phase_changed, this, &MainWindow::show_status);
  connect(&document_, &Document::progress, this, &MainWindow::show_status);
  connect(&document_, &Document::reset, this, &MainWindow::show_status);
  connect(&document_, &Document::reset, this, &MainWindow::update_commands);
  connect(&document_, &Document::modified_changed, this, &MainWindow::update_title);
  connect(&document_, &Document::reset, this, &MainWindow::update_title);
  connect(&document_, &Document::answer_changed, this, &MainWindow::update_commands);
  connect(&selection_, &Selection::changed, this, &MainWindow::update_commands);
  connect(&selection_, &Selection::history_changed, this, &MainWindow::update_commands);
  connect(&filters_.undo_stack(), &QUndoStack::indexChanged, this, &MainWindow::update_commands);
  connect(&theme_, &Theme::changed, this, &MainWindow::apply_theme);
  connect(qApp, &QApplication::focusChanged, this,
          [this](QWidget*, QWidget* now) { views_keys_first(now); });
  const auto open_it = [this](const QString& what) { open(what); };
  connect(start_, &StartPage::open_requested, this, open_it);
  connect(start_, &StartPage::kernel_requested, this, open_it);
  connect(start_, &StartPage::explore_requested, this,
          [this](const QString& name) { open(name, [this] { explore(); }); });
  connect(start_, &StartPage::lesson_requested, this, &MainWindow::start_lesson);
  if (auto* lesson = dynamic_cast<LessonView*>(view("lesson")))
    connect(lesson, &LessonView::locked, this, [this](const QString& why) {
      explore_bar_->set_locked(why);
      update_commands();
    });
  connect(start_, &StartPage::browse_requested, this, &MainWindow::browse);
  connect(&autosave_, &QTimer::timeout, this, &MainWindow::autosave);
  autosave_.start(20'000);
  start_->set_recent(QSettings().value("recent").toStringList(), RecoveryCopy::left_behind());
  show_start_page(true);
  update_commands();
  update_title();
  show_status();
}

MainWindow::~MainWindow() {
  search_.drop();  // its last words go to what is still there
  // Nobody waits for compilers; what is being saved is written.
  for (View* v : views_) v->give_up();
  background_pool().waitForDone();
  if (may_close_) forget_recovery();  // what was still being written when it closed
  // Members say something while they end; those that would listen are gone by then.
  const QList<const QObject*> members{
      qApp, &document_, &selection_, &filters_, &filters_.undo_stack(), &theme_, &bench_, &search_};
  for (const QObject* o : members) disconnect(o, nullptr, this, nullptr);
  qDeleteAll(docks_);  // while what they show is there
}

View* MainWindow::view(const QString& name) const {
  for (View* v : views_)
    if (v->name() == name) return v;
  return nullptr;
}

ViewDock* MainWindow::dock(const QString& name) const {
  for (ViewDock* d : docks_)
    if (d->objectName() == name) return d;
  return nullptr;
}

bool MainWindow::busy() const {
  return work_->any() || !writes_.empty() || bench_.busy() || filters_.busy() ||
         std::any_of(views_.begin(), views_.end(), [](const View* v) { return v->busy(); });
}

void MainWindow::tell_problem(const QString& title, const QString& text) {
  if (on_problem_) return on_problem_(title, text);
  auto* box = new QMessageBox(QMessageBox::Warning, title, text, QMessageBox::Ok, this);
  box->setObjectName("problem");
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  box->open();
}

void MainWindow::say(const QString& text) { statusBar()->showMessage(text, 8000); }

bool MainWindow::follow(const Link& link) {
  bool good = true;
  if (link.node >= 0) {
    good = document_.node(link.node);
    if (good)
      selection_.select(link.node);
    else
      tell_problem(tr("Link"), tr("There is no candidate %1; the session has %2.")
                                   .arg(link.node)
                                   .arg(document_.nodes().size()));
  }
  if (!link.lesson.isEmpty()) good &= start_lesson(link.lesson);
  if (link.view.isEmpty() || reveal(link.view)) return good;
  QStringList names;
  for (const View* v : views_) names << v->name();
  tell_problem(tr("Link"), tr("There is no view '%1' (%2).").arg(link.view, names.join(", ")));
  return false;
}

void MainWindow::dragEnterEvent(QDragEnterEvent* e) {
  if (e->mimeData()->hasUrls() && e->mimeData()->urls().front().isLocalFile())
    e->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* e) {
  const QString file = e->mimeData()->urls().front().toLocalFile();
  const bool table = file.endsWith(".csv");
  if (table && !document_.empty())
    import_measurements(file);
  else
    open(file);
  e->acceptProposedAction();
}

}  // namespace nautilus::gui
