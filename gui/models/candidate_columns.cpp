#include "gui/models/candidate_columns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "gui/models/quantity.h"
#include "gui/models/theme.h"

namespace nautilus::gui {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

QString Column::id() const {
  switch (what) {
    case What::Id:
      return QStringLiteral("id");
    case What::Decision:
      return QStringLiteral("decision");
    case What::State:
      return QStringLiteral("state");
    case What::Verdict:
      return QStringLiteral("verdict");
    case What::Predicted:
      return QStringLiteral("predicted");
    case What::Bound:
      return QStringLiteral("bound");
    case What::Measured:
      return QStringLiteral("measured");
    case What::Ratio:
      return QStringLiteral("ratio");
    case What::Limiter:
      return QStringLiteral("limiter");
    case What::Depth:
      return QStringLiteral("depth");
    case What::Intensity:
      return QStringLiteral("intensity.") + name;
    case What::Achieved:
      return QStringLiteral("achieved");
    case What::Knob:
      return QStringLiteral("knob.") + name;
  }
  return {};
}

QString Column::title() const {
  switch (what) {
    case What::Id:
      return QStringLiteral("#");
    case What::Decision:
      return QStringLiteral("Decision");
    case What::State:
      return QStringLiteral("State");
    case What::Verdict:
      return QStringLiteral("Verdict");
    case What::Predicted:
      return QStringLiteral("Predicted");
    case What::Bound:
      return QStringLiteral("Bound");
    case What::Measured:
      return QStringLiteral("Measured");
    case What::Ratio:
      return QStringLiteral("Meas./pred.");
    case What::Limiter:
      return QStringLiteral("Limiter");
    case What::Depth:
      return QStringLiteral("Depth");
    case What::Intensity:
      return QStringLiteral("AI ") + name;
    case What::Achieved:
      return QStringLiteral("FLOP/s");
    case What::Knob:
      return name;
  }
  return {};
}

QString Column::tip() const {
  switch (what) {
    case What::Id:
      return QStringLiteral("Number of the candidate, in the order of the search");
    case What::Decision:
      return QStringLiteral("What was decided last");
    case What::State:
      return QStringLiteral("What became of it");
    case What::Verdict:
      return QStringLiteral("Verdict of the legality check");
    case What::Predicted:
      return QStringLiteral("Predicted time, by the cost model");
    case What::Bound:
      return QStringLiteral("Lower bound of the time: compulsory traffic and operations only");
    case What::Measured:
      return QStringLiteral("Measured time, median");
    case What::Ratio:
      return QStringLiteral("Measured over predicted time");
    case What::Limiter:
      return QStringLiteral("What limits the predicted time");
    case What::Depth:
      return QStringLiteral("Decisions from the root");
    case What::Intensity:
      return QStringLiteral("Arithmetic intensity at level %1: useful FLOP a byte").arg(name);
    case What::Achieved:
      return QStringLiteral("Useful FLOP/s at the predicted time");
    case What::Knob:
      return QStringLiteral("Numeric choice %1").arg(name);
  }
  return {};
}

bool Column::numeric() const {
  return what != What::Decision && what != What::State && what != What::Verdict &&
         what != What::Limiter;
}

bool Column::log() const {
  return what == What::Predicted || what == What::Bound || what == What::Measured ||
         what == What::Ratio || what == What::Intensity || what == What::Achieved ||
         (what == What::Knob && name.contains(QLatin1String("tile")));
}

std::vector<Column> columns_without_knobs(const Document& d) {
  using What = Column::What;
  std::vector<Column> out;
  for (What w : {What::Id, What::Decision, What::State, What::Verdict, What::Predicted, What::Bound,
                 What::Measured, What::Ratio, What::Limiter, What::Depth, What::Achieved})
    out.push_back({w, {}});
  for (const sched::MemoryLevel& l : d.session().options.machine.levels)
    out.push_back({What::Intensity, QString::fromStdString(l.name)});
  return out;
}

std::vector<Column> columns_of(const Document& d) {
  std::vector<Column> out = columns_without_knobs(d);
  for (Column& c : new_knobs(d, 0, d.nodes().size(), out)) out.push_back(std::move(c));
  return out;
}

std::vector<Column> new_knobs(const Document& d, size_t first, size_t end,
                              const std::vector<Column>& known) {
  std::set<std::string> have, names;
  for (const Column& c : known)
    if (c.what == Column::What::Knob) have.insert(c.name.toStdString());
  const sched::Knobs* last = nullptr;  // most nodes have the names of the one before
  for (size_t n = first; n < std::min(end, d.nodes().size()); ++n) {
    const sched::Knobs& knobs = d.nodes()[n].knobs;
    const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
    if (knobs.empty() ||
        (last && std::equal(knobs.begin(), knobs.end(), last->begin(), last->end(), same_name)))
      continue;
    last = &knobs;
    for (const auto& [name, value] : knobs)
      if (!have.count(name)) names.insert(name);
  }
  std::vector<Column> out;
  for (const std::string& n : names) out.push_back({Column::What::Knob, QString::fromStdString(n)});
  return out;
}

namespace {

double intensity_at(const sched::SearchNode& n, std::string_view level) {
  for (const sched::RooflinePoint& p : n.points)
    if (p.level == level) return p.intensity;
  return kNone;
}

double knob_of(const sched::SearchNode& n, const std::string& name) {
  const auto at = n.knobs.find(name);
  return at == n.knobs.end() ? kNone : double(at->second);
}

}  // namespace

// The name is converted once, not for each node.
std::vector<double> numbers_of(const Document& d, const std::vector<int>& nodes, const Column& c) {
  std::vector<double> out;
  out.reserve(nodes.size());
  const std::string name = c.name.toStdString();
  for (int id : nodes) {
    const sched::SearchNode& n = d.nodes()[size_t(id)];
    out.push_back(c.what == Column::What::Knob        ? knob_of(n, name)
                  : c.what == Column::What::Intensity ? intensity_at(n, name)
                                                      : number_of(d, n, c));
  }
  return out;
}

double number_of(const Document& d, const sched::SearchNode& n, const Column& c) {
  const auto positive = [](double v) { return v > 0 ? v : kNone; };
  switch (c.what) {
    case Column::What::Id:
      return n.id;
    case Column::What::Predicted:
      return positive(n.seconds);
    case Column::What::Bound:
      return positive(n.lower_bound);
    case Column::What::Depth:
      return d.depth(n.id);
    case Column::What::Measured: {
      const auto m = d.measured(n.id);
      return m && !m->right.fails() ? m->seconds : kNone;
    }
    case Column::What::Ratio: {
      const auto m = d.measured(n.id);
      return m && !m->right.fails() && n.seconds > 0 ? m->seconds / n.seconds : kNone;
    }
    case Column::What::Intensity:
      return intensity_at(n, c.name.toStdString());
    case Column::What::Achieved:
      return n.points.empty() ? kNone : n.points[0].achieved;
    case Column::What::Knob:
      return knob_of(n, c.name.toStdString());
    default:
      return kNone;
  }
}

std::string_view text_of(const sched::SearchNode& n, const Column& c) {
  switch (c.what) {
    case Column::What::Decision:
      return n.decision;
    case Column::What::State:
      return sched::state_name(n.state);
    case Column::What::Verdict:
      return poly::verdict_name(n.verdict);
    case Column::What::Limiter:
      return n.limiter;
    default:
      return {};
  }
}

QString shown_number(double v, const Column& c) {
  if (std::isnan(v)) return {};
  switch (c.what) {
    case Column::What::Predicted:
    case Column::What::Bound:
    case Column::What::Measured:
      return seconds_text(v);
    case Column::What::Ratio:
      return ratio_text(v) + QStringLiteral("×");
    case Column::What::Intensity:
      return plain_text(v, {});
    case Column::What::Achieved:
      return number_text(v);
    default:
      return whole_text(v);
  }
}

QString shown(const Document& d, const sched::SearchNode& n, const Column& c) {
  if (c.numeric()) return shown_number(number_of(d, n, c), c);
  if (c.what == Column::What::State)
    return Theme::glyph(n.state) + QLatin1Char(' ') + Theme::state_words(n.state);
  const std::string_view t = text_of(n, c);
  return QString::fromUtf8(t.data(), qsizetype(t.size()));
}

std::optional<Filter> filter_like(const Document& d, const sched::SearchNode& n, const Column& c) {
  using Field = Filter::Field;
  using Op = Filter::Op;
  const auto text = [&] {
    const std::string_view t = text_of(n, c);
    return QString::fromUtf8(t.data(), qsizetype(t.size()));
  };
  const auto number = [&] { return QString::number(number_of(d, n, c), 'g', 6); };
  switch (c.what) {
    case Column::What::Id:
      return Filter{Field::Below, Op::Equal, {}, QString::number(n.id)};
    case Column::What::State:
      return Filter{Field::State, Op::Equal, {}, text()};
    case Column::What::Verdict:
      return Filter{Field::Verdict, Op::Equal, {}, text()};
    case Column::What::Depth:
      return Filter{Field::Depth, Op::Equal, {}, number()};
    case Column::What::Limiter: {
      const QString kind = text().section(QLatin1Char(':'), 0, 0);
      if (kind.isEmpty()) return std::nullopt;
      return Filter{Field::Limiter, Op::Contains, {}, kind};
    }
    case Column::What::Decision:
      if (n.decision.empty()) return std::nullopt;
      return Filter{Field::Text, Op::Contains, {}, text()};
    case Column::What::Predicted:
    case Column::What::Bound:
      if (std::isnan(number_of(d, n, c))) return std::nullopt;
      return Filter{c.what == Column::What::Bound ? Field::LowerBound : Field::Seconds,
                    Op::LessEqual,
                    {},
                    // Rounded up, so that this one stays.
                    QString::number(number_of(d, n, c) * 1.000001, 'g', 7)};
    case Column::What::Knob:
      if (std::isnan(number_of(d, n, c))) return std::nullopt;
      return Filter{Field::Knob, Op::Equal, c.name, number()};
    default:
      return std::nullopt;
  }
}

}  // namespace nautilus::gui
