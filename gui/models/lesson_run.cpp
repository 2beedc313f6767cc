#include "gui/models/lesson_run.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>

namespace nautilus::gui {

namespace {

// What is written behind a number: the power of ten it stands for, and what it counts besides.
struct Unit {
  int power = 0;
  double by = 1;
};
std::optional<Unit> unit_typed(QString t) {
  static const std::map<QString, Unit> words{{"", {}},
                                             {"%", {}},
                                             {"s", {}},
                                             {"x", {}},
                                             {"times", {}},
                                             {"bytes", {}},
                                             {"byte", {}},
                                             {"ms", {-3, 1}},
                                             {"us", {-6, 1}},
                                             {"µs", {-6, 1}},
                                             {"μs", {-6, 1}},
                                             {"ns", {-9, 1}},
                                             {"thousand", {3, 1}},
                                             {"million", {6, 1}},
                                             {"billion", {9, 1}},
                                             {"KiB", {0, 1024}},
                                             {"kiB", {0, 1024}},
                                             {"MiB", {0, 1048576}},
                                             {"GiB", {0, 1073741824}}};
  if (const auto known = words.find(t); known != words.end()) return known->second;
  Unit out;
  for (const auto& [letter, power] : {std::pair('k', 3), {'K', 3}, {'M', 6}, {'G', 9}, {'T', 12}})
    if (t.startsWith(QLatin1Char(letter))) {
      out.power = power;
      t = t.mid(1).trimmed();
      break;
    }
  static const QStringList plain{"", "B", "B/s", "FLOP", "FLOP/s", "FLOP/B", "FLOPs", "bytes"};
  return plain.contains(t) ? std::optional(out) : std::nullopt;
}

}  // namespace

std::optional<double> number_typed(const QString& text) {
  static const QRegularExpression factor(
      R"(\G\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE]([-+]?[0-9]{1,4}))?\s*)");
  QString plain = text.trimmed();
  plain.remove(QChar(0x202f)).remove(QChar(0xa0)).remove(',');
  if (plain.startsWith('x') || plain.startsWith(QChar(0xd7))) plain = plain.mid(1);
  struct Factor {
    QString mantissa;
    int power;
    bool below;
  };
  std::vector<Factor> factors;
  qsizetype at = 0;
  for (bool below = false;;) {
    const auto m = factor.match(plain, at);
    if (!m.hasMatch()) return std::nullopt;
    factors.push_back({m.captured(1), m.captured(2).toInt(), below});
    at = m.capturedEnd();
    const QChar next = at < plain.size() ? plain[at] : QChar();
    below = next == '/';
    if (!below && next != '*' && next != QChar(0xd7) &&
        !(next == 'x' && factor.match(plain, at + 1).hasMatch()))
      break;
    ++at;
  }
  const auto unit = unit_typed(plain.mid(at).trimmed());
  if (!unit) return std::nullopt;
  // In decimal, so that 5 us is what 5e-6 is.
  factors.front().power += unit->power;
  double v = unit->by;
  for (const Factor& f : factors) {
    const double one = QString("%1e%2").arg(f.mantissa).arg(f.power).toDouble();
    if (f.below && one == 0) return std::nullopt;
    v = f.below ? v / one : v * one;
  }
  return std::isfinite(v) ? std::optional(v) : std::nullopt;
}

void LessonRun::start(Lesson l) {
  lesson_ = std::move(l);
  progress_.assign(lesson_.steps.size(), {});
  asked_.clear();
  at_ = reached_ = 0;
  changed();
}

void LessonRun::start(Lesson l, const Kept& kept) {
  lesson_ = std::move(l);
  progress_ = kept.progress;
  progress_.resize(lesson_.steps.size());
  asked_.clear();
  reached_ = std::clamp(kept.reached, 0, count() - 1);
  // Not beyond the first step that is not done any more.
  for (int k = reached_ - 1; k >= 0; --k)
    if (phase_of(k) != Phase::Done && phase_of(k) != Phase::Wait) reached_ = k;
  at_ = std::clamp(kept.at, 0, reached_);
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
  if (!v) return tr("'%1' is no number: write 64, 1.5e6, 12 k, 3 * 64 or 3/4.").arg(number);
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

LessonRun::Seen LessonRun::observe(int node, int parent,
                                   const std::vector<poly::TransformStep>& steps,
                                   const sched::SearchNode& made, QString* why,
                                   const LessonOutcome* came) {
  const auto no = [&](const QString& w, Seen seen = Seen::No) {
    if (why) *why = w;
    return seen;
  };
  if (!playing() || phase() != Phase::Do) return no({});
  const LessonOutcome* wanted = asked(at_);
  if (!wanted) return no({});
  if (parent != node_of(step().transform->from, -1) && step().transform->from != "best")
    return no(tr("This was applied to another schedule: select the one that the step shows."));
  const bool alike = steps.size() == 1 && steps[0].name == wanted->step.name;
  const bool same = came && came->verdict == wanted->verdict &&
                    (came->hash ? came->hash == wanted->hash : came->reason == wanted->reason);
  if (!alike || !(same || as_asked(wanted->step, steps[0], step().transform->free)))
    return no(tr("A good try, but this step asks for %1 with other parameters: see under Do.")
                  .arg(QString::fromStdString(step().transform->name)),
              alike && !came ? Seen::Look : Seen::No);
  LessonOutcome outcome;
  outcome.step = steps[0];
  // The verdict's words; a candidate's own may be about its cost.
  const bool exactly = as_asked(wanted->step, steps[0], {});
  outcome.reason = came && !came->reason.empty()        ? came->reason
                   : exactly && !wanted->reason.empty() ? wanted->reason
                                                        : made.reason;
  outcome.verdict = made.state == sched::NodeState::Illegal         ? "illegal"
                    : made.verdict == poly::VerdictKind::Repairable ? "repaired"
                    : made.state == sched::NodeState::Unknown       ? "unknown"
                                                                    : "legal";
  if (outcome.verdict != step().transform->expect)
    return no(tr("The step expects what is %1; this is %2: %3")
                  .arg(QString::fromStdString(step().transform->expect),
                       QString::fromStdString(outcome.verdict),
                       QString::fromStdString(outcome.reason)));
  Progress& p = progress_[static_cast<size_t>(at_)];
  p.node = node;
  p.outcome = std::move(outcome);
  changed();
  return Seen::Yes;
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
    answer = QString::fromStdString(q->choices[static_cast<size_t>(p.answer->choice)].text);
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

int LessonRun::predictions() const {
  int n = 0;
  for (int k = 0; k < count(); ++k) n += progress(k).answer && progress(k).guess;
  return n;
}

// What nobody predicted is not wrong.
QString LessonRun::score() const {
  const int made = predictions(), without = asked_questions() - made;
  QStringList out;
  if (made > 0)
    out << (made == 1 ? tr("%1 of 1 prediction right").arg(rights())
                      : tr("%1 of %2 predictions right").arg(rights()).arg(made));
  if (without > 0)
    out << (without == 1 ? tr("1 answer without a prediction")
                         : tr("%1 answers without a prediction").arg(without));
  return out.join(QStringLiteral("  ·  "));
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
