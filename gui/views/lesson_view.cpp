#include "gui/views/lesson_view.h"

#include <QDockWidget>
#include <QHBoxLayout>
#include <QScrollBar>
#include <QToolTip>
#include <QVBoxLayout>

#include "gui/models/background.h"

namespace nautilus::gui {

View* make_lesson_view(Shared shared, QWidget* parent) { return new LessonView(shared, parent); }

LessonView::LessonView(Shared shared, QWidget* parent) : View(shared, parent), run_(this) {
  make_pages();
  make_actions();
  if (auto g = load_glossary(lessons_dir())) glossary_ = *std::move(g);
  connect(&run_, &LessonRun::changed, this, &LessonView::refresh);
  connect(&shared_.document, &Document::appended, this, &LessonView::observe);
  connect(&shared_.document, &Document::reset, this, [this] {
    if (!replacing_) end();
  });
  connect(&shared_.theme, &Theme::changed, this, &LessonView::refresh);
  connect(&shared_.bench, &Bench::failed, this,
          [this](QObject* asker, const QString& channel, const QString& why) {
            if (asker != this) return;
            asking_.erase(channel.section(' ', 1).toInt());
            say(why);
          });
  list_lessons();
}

void LessonView::make_pages() {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(8, 8, 8, 8);
  pages_ = new QStackedWidget(this);
  all->addWidget(pages_);
  lessons_ = new QListWidget(pages_);
  lessons_->setObjectName("lesson-list");
  lessons_->setWordWrap(true);
  lessons_->setAccessibleName(tr("Lessons"));
  lessons_->setToolTip(tr("Enter begins a lesson"));
  lessons_->setSpacing(3);
  connect(lessons_, &QListWidget::itemActivated, this, [this](QListWidgetItem* item) {
    play(item->data(Qt::UserRole).toString());
  });
  pages_->addWidget(lessons_);

  auto* page = new QWidget(pages_);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(0, 0, 0, 0);
  head_ = new QLabel(page);
  head_->setWordWrap(true);
  QFont f = head_->font();
  f.setBold(true);
  f.setPointSizeF(f.pointSizeF() * 1.2);
  head_->setFont(f);
  score_ = new QLabel(page);
  bar_ = new QProgressBar(page);
  bar_->setTextVisible(false);
  bar_->setFixedHeight(6);
  bar_->setAccessibleName(tr("Progress in the lesson"));
  text_ = new QTextBrowser(page);
  text_->setObjectName("lesson-text");
  text_->setOpenLinks(false);
  text_->setAccessibleName(tr("Text of the step"));
  text_->setFrameShape(QFrame::NoFrame);
  problem_ = new QLabel(page);
  problem_->setWordWrap(true);
  panel_ = new LessonPanel(run_, shared_.theme, page);
  for (QWidget* w : std::initializer_list<QWidget*>{head_, score_, bar_}) column->addWidget(w);
  column->addWidget(text_, 1);
  column->addWidget(problem_);
  column->addWidget(panel_);
  pages_->addWidget(page);

  connect(text_, &QTextBrowser::anchorClicked, this, &LessonView::open_link);
  connect(panel_, &LessonPanel::predict_wanted, this, &LessonView::go_on);
  connect(panel_, &LessonPanel::next_wanted, this, &LessonView::go_on);
  connect(panel_, &LessonPanel::answer_wanted, this, [this] { run_.give_up(); });
  connect(panel_, &LessonPanel::apply_wanted, this, &LessonView::apply);
  connect(panel_, &LessonPanel::back_wanted, this, [this] { run_.back(); });
}

void LessonView::make_actions() {
  const auto action = [&](const QString& text, const QKeySequence& key, const QString& tip,
                          auto run) {
    auto* a = new QAction(text, this);
    a->setShortcut(key);
    a->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    a->setToolTip(tip);
    connect(a, &QAction::triggered, this, run);
    addAction(a);
    return a;
  };
  primary_ = action(tr("Go on"), QKeySequence("Ctrl+Return"),
                    tr("Predict, apply, or go to the next step"), [this] { go_on(); });
  back_ = action(tr("Step back"), QKeySequence("Ctrl+Backspace"), tr("The step before"),
                 [this] { run_.back(); });
  list_ = action(tr("All lessons"), QKeySequence(), tr("Ends this lesson and lists all"),
                 [this] { show_lessons(); });
}

void LessonView::list_lessons() {
  lessons_->clear();
  int number = 0;
  for (const std::string& name : lesson_names(lessons_dir())) {
    const auto l = load_lesson(lessons_dir(), name);
    if (!l) continue;
    auto* item = new QListWidgetItem(
        tr("%1. %2\n%3 (%4 minutes)")
            .arg(++number)
            .arg(QString::fromStdString(l->title), QString::fromStdString(l->about))
            .arg(l->minutes),
        lessons_);
    item->setData(Qt::UserRole, QString::fromStdString(name));
  }
  if (lessons_->count() > 0) lessons_->setCurrentRow(0);
}

void LessonView::show_lessons() {
  end();
  lessons_->setFocus();
}

void LessonView::end() {
  run_.start({});
  lesson_.reset();
  facts_.clear();
  asking_.clear();
  shown_step_ = -1;
  pages_->setCurrentIndex(0);
}

bool LessonView::play(const QString& name) {
  auto loaded = load_lesson(lessons_dir(), name.toStdString());
  if (!loaded) {
    lessons_->setToolTip(QString::fromStdString(loaded.error().text()));
    return false;
  }
  ++opening_;
  pages_->setCurrentIndex(1);
  head_->setText(QString::fromStdString(loaded->title));
  text_->setPlainText(tr("Preparing the lesson …"));
  panel_->hide();
  in_background<Expected<sched::Session>>(
      this, [l = *loaded] { return lesson_session(l); },
      [this, l = *loaded](Expected<sched::Session> s) { begin(l, std::move(s)); });
  return true;
}

void LessonView::begin(Lesson l, Expected<sched::Session> session) {
  --opening_;
  if (!session) {
    text_->setPlainText(tr("This lesson cannot begin: %1")
                            .arg(QString::fromStdString(session.error().text())));
    return;
  }
  lesson_ = std::make_shared<const Lesson>(l);
  // Something to apply transforms to, where the lesson has no search of its own.
  if (session->result.nodes.empty()) {
    sched::SearchNode root;
    root.decision = "the program as it was written";
    root.state = sched::NodeState::Expanded;
    session->result.nodes.push_back(root);
  }
  searched_ = std::make_shared<const sched::SearchResult>(session->result);
  facts_.clear();
  asking_.clear();
  shown_step_ = -1;
  replacing_ = true;
  shared_.document.set_session(*std::move(session), QString());
  replacing_ = false;
  panel_->show();
  pages_->setCurrentIndex(1);
  run_.start(std::move(l));
  panel_->focus_first();
}

void LessonView::enter_step() {
  const LessonStep& s = run_.step();
  shown_step_ = run_.at();
  say({});
  text_->verticalScrollBar()->setValue(0);
  const int node = s.select.empty()
                       ? -1
                       : run_.node_of(s.select, shared_.document.best().empty()
                                                    ? -1
                                                    : shared_.document.best().front());
  if (node >= 0) shared_.selection.select(node);
  if (!s.statement.empty())
    shared_.selection.select_statement(QString::fromStdString(s.statement));
  if (!s.view.empty())
    if (auto* dock = window()->findChild<QDockWidget*>(QString::fromStdString(s.view))) {
      dock->show();
      dock->raise();
    }
  ask(run_.at());
}

// Everything that the program has to say of a step: numbers in its text, what its transform will
// be, the answer of its question.
void LessonView::ask(int step) {
  asking_.insert(step);
  shared_.bench.ask<Facts>(
      this, QStringLiteral("lesson %1").arg(step),
      [lesson = lesson_, searched = searched_, done = run_.done(), step](const Workpiece& w,
                                                                        const CancelToken&) {
        Facts f;
        LessonWork work(*lesson, w.program, w.options, *searched, done);
        const LessonStep& s = lesson->steps[static_cast<size_t>(step)];
        const auto note = [&](const Refusal& r) { f.problem = QString::fromStdString(r.text()); };
        for (const LessonNumber& n : quoted(s.text)) {
          const auto v = work.number(n);
          if (!v) note(v.error());
          f.quoted[to_string(n)] = v ? lesson_value(n, *v) : "?";
        }
        if (s.transform) {
          if (auto o = work.outcome(s.id))
            f.asked = *std::move(o);
          else
            note(o.error());
        }
        if (s.question) {
          if (auto a = work.answer(s))
            f.answer = *std::move(a);
          else
            note(a.error());
        }
        return f;
      },
      [this, lesson = lesson_, step](Facts f) {
        if (lesson != lesson_) return;
        asking_.erase(step);
        take(step, std::move(f));
      });
}

void LessonView::take(int step, Facts f) {
  facts_[step] = f;
  if (!f.problem.isEmpty()) say(tr("The program could not compute this: %1").arg(f.problem));
  if (f.asked) run_.set_asked(step, *f.asked);
  if (f.answer) run_.set_answer(step, *f.answer);
  refresh();
  look_back();
}

void LessonView::say(const QString& text) {
  problem_->setText(text);
  problem_->setVisible(!text.isEmpty());
}

void LessonView::go_on() {
  if (!run_.playing() || !lesson_) {
    if (QListWidgetItem* item = lessons_->currentItem(); item && pages_->currentIndex() == 0)
      play(item->data(Qt::UserRole).toString());
    return;
  }
  using Phase = LessonRun::Phase;
  const Phase phase = run_.phase();
  if (phase == Phase::Predict) {
    const bool number = run_.step().question->kind == LessonQuestion::Kind::Number;
    const QString bad = number ? run_.predict(panel_->typed()) : run_.predict(panel_->chosen());
    say(bad);
    look_back();
  } else if (phase == Phase::Do) {
    apply();
  } else if (phase == Phase::Done) {
    if (run_.at() + 1 == run_.count()) return show_lessons();
    run_.next();
  }
  panel_->focus_first();
}

// Through whoever applies transforms in this window, so that it can be undone there.
HandSteps& LessonView::hand() {
  if (auto* there = window()->findChild<HandSteps*>(); there && there != own_hand_) return *there;
  if (!own_hand_)
    own_hand_ = new HandSteps(shared_.document, shared_.selection, shared_.bench,
                              shared_.filters.undo_stack(), this);
  return *own_hand_;
}

void LessonView::apply() {
  const LessonOutcome* asked = run_.playing() ? run_.asked(run_.at()) : nullptr;
  if (!asked || run_.phase() != LessonRun::Phase::Do) return;
  const int from = run_.node_of(run_.step().transform->from,
                                shared_.document.best().empty() ? -1
                                                                : shared_.document.best().front());
  if (from < 0) return say(tr("The schedule that this applies to is not there any more."));
  HandSteps& h = hand();
  connect(&h, &HandSteps::refused, this, &LessonView::say, Qt::UniqueConnection);
  h.apply(from, {asked->step});
}

void LessonView::observe(int first, int last) {
  if (!run_.playing() || replacing_) return;
  for (int id = first; id <= last; ++id) {
    const sched::SearchNode* n = shared_.document.node(id);
    if (!n || !n->by_hand) continue;
    QString why;
    if (run_.observe(id, n->parent, n->steps, *n, &why)) {
      say({});
      ask(run_.at());  // what the text says of it may have been waiting
      panel_->focus_first();
    } else if (!why.isEmpty()) {
      say(why);
    }
  }
}

void LessonView::look_back() {
  if (!run_.playing() || run_.phase() != LessonRun::Phase::Do) return;
  for (const sched::SearchNode& n : shared_.document.nodes())
    if (n.by_hand && run_.observe(n.id, n.parent, n.steps, n, nullptr)) return ask(run_.at());
}

void LessonView::open_link(const QUrl& link) {
  if (link.scheme() != "glossary") return;
  for (const GlossaryEntry& e : glossary_)
    if (QString::fromStdString(e.term) == link.path())
      QToolTip::showText(QCursor::pos(), QString("<p><b>%1</b><br>%2</p>")
                                             .arg(link.path(), QString::fromStdString(e.text)),
                         text_);
}

}  // namespace nautilus::gui
