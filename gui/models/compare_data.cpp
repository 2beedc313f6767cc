#include "gui/models/compare_data.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "gui/models/quantity.h"

namespace nautilus::gui {

namespace {

constexpr double kNoFigure = std::numeric_limits<double>::quiet_NaN();

double value_of(const std::map<std::string, double>& m, const std::string& key) {
  const auto at = m.find(key);
  return at == m.end() ? kNoFigure : at->second;
}

class Metrics {
 public:
  explicit Metrics(const std::vector<Compared>& c) : c_(c) {}
  template <class F>
  void add(const QString& group, const QString& name, Unit unit, Better better, F of,
           const QString& tip = {}) {
    Metric m{group, name, tip, unit, better, {}};
    bool any = false;
    for (size_t k = 0; k < c_.size(); ++k) {
      m.values.push_back(of(k));
      any |= !std::isnan(m.values.back());
    }
    if (any) out_.push_back(std::move(m));
  }
  // Of the cost model's map `map` every key that one of them has.
  void each(const QString& group, Unit unit, Better better,
            const std::function<const std::map<std::string, double>&(const sched::Cost&)>& map) {
    std::set<std::string> keys;
    for (const Compared& c : c_)
      if (c.stages.cost)
        for (const auto& [k, v] : map(*c.stages.cost)) keys.insert(k);
    for (const std::string& key : keys)
      add(group, QString::fromStdString(key), unit, better, [&](size_t k) {
        const auto& cost = c_[k].stages.cost;
        return cost ? value_of(map(*cost), key) : kNoFigure;
      });
  }
  std::vector<Metric> take() { return std::move(out_); }

