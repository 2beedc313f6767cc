#include "gui/views/lesson_view.h"

#include <QDockWidget>
#include <QHBoxLayout>
#include <QScrollBar>
#include <QToolTip>
#include <QVBoxLayout>

#include "gui/models/background.h"

namespace nautilus::gui {

constexpr int kLeastWidth = 340;  // choices do not wrap

View* make_lesson_view(Shared shared, QWidget* parent) { return new LessonView(shared, parent); }

LessonView::LessonView(Shared shared, QWidget* parent)
    : View(shared, QStringLiteral("lesson"), tr("Lesson"), parent), run_(this) {
  make_pages();
  make_actions();
  if (auto g = load_glossary(lessons_dir())) glossary_ = *std::move(g);
  connect(&run_, &LessonRun::changed, this, &LessonView::refresh);
  connect(&shared_.document, &Document::appended, this, &LessonView::observe);
  connect(&shared_.document, &Document::reset, this, [this] {
    if (replacing_) return;
    drop_preparation();
    if (pages_->currentIndex() != 0) end();
  });
  connect(&shared_.theme, &Theme::changed, this, &LessonView::refresh);
  when_bench_fails([this](const QString& channel, const QString& why) {
    if (channel.startsWith("lesson")) asking_.erase(channel.section(' ', 1).toInt());
    say(why);
  });
  list_lessons();
}

void LessonView::make_pages() {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(8, 8, 8, 8);
  setMinimumWidth(kLeastWidth);
  pages_ = new QStackedWidget(this);
  all->addWidget(pages_);
  lessons_ = new QListWidget(pages_);
  lessons_->setObjectName("lesson-list");
  lessons_->setWordWrap(true);
  lessons_->setAccessibleName(tr("Lessons"));
  lessons_->setToolTip(tr("Enter begins a lesson"));
  lessons_->setSpacing(3);
  connect(lessons_, &QListWidget::itemActivated, this,
          [this](QListWidgetItem* item) { play(item->data(Qt::UserRole).toString()); });
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
  locks_ = new QLabel(page);
  locks_->setObjectName("lesson-locks");
  locks_->setWordWrap(true);
  locks_->setToolTip(tr("What this lesson speaks about cannot be changed while it is played"));
  score_ = new QLabel(page);
  score_->setWordWrap(true);
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
  panel_ = new LessonPanel(
      run_, shared_.theme, [this](const std::string& text) { return fill(text, false); }, page);
  for (QWidget* w : std::initializer_list<QWidget*>{head_, locks_, score_, bar_})
    column->addWidget(w);
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
  add_command(tr("Go on"), QKeySequence("Ctrl+Return"),
              tr("Predict, apply, or go to the next step"), [this] { go_on(); });
  add_command(tr("Step back"), QKeySequence("Ctrl+Backspace"), tr("The step before"),
              [this] { run_.back(); });
  add_command(tr("Begin again"), {}, tr("This lesson from its first step"), [this] { restart(); });
  add_command(tr("All lessons"), {}, tr("Ends this lesson and lists all"),
              [this] { show_lessons(); });
}

void LessonView::list_lessons() {
  lessons_->clear();
  int number = 0;
  for (const std::string& name : lesson_names(lessons_dir())) {
    const auto l = load_lesson(lessons_dir(), name);
    if (!l) continue;
    QString text = tr("%1. %2\n%3 (%4 minutes)")
                       .arg(++number)
                       .arg(QString::fromStdString(l->title), QString::fromStdString(l->about))
                       .arg(l->minutes);
    if (const auto left = kept_.find(name); left != kept_.end())
      text += tr("\n▸ go on at step %1 of %2").arg(left->second.at + 1).arg(l->steps.size());
    auto* item = new QListWidgetItem(text, lessons_);
    item->setData(Qt::UserRole, QString::fromStdString(name));
  }
  for (const auto& [name, why] : damaged_lessons(lessons_dir())) {
    auto* item = new QListWidgetItem(
        tr("✗ %1\n%2").arg(QString::fromStdString(name), QString::fromStdString(why)), lessons_);
    item->setFlags(Qt::ItemIsSelectable);
    item->setToolTip(tr("This file of lessons cannot be read"));
  }
  if (lessons_->count() > 0) lessons_->setCurrentRow(0);
}

void LessonView::show_lessons() {
  end();
  lessons_->setFocus();
}

void LessonView::end() {
  const bool playing = run_.playing() && lesson_;
  if (playing && run_.reached() > 0 && !run_.finished())
    kept_[lesson_->name] = run_.keep();
  else if (playing)
    kept_.erase(lesson_->name);
  run_.start({});
  lesson_.reset();
  facts_.clear();
  asking_.clear();
  shown_step_ = -1;
  if (playing) locked({});
  list_lessons();
  pages_->setCurrentIndex(0);
}

bool LessonView::plays(const QString& name) const {
  return run_.playing() && lesson_ && lesson_->name == name.toStdString();
}

bool LessonView::restart() {
  if (!run_.playing() || !lesson_) return false;
  const std::string name = lesson_->name;
  end();
  kept_.erase(name);
  return play(QString::fromStdString(name));
}

bool LessonView::play(const QString& name) {
  if (plays(name)) {
    pages_->setCurrentIndex(1);
    enter_step();
    return true;
  }
  auto loaded = load_lesson(lessons_dir(), name.toStdString());
  if (!loaded) return false;
  end();
  const auto left = kept_.find(loaded->name);
  const LessonRun::Kept kept = left == kept_.end() ? LessonRun::Kept{} : left->second;
  ++opening_;
  pages_->setCurrentIndex(1);
  head_->setText(QString::fromStdString(loaded->title));
  for (QLabel* l : {locks_, score_}) l->clear();
  say({});
  text_->setPlainText(tr("Preparing the lesson …"));
  panel_->hide();
  drop_preparation();
  stop_ = std::make_shared<std::atomic<bool>>(false);
  works(tr("preparing the lesson “%1”").arg(head_->text()));
  in_background<Prepared>(
      this, [l = *loaded, kept, stop = stop_] { return prepare(l, kept, *stop); },
      [this, l = *loaded, stop = stop_](Prepared made) {
        --opening_;
        if (stop->load()) return;
        stop_.reset();
        works({});
        begin(l, std::move(made));
      });
  return true;
}

// What is being prepared comes too late. False: nothing is.
bool LessonView::drop_preparation() {
  if (!stop_ || stop_->exchange(true)) return false;
  works({});
  return true;
}

void LessonView::give_up() {
  if (drop_preparation()) show_lessons();
}

LessonView::Prepared LessonView::prepare(const Lesson& l, LessonRun::Kept kept,
                                         std::atomic<bool>& stop) {
  Prepared out{lesson_session(l, &stop), nullptr, std::move(kept)};
  if (!out.session) return out;
  // Something to apply transforms to, where the lesson has no search of its own.
  if (out.session->result.nodes.empty()) {
    sched::SearchNode root;
    root.decision = "the program as it was written";
    root.state = sched::NodeState::Expanded;
    out.session->result.nodes.push_back(root);
  }
  out.searched = std::make_shared<const sched::SearchResult>(out.session->result);
  LessonWork::Steps done;
  for (size_t k = 0; k < out.kept.progress.size() && k < l.steps.size(); ++k)
    if (out.kept.progress[k].node >= 0) done[l.steps[k].id] = out.kept.progress[k].outcome.step;
  const auto nodes = do_again(*out.session, l, done);
  for (size_t k = 0; k < out.kept.progress.size() && k < l.steps.size(); ++k) {
    const auto node = nodes.find(l.steps[k].id);
    out.kept.progress[k].node = node == nodes.end() ? -1 : node->second;
  }
  return out;
}

void LessonView::begin(Lesson l, Prepared made) {
  if (!made.session) {
    text_->setMarkdown(tr("This lesson cannot begin: %1\n\n[All lessons](lessons:all)")
                           .arg(QString::fromStdString(made.session.error().text())));
    return;
  }
  lesson_ = std::make_shared<const Lesson>(l);
  searched_ = std::move(made.searched);
  facts_.clear();
  asking_.clear();
  shown_step_ = -1;
  replacing_ = true;
  shared_.document.set_session(*std::move(made.session), QString());
  replacing_ = false;
  if (!l.locked.empty())
    locked(tr("The lesson “%1” is about these sizes and this machine; leave "
              "it (All lessons, in its menu) to change them.")
               .arg(QString::fromStdString(l.title)));
  panel_->show();
  pages_->setCurrentIndex(1);
  run_.start(std::move(l), made.kept);
  panel_->focus_first();
}

// The best plan of the lesson's search, whatever was found since.
int LessonView::best_node() const {
  return searched_ && !searched_->best.empty() ? searched_->best.front() : -1;
}

void LessonView::enter_step() {
  const LessonStep& s = run_.step();
  shown_step_ = run_.at();
  say({});
  text_->verticalScrollBar()->setValue(0);
  const int node = s.select.empty() ? -1 : run_.node_of(s.select, best_node());
  if (node >= 0) shared_.selection.select(node);
  if (!s.statement.empty()) shared_.selection.select_statement(QString::fromStdString(s.statement));
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
        for (const LessonNumber& n : quoted(s)) {
          const auto v = work.quote(n);
          if (!v) note(v.error());
          f.quoted[to_string(n)] = v ? *v : "?";
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
  const int from = run_.node_of(run_.step().transform->from, best_node());
  if (from < 0) return say(tr("The schedule that this applies to is not there any more."));
  HandSteps& h = hand();
  connect(&h, &HandSteps::refused, this, &LessonView::say, Qt::UniqueConnection);
  h.apply(from, {asked->step});
}

void LessonView::observe(int first, int last) {
  if (!run_.playing() || replacing_) return;
  for (int id = first; id <= last; ++id)
    if (const sched::SearchNode* n = shared_.document.node(id); n && n->by_hand) consider(id, true);
}

void LessonView::look_back() {
  if (!run_.playing() || run_.phase() != LessonRun::Phase::Do) return;
  for (const sched::SearchNode& n : shared_.document.nodes())
    if (n.by_hand && consider(n.id, false)) return;
}

// Whether a candidate is what the step waits for; `aloud`: says why not.
bool LessonView::consider(int id, bool aloud, const LessonOutcome* came) {
  const sched::SearchNode* n = shared_.document.node(id);
  if (!n || !run_.playing()) return false;
  QString why;
  const LessonRun::Seen seen = run_.observe(id, n->parent, n->steps, *n, &why, came);
  if (seen == LessonRun::Seen::Yes) {
    say({});
    ask(run_.at());  // what the text says of it may have been waiting
    panel_->focus_first();
    return true;
  }
  if (seen == LessonRun::Seen::Look)
    look_into(id, aloud);
  else if (aloud && !why.isEmpty())
    say(why);
  return false;
}

// Asks the bench what a request in other words comes to.
void LessonView::look_into(int id, bool aloud) {
  const int at = run_.at();
  shared_.bench.ask<std::optional<LessonOutcome>>(
      this, QStringLiteral("look %1").arg(id),
      [lesson = lesson_, searched = searched_, done = run_.done(), step = run_.step().id,
       request = shared_.document.node(id)->steps[0]](const Workpiece& w, const CancelToken&) {
        LessonWork work(*lesson, w.program, w.options, *searched, done);
        const auto o = work.outcome_of(step, request);
        return o ? std::optional(*o) : std::nullopt;
      },
      [this, lesson = lesson_, at, id, aloud](std::optional<LessonOutcome> came) {
        if (lesson != lesson_ || at != run_.at()) return;
        const LessonOutcome nothing;
        consider(id, aloud, came ? &*came : &nothing);
      });
}

void LessonView::open_link(const QUrl& link) {
  if (link.scheme() == "lessons") return show_lessons();
  if (link.scheme() != "glossary") return;
  for (const GlossaryEntry& e : glossary_)
    if (QString::fromStdString(e.term) == link.path())
      QToolTip::showText(
          QCursor::pos(),
          QString("<p><b>%1</b><br>%2</p>").arg(link.path(), QString::fromStdString(e.text)),
          text_);
}

}  // namespace nautilus::gui
