#include "gui/models/lesson_run.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>

namespace nautilus::gui {

std::optional<double> number_typed(const QString& text) {
  static const QRegularExpression form(
      R"(^\s*([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*(?:/\s*([0-9]*\.?[0-9]+))?\s*([kKMGT]?)\s*([a-zA-Zµ/%]*)\s*$)");
  QString plain = text;
  plain.remove(QChar(0x202f)).remove(',');
  if (plain.trimmed().startsWith('x')) plain = plain.trimmed().mid(1);
  const auto m = form.match(plain);
  if (!m.hasMatch()) return std::nullopt;
  double v = m.captured(1).toDouble();
  if (!m.captured(2).isEmpty()) {
    const double by = m.captured(2).toDouble();
    if (by == 0) return std::nullopt;
    v /= by;
  }
  const QString scale = m.captured(3), unit = m.captured(4);
  if (scale == "k" || scale == "K") v *= 1e3;
  if (scale == "M") v *= 1e6;
  if (scale == "G") v *= 1e9;
  if (scale == "T") v *= 1e12;
  if (unit == "ms") v *= 1e-3;
  if (unit == "us" || unit == "µs") v *= 1e-6;
  if (unit == "ns") v *= 1e-9;
  return std::isfinite(v) ? std::optional(v) : std::nullopt;
}

void LessonRun::start(Lesson l) {
  lesson_ = std::move(l);
  progress_.assign(lesson_.steps.size(), {});
  asked_.clear();
  at_ = reached_ = 0;
  changed();
}

LessonRun::Phase LessonRun::phase_of(int k) const {
  const LessonStep& s = lesson_.steps[static_cast<size_t>(k)];
  const Progress& p = progress(k);
  if (s.question && !p.guess && !p.given_up) return Phase::Predict;
  if (s.transform && p.node < 0) return Phase::Do;
  if (s.question && !p.answer) return Phase::Wait;
  return Phase::Done;
}

bool LessonRun::finished() const {
  if (!playing()) return false;
  for (int k = 0; k < count(); ++k)
    if (phase_of(k) != Phase::Done) return false;
  return reached_ == count() - 1;
}

QString LessonRun::predict(const QString& number) {
  if (!playing() || phase() != Phase::Predict ||
      step().question->kind != LessonQuestion::Kind::Number)
    return tr("No number is asked for now.");
  const auto v = number_typed(number);
  if (!v) return tr("'%1' is no number: write 64, 1.5e6, 12 k or 3/4.").arg(number);
  progress_[static_cast<size_t>(at_)].guess = *v;
  changed();
  return {};
}

QString LessonRun::predict(int choice) {
  if (!playing() || phase() != Phase::Predict ||
      step().question->kind == LessonQuestion::Kind::Number)
    return tr("No choice is asked for now.");
  if (choice < 0 || choice >= static_cast<int>(step().question->choices.size()))
    return tr("Choose one of the answers first.");
  progress_[static_cast<size_t>(at_)].guess = choice;
  changed();
  return {};
}

void LessonRun::give_up() {
  if (!playing() || phase() != Phase::Predict) return;
  progress_[static_cast<size_t>(at_)].given_up = true;
  changed();
}

void LessonRun::next() {
  if (can_go_next()) go(at_ + 1);
}

void LessonRun::back() {
  if (at_ > 0) go(at_ - 1);
}

void LessonRun::go(int step) {
  const int limit = can_go_next() && at_ == reached_ ? reached_ + 1 : reached_;
  if (step < 0 || step > limit || step == at_) return;
  at_ = step;
  reached_ = std::max(reached_, at_);
  changed();
}

void LessonRun::set_answer(int step, Answer a) {
  if (step < 0 || step >= count() || !lesson_.steps[static_cast<size_t>(step)].question) return;
  progress_[static_cast<size_t>(step)].answer = std::move(a);
  changed();
}

void LessonRun::set_asked(int step, LessonOutcome asked) {
  asked_[step] = std::move(asked);
  changed();
}

const LessonOutcome* LessonRun::asked(int step) const {
  const auto it = asked_.find(step);
  return it == asked_.end() ? nullptr : &it->second;
}

bool LessonRun::observe(int node, int parent, const std::vector<poly::TransformStep>& steps,
                           const sched::SearchNode& made, QString* why) {
  const auto no = [&](const QString& w) {
    if (why) *why = w;
    return false;
  };
  if (!playing() || phase() != Phase::Do) return no({});
  const LessonOutcome* wanted = asked(at_);
  if (!wanted) return no({});
  if (parent != node_of(step().transform->from, -1) && step().transform->from != "best")
    return no(tr("This was applied to another schedule: select the one that the step shows."));
  if (steps.size() != 1 || !as_asked(wanted->step, steps[0], step().transform->free))
    return no(tr("A good try, but this step asks for %1.")
                  .arg(QString::fromStdString(step().transform->name)));
  LessonOutcome outcome;
  outcome.step = steps[0];
  outcome.reason = made.reason;
  outcome.verdict = made.state == sched::NodeState::Illegal ? "illegal"
                    : made.verdict == poly::VerdictKind::Repairable
                        ? "repaired"
                        : made.state == sched::NodeState::Unknown ? "unknown" : "legal";
  if (outcome.verdict != step().transform->expect)
    return no(tr("The step expects what is %1; this is %2: %3")
                  .arg(QString::fromStdString(step().transform->expect),
                       QString::fromStdString(outcome.verdict),
                       QString::fromStdString(outcome.reason)));
  Progress& p = progress_[static_cast<size_t>(at_)];
  p.node = node;
  p.outcome = std::move(outcome);
  changed();
  return true;
}

int LessonRun::node_of(const std::string& id, int best) const {
  if (id == "start") return 0;
  if (id == "best") return best;
  const int k = lesson_.step(id);
  return k < 0 ? -1 : progress(k).node;
}

LessonWork::Steps LessonRun::done() const {
  LessonWork::Steps out;
  for (int k = 0; k < count(); ++k)
    if (progress(k).node >= 0)
      out[lesson_.steps[static_cast<size_t>(k)].id] = progress(k).outcome.step;
  return out;
}

bool LessonRun::right(int k) const {
  const Progress& p = progress(k);
  const auto& q = lesson_.steps[static_cast<size_t>(k)].question;
  if (!q || !p.guess || !p.answer) return false;
  if (q->kind != LessonQuestion::Kind::Number) return *p.guess == p.answer->choice;
  const double off = std::abs(*p.guess - p.answer->number);
  return off <= q->tolerance * std::abs(p.answer->number) + 1e-9 * std::abs(p.answer->number);
}

QString LessonRun::judgement(int k) const {
  const Progress& p = progress(k);
  const auto& q = lesson_.steps[static_cast<size_t>(k)].question;
  if (!q || !p.answer) return {};
  QString answer;
  if (q->kind == LessonQuestion::Kind::Number) {
    answer = QString::fromStdString(p.answer->said.empty() ? "" : p.answer->said[0]);
  } else if (p.answer->choice >= 0) {
    answer =
        QString::fromStdString(q->choices[static_cast<size_t>(p.answer->choice)].text);
  }
  if (p.given_up) return tr("It is %1.").arg(answer);
  if (right(k)) return tr("Right: it is %1.").arg(answer);
  return tr("Not quite: it is %1.").arg(answer);
}

int LessonRun::rights() const {
  int n = 0;
  for (int k = 0; k < count(); ++k) n += right(k);
  return n;
}

int LessonRun::asked_questions() const {
  int n = 0;
  for (int k = 0; k < count(); ++k)
    n += progress(k).answer && (progress(k).guess || progress(k).given_up);
  return n;
}

QString LessonRun::broken(const sched::SearchOptions& now) const {
  for (const std::string& what : lesson_.locked) {
    if (what == "machine" && now.machine.id != lesson_.machine)
      return tr("This lesson is about %1; the machine is now %2.")
          .arg(QString::fromStdString(lesson_.machine), QString::fromStdString(now.machine.id));
    if (what == "sizes")
      for (auto& [name, value] : lesson_.sizes)
        if (const auto at = now.sizes.find(name); at == now.sizes.end() || at->second != value)
          return tr("This lesson is about %1 = %2; that was changed.")
              .arg(QString::fromStdString(name))
              .arg(value);
  }
  return {};
}

}  // namespace nautilus::gui