 private:
  const std::vector<Compared>& c_;
  std::vector<Metric> out_;
};

}  // namespace

QString metric_text(double v, Unit unit) {
  switch (unit) {
    case Unit::Seconds:
      return seconds_text(v);
    case Unit::Bytes:
      return bytes_text(v);
    case Unit::Share:
      return percent_text(v);
    case Unit::Intensity:
      return plain_text(v, {});
    case Unit::Rate:
      return si(v, QStringLiteral("FLOP/s"));
    case Unit::Count:
      return number_text(v);
  }
  return {};
}

double Metric::delta(size_t k) const {
  const double a = values.empty() ? kNoFigure : values[0],
               b = k < values.size() ? values[k] : kNoFigure;
  if (std::isnan(a) || std::isnan(b)) return kNoFigure;
  if (a == b) return 0;
  if (a <= 0 || b <= 0) return b > a ? 1 : -1;
  return std::clamp(std::log2(b / a), -1.0, 1.0);
}

QString Metric::delta_text(size_t k) const {
  const double d = delta(k);
  if (std::isnan(d) || k == 0) return {};
  if (d == 0) return QStringLiteral("same");
  if (values[0] <= 0 || values[k] <= 0)
    return d > 0 ? QStringLiteral("more") : QStringLiteral("less");
  const QString digits = ratio_text(values[k] / values[0]);
  // No digit that is shown tells them apart.
  return digits == QStringLiteral("1.00") ? QStringLiteral("about the same")
                                          : QStringLiteral("×") + digits;
}

std::vector<Metric> compare_metrics(const std::vector<Compared>& c,
                                    const std::vector<NodeFigures>& figures) {
  Metrics m(c);
  const auto some = [](double v) { return v > 0 ? v : kNoFigure; };
  const QString time = QStringLiteral("Time"), block = QStringLiteral("Block");
  m.add(time, QStringLiteral("predicted"), Unit::Seconds, Better::Less,
        [&](size_t k) { return some(figures[k].predicted); });
  m.add(time, QStringLiteral("lower bound"), Unit::Seconds, Better::Neither,
        [&](size_t k) { return some(figures[k].bound); });
  m.add(time, QStringLiteral("measured"), Unit::Seconds, Better::Less,
        [&](size_t k) { return some(figures[k].measured); });
  m.add(time, QStringLiteral("measured / predicted"), Unit::Share, Better::Neither,
        [&](size_t k) { return some(figures[k].measured) / some(figures[k].predicted); });
  m.each(
      QStringLiteral("Seconds by unit"), Unit::Seconds, Better::Less,
      [](const sched::Cost& x) -> const auto& { return x.unit_seconds; });
  std::vector<std::string> levels;
  for (const NodeFigures& f : figures)
    for (const sched::RooflinePoint& p : f.points)
      if (std::find(levels.begin(), levels.end(), p.level) == levels.end())
        levels.push_back(p.level);
  for (const std::string& l : levels)
    m.add(QStringLiteral("Arithmetic intensity"), QString::fromStdString(l), Unit::Intensity,
          Better::More, [&](size_t k) {
            for (const sched::RooflinePoint& p : figures[k].points)
              if (p.level == l) return p.intensity;
            return kNoFigure;
          });
  m.add(QStringLiteral("Arithmetic intensity"), QStringLiteral("achieved"), Unit::Rate,
        Better::More, [&](size_t k) {
          return figures[k].points.empty() ? kNoFigure : some(figures[k].points[0].achieved);
        });
  m.each(
      QStringLiteral("Bytes moved"), Unit::Bytes, Better::Less,
      [](const sched::Cost& x) -> const auto& { return x.profile.bytes; });
  m.each(
      QStringLiteral("Operations"), Unit::Count, Better::Less,
      [](const sched::Cost& x) -> const auto& { return x.profile.ops; });
  m.add(block, QStringLiteral("kernels"), Unit::Count, Better::Less, [&](size_t k) {
    return c[k].stages.cost ? double(c[k].stages.cost->profile.kernels) : kNoFigure;
  });
  m.add(block, QStringLiteral("blocks of all kernels"), Unit::Count, Better::Neither,
        [&](size_t k) { return c[k].stages.cost ? c[k].stages.cost->profile.blocks : kNoFigure; });
  const auto most = [&](auto of) {
    return [&c, of](size_t k) {
      double v = kNoFigure;
      for (const KernelBudget& b : c[k].budget.kernels)
        v = std::isnan(v) ? double(of(b)) : std::max(v, double(of(b)));
      return v;
    };
  };
  m.add(block, QStringLiteral("registers a thread"), Unit::Count, Better::Less,
        most([](const KernelBudget& b) { return b.registers; }),
        QStringLiteral("Predicted; of the kernel with the most"));
  m.add(block, QStringLiteral("shared memory"), Unit::Bytes, Better::Less,
        most([](const KernelBudget& b) { return b.shared_bytes; }),
        QStringLiteral("Of the kernel with the most"));
  m.add(block, QStringLiteral("threads"), Unit::Count, Better::Neither,
        most([](const KernelBudget& b) { return b.threads; }));
  m.add(
      block, QStringLiteral("occupancy"), Unit::Share, Better::More,
      [&](size_t k) {
        double v = kNoFigure;
        for (const KernelBudget& b : c[k].budget.kernels)
          v = std::isnan(v) ? b.occupancy : std::min(v, b.occupancy);
        return v;
      },
      QStringLiteral("Predicted; of the kernel with the least"));
  std::set<std::string> knobs;
  for (const Compared& x : c)
    for (const auto& [name, value] : x.stages.knobs) knobs.insert(name);
  for (const std::string& name : knobs)
    m.add(QStringLiteral("Knobs"), QString::fromStdString(name), Unit::Count, Better::Neither,
          [&](size_t k) {
            const auto at = c[k].stages.knobs.find(name);
            return at == c[k].stages.knobs.end() ? kNoFigure : double(at->second);
          });
  m.add(QStringLiteral("Knobs"), QStringLiteral("steps of the script"), Unit::Count,
        Better::Neither, [&](size_t k) { return double(c[k].stages.script.size()); });
  return m.take();
}

QStringList script_lines(const PlanStages& p) {
  QStringList out;
  for (const poly::TransformStep& s : p.script)
    out << QString::fromStdString(s.name + " " + s.params);
  return out;
}

std::vector<std::pair<QString, QString>> common_stages(const std::vector<Compared>& c) {
  std::vector<std::pair<QString, QString>> out;
  for (const Compared& x : c)
    for (const Stage& s : x.stages.stages) {
      if (s.refusal || s.on_demand) continue;
      const auto has = [&](const Compared& y) {
        const Stage* t = y.stages.find(s.id);
        return t && !t->refusal;
      };
      const bool listed =
          std::any_of(out.begin(), out.end(), [&](const auto& e) { return e.first == s.id; });
      if (!listed && std::count_if(c.begin(), c.end(), has) >= 2) out.emplace_back(s.id, s.title);
    }
  return out;
}

}  // namespace nautilus::gui
