// The session that a lesson begins with, and its numbers in words.
#include <algorithm>
#include <cmath>

#include "autosched/exploration.h"
#include "compiler/driver/searching.h"
#include "compiler/profile/profile.h"
#include "gui/models/lesson_work.h"
#include "gui/models/opening.h"
#include "gui/models/quantity.h"

namespace nautilus::gui {
namespace {

// "1.05 million": in the text of a lesson, where nobody counts zeros.
QString in_words(double v) {
  for (const auto& [size, word] : {std::pair(1e9, "billion"), {1e6, "million"}})
    if (std::abs(v) >= size) return plain_text(v / size, QString::fromLatin1(word));
  return v == std::floor(v) ? whole_text(v) : plain_text(v, {});
}

// By the unit, else by what the quantity's name begins with.
QString with_unit(const LessonNumber& n, double v) {
  const bool bytes = n.unit.empty() && n.what.ends_with("_bytes");
  const std::string group = n.unit.empty() ? n.what.substr(0, n.what.find('.')) : "";
  const auto is = [&](std::initializer_list<const char*> groups) {
    return std::find(groups.begin(), groups.end(), group) != groups.end();
  };
  if (n.unit == "s" || is({"seconds", "time", "lower_bound"})) return seconds_text(v);
  if (n.unit == "B" || bytes || is({"bytes", "traffic"})) return si(v, QStringLiteral("B"));
  if (n.unit == "FLOP/s" || is({"achieved", "roof", "matrix_rate"}))
    return si(v, QStringLiteral("FLOP/s"));
  if (is({"intensity", "ridge"})) return plain_text(v, QStringLiteral("FLOP/B"));
  if (is({"percent"})) return plain_text(v, QStringLiteral("%"));
  if (is({"bandwidth"})) return si(v, QStringLiteral("B/s"));
  return in_words(v);
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
  return (n.over.empty() ? with_unit(n, v) : plain_text(v, {})).toStdString();
}

}  // namespace nautilus::gui
