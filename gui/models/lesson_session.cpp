// The session that a lesson begins with, and its numbers in words.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "autosched/exploration.h"
#include "compiler/driver/searching.h"
#include "compiler/profile/profile.h"
#include "gui/models/lesson_work.h"
#include "gui/models/opening.h"

namespace nautilus::gui {
namespace {

std::string digits(double v, const char* unit) {
  char buf[48];
  std::snprintf(buf, sizeof buf, "%.3g%s%s", v, *unit ? " " : "", unit);
  return buf;
}

std::string in_units(double v, std::initializer_list<std::pair<double, const char*>> units) {
  for (auto& [scale, name] : units)
    if (std::abs(v) >= scale) return digits(v / scale, name);
  return digits(v / std::prev(units.end())->first, std::prev(units.end())->second);
}

}  // namespace

Expected<sched::Session> lesson_session(const Lesson& l, std::atomic<bool>* stop) {
  SpecRequest r;
  r.spec = l.kernel;
  r.sizes = l.sizes;
  r.machine = l.machine;
  Expected<sched::Session> s = session_of(r);
  if (!s || l.plans == 0) return s;
  auto p = poly::parse_naut(poly::make_context(), s->program_naut, "program");
  if (!p) return p.error();
  s->options.max_plans = l.plans;
  s->options.seconds = 0;
  const auto ops = profile::tile_ops_provider(
      tile::numerics_from_name(s->options.numerics).value_or(tile::Numerics::Reassociate),
      driver::op_costs(s->options.machine));
  sched::SearchOptions o = s->options;
  o.stop = stop;
  auto found = sched::search(std::make_shared<const poly::Program>(*std::move(p)), o, *ops);
  if (!found) return found.error();
  if (stop && stop->load()) return Refusal{"begin a lesson", l.name, "it was given up", ""};
  s->result = *std::move(found);
  s->result.seconds = s->result.first_plan_seconds = 0;
  return s;
}

std::map<std::string, int> do_again(sched::Session& s, const Lesson& l,
                                    const LessonWork::Steps& done) {
  std::map<std::string, int> nodes;
  if (done.empty()) return nodes;
  auto p = poly::parse_naut(poly::make_context(), s.program_naut, "program");
  if (!p) return nodes;
  const auto ops = profile::tile_ops_provider(
      tile::numerics_from_name(s.options.numerics).value_or(tile::Numerics::Reassociate),
      driver::op_costs(s.options.machine));
  auto e = sched::Exploration::resume(std::make_shared<const poly::Program>(*std::move(p)),
                                      s.options, s.result, *ops);
  if (!e) return nodes;
  const int best = s.result.best.empty() ? -1 : s.result.best[0];
  for (const LessonStep& step : l.steps) {
    const auto did = done.find(step.id);
    if (did == done.end() || !step.transform) continue;
    const std::string& from = step.transform->from;
    const int parent = from == "start"        ? 0
                       : from == "best"       ? best
                       : nodes.contains(from) ? nodes.at(from)
                                              : -1;
    if (parent < 0) continue;
    if (const auto id = (*e)->add_by_hand(parent, {did->second})) nodes[step.id] = *id;
  }
  // The answers stay those of the lesson's search.
  s.result.nodes = std::move(**e).release().nodes;
  return nodes;
}

std::string lesson_value(const LessonNumber& n, double v) {
  if (!std::isfinite(v)) return std::isnan(v) ? "no number" : "infinite";
  if (!n.over.empty()) return digits(v, "");
  const std::string group = n.unit.empty()       ? n.what.substr(0, n.what.find('.'))
                            : n.unit == "s"      ? "seconds"
                            : n.unit == "B"      ? "bytes"
                            : n.unit == "FLOP/s" ? "roof"
                                                 : "";
  if (group == "memory" && n.what.ends_with("_bytes"))
    return in_units(v, {{1e6, "MB"}, {1e3, "kB"}, {1, "B"}});
  if (group == "seconds" || group == "time" || group == "lower_bound")
    return in_units(v, {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}});
  if (group == "bytes" || group == "traffic" || (n.unit.empty() && n.what.ends_with("_bytes")))
    return in_units(v, {{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}});
  if (group == "achieved" || group == "roof" || group == "matrix_rate")
    return in_units(v, {{1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}, {1, "FLOP/s"}});
  if (group == "intensity" || group == "ridge") return digits(v, "FLOP/B");
  if (group == "percent") return digits(v, "%");
  if (group == "bandwidth") return in_units(v, {{1e12, "TB/s"}, {1e9, "GB/s"}, {1, "B/s"}});
  if (v == std::floor(v) && std::abs(v) < 1e6) return std::to_string(static_cast<long>(v));
  return in_units(v, {{1e9, "billion"}, {1e6, "million"}, {1, ""}});
}

}  // namespace nautilus::gui
