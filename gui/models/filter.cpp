#include "gui/models/filter.h"

#include <QRegularExpression>
#include <QStringList>
#include <algorithm>
#include <array>

namespace nautilus::gui {
namespace {

using Field = Filter::Field;
using Op = Filter::Op;

constexpr std::array kFields = {"state", "seconds", "bound", "verdict", "limiter",
                                "knob",  "depth",   "below", "text"};
constexpr std::array kOps = {"=", "!=", "<", "<=", ">", ">=", "contains"};

bool is_number(Field f) {
  return f == Field::Seconds || f == Field::LowerBound || f == Field::Knob || f == Field::Depth;
}
bool is_name(Field f) { return f == Field::State || f == Field::Verdict; }

QStringList names_of(Field f) {
  QStringList out;
  const auto add = [&](std::string_view s) {
    out << QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size()));
  };
  if (f == Field::Verdict) {
    for (int k = 0; k <= static_cast<int>(poly::VerdictKind::Unknown); ++k)
      add(poly::verdict_name(static_cast<poly::VerdictKind>(k)));
    return out;
  }
  for (int k = 0; k <= static_cast<int>(sched::NodeState::Failed); ++k)
    add(sched::state_name(static_cast<sched::NodeState>(k)));
  return out << "best"
             << "measured"
             << "pinned"
             << "noted";
}

bool compare(double a, Op op, double b) {
  switch (op) {
    case Op::Equal:
      return a == b;
    case Op::NotEqual:
      return a != b;
    case Op::Less:
      return a < b;
    case Op::LessEqual:
      return a <= b;
    case Op::Greater:
      return a > b;
    case Op::GreaterEqual:
      return a >= b;
    case Op::Contains:
      return false;
  }
  return false;
}

bool is_below(const Document& d, const sched::SearchNode* n, int root) {
  for (; n && n->id >= root; n = d.node(n->parent))
    if (n->id == root) return true;
  return false;
}

bool in_state(const QString& state, const Document& d, const sched::SearchNode& n) {
  if (state == "best") return std::find(d.best().begin(), d.best().end(), n.id) != d.best().end();
  if (state == "measured") return d.measured(n.id).has_value();
  if (state == "pinned") return d.pinned(n.id);
  if (state == "noted") return !d.note(n.id).isEmpty();
  return state.toStdString() == sched::state_name(n.state);
}

bool has_text(const Document& d, const sched::SearchNode& n, const QString& text) {
  const auto in = [&](const std::string& s) {
    return QString::fromStdString(s).contains(text, Qt::CaseInsensitive);
  };
  return in(n.decision) || in(n.reason) || in(n.limiter) ||
         d.note(n.id).contains(text, Qt::CaseInsensitive) ||
         std::any_of(n.steps.begin(), n.steps.end(),
                     [&](const poly::TransformStep& s) { return in(s.name) || in(s.params); });
}

std::optional<double> number_of(const Filter& f, const Document& d, const sched::SearchNode& n) {
  const auto given = [](double v) { return v > 0 ? std::optional(v) : std::nullopt; };
  switch (f.field) {
    case Field::Seconds: {
      const auto m = d.measured(n.id);
      return m && !m->right.fails() ? std::optional(m->seconds) : given(n.seconds);
    }
    case Field::LowerBound:
      return given(n.lower_bound);
    case Field::Depth:
      return d.depth(n.id);
    case Field::Knob: {
      const auto k = n.knobs.find(f.name.toStdString());
      return k == n.knobs.end() ? std::nullopt : std::optional(static_cast<double>(k->second));
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

QString to_string(const Filter& f) {
  QString s = kFields[static_cast<size_t>(f.field)];
  if (f.field == Field::Knob) s += " " + f.name;
  if (f.field != Field::Below && f.op != Op::Contains)
    s += QString(" ") + kOps[static_cast<size_t>(f.op)];
  return s + " " + f.value;
}

std::optional<Filter> filter_from_string(const QString& s, QString* why) {
  const auto refuse = [&](const QString& reason) {
    if (why) *why = reason;
    return std::nullopt;
  };
  static const QRegularExpression form(R"(^\s*(\w+)\s*(.*?)\s*(<=|>=|!=|≠|≤|≥|<|>|=)\s*(.*?)\s*$)");
  static const QRegularExpression words(R"(^\s*(\w+)\s+(.*?)\s*$)");
  Filter f;
  auto m = words.match(s);
  const QString head = s.simplified().section(' ', 0, 0);
  const auto field_named = [](const QString& name) {
    return std::find(kFields.begin(), kFields.end(), name.toStdString()) - kFields.begin();
  };
  QString left, op = "contains";
  if (head == "text" || head == "limiter" || head == "below") {
    left = head;
    if (!m.hasMatch() || m.captured(2).isEmpty()) return refuse(head + " of what?");
    f.value = m.captured(2);
  } else if (const auto c = form.match(s); c.hasMatch()) {
    left = c.captured(1);
    f.name = c.captured(2);
    op = c.captured(3);
    f.value = c.captured(4);
  } else {
    return refuse(
        "write FIELD OPERATOR VALUE, for example: state != dominated, seconds < 2e-4, "
        "knob tile.i >= 64, depth <= 5, below 42, text rolling");
  }
  const auto field = field_named(left);
  if (field == static_cast<long>(kFields.size()))
    return refuse("there is no field '" + left +
                  "' (state, seconds, bound, verdict, limiter, knob, "
                  "depth, below, text)");
  f.field = static_cast<Field>(field);
  op = op == "≠" ? "!=" : op == "≤" ? "<=" : op == "≥" ? ">=" : op;
  f.op = static_cast<Op>(std::find(kOps.begin(), kOps.end(), op.toStdString()) - kOps.begin());
  if (f.value.isEmpty()) return refuse("a value is missing");
  if ((f.field == Field::Knob) == f.name.isEmpty())
    return refuse(f.name.isEmpty() ? "knob: which one?" : "'" + f.name + "' is too much");
  if (is_name(f.field)) {
    const QStringList names = names_of(f.field);
    if (!names.contains(f.value)) return refuse("'" + f.value + "' is none of " + names.join(", "));
    if (f.op != Op::Equal && f.op != Op::NotEqual) return refuse("names take = and != only");
  } else if (is_number(f.field) || f.field == Field::Below) {
    bool good = false;
    const double v = f.value.toDouble(&good);
    if (!good || v != v) return refuse("'" + f.value + "' is not a number");
    if (f.field == Field::Below && (f.value.toInt(&good) < 0 || !good))
      return refuse("below takes a node's number");
  }
  return f;
}

bool meets(const Filter& f, const Document& d, const sched::SearchNode& n) {
  switch (f.field) {
    case Field::State:
      return in_state(f.value, d, n) == (f.op == Op::Equal);
    case Field::Verdict:
      return (f.value.toStdString() == poly::verdict_name(n.verdict)) == (f.op == Op::Equal);
    case Field::Limiter:
      return QString::fromStdString(n.limiter).contains(f.value, Qt::CaseInsensitive);
    case Field::Text:
      return has_text(d, n, f.value);
    case Field::Below:
      return is_below(d, &n, f.value.toInt());
    default: {
      const auto v = number_of(f, d, n);
      return v && compare(*v, f.op, f.value.toDouble());
    }
  }
}

}  // namespace nautilus::gui
