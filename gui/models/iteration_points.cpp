#include "gui/models/iteration_points.h"

#include <algorithm>
#include <sstream>

#include "gui/models/iteration_scale.h"
#include "gui/models/verdict_data.h"
#include "polyhedral/legality.h"

namespace nautilus::gui {
namespace {

constexpr int64_t kWindow = 40;  // along a dimension that is shown, at real sizes

Refusal stopped_early() { return Refusal{"draw the iterations", "", "stopped", ""}; }

// "i + 2j - 1": an index value as isl writes it.
std::string affine_words(const isl::aff& a) {
  std::ostringstream all;
  all << a;
  const std::string text = all.str();
  const size_t begin = text.rfind("[("), end = text.rfind(")]");
  if (begin == std::string::npos || end == std::string::npos || end < begin) return text;
  return text.substr(begin + 2, end - begin - 2);
}

// The condition on data under which an instance counts: "j < length".
std::string guard_words(const poly::Statement& st) {
  const Expr named = substitute(st.guard, [&](const Expr& e) {
    std::optional<Expr> out;
    const auto k = static_cast<size_t>(e->index);
    if (e->op == Op::Read && k < st.reads.size()) out = Expr::var(st.reads[k].tensor);
    if (e->op == Op::Index && k < st.indices.size()) out = Expr::var(affine_words(st.indices[k]));
    return out;
  });
  std::string text = to_string(named);
  std::erase(text, '`');
  return text;
}

}  // namespace

Expected<std::shared_ptr<const poly::DependenceSet>> dependences_of(const poly::Program& p) {
  const std::string key = "explorer dependences " + std::to_string(poly::content_hash(p));
  if (auto known = p.context->known<poly::DependenceSet>(key)) return known;
  Expected<poly::DependenceSet> deps = poly::dependences(p);
  if (!deps) return deps.error();
  p.context->keep(key, *std::move(deps));
  return p.context->known<poly::DependenceSet>(key);
}

Expected<uint64_t> each_point(const isl::set& s, uint64_t most,
                              const std::function<bool(std::span<const int64_t>)>& visit) {
  if (s.is_empty()) return uint64_t{0};
  if (poly::n_dim(s) == 0) return visit({}), uint64_t{1};
  const isl::multi_union_pw_aff band =
      isl::multi_pw_aff(s.space().identity_multi_aff_on_domain()).reset_range_tuple_id();
  const isl::schedule order = isl::schedule::from_domain(s.to_union_set())
                                  .root()
                                  .child(0)
                                  .insert_partial_schedule(band)
                                  .schedule();
  return poly::for_each_instance(
      order, most, [&](const std::string&, std::span<const int64_t> dims) { return visit(dims); });
}

void PointMaker::clocks_below(const poly::Node& n, const poly::Statement& st, isl::set left,
                              Clock so_far, std::vector<Clock>& out) const {
  if (n.kind == poly::NodeKind::Filter) {
    const auto part = n.parts.find(st.name);
    if (part == n.parts.end()) return;
    left = left.intersect(part->second);
  }
  for (const poly::BandMember& m : n.members) {
    const auto f = m.schedule.find(st.name);
    so_far.parts.push_back({n.id, m.name, m.mapping, m.step, false});
    so_far.functions.push_back(f == m.schedule.end() ? poly::constant_aff(st.domain, 0)
                                                     : f->second);
  }
  if (n.children.empty()) {
    so_far.where = left;
    out.push_back(std::move(so_far));
    return;
  }
  for (size_t k = 0; k < n.children.size(); ++k) {
    Clock next = so_far;
    if (n.kind == poly::NodeKind::Sequence && n.children.size() > 1) {
      next.parts.push_back({n.id, "", poly::Mapping::Serial, 1, true});
      next.functions.push_back(poly::constant_aff(st.domain, static_cast<int64_t>(k)));
    }
    clocks_below(*n.children[k], st, left, std::move(next), out);
  }
}

// The whole domain where it is small enough, else a box around the focus (or at the beginning).
isl::set PointMaker::window(const poly::Statement& st, const isl::set& domain) const {
  const unsigned n = poly::n_dim(domain);
  std::vector<int64_t> low(n), high(n);
  double points = 1;
  for (unsigned d = 0; d < n; ++d) {
    low[d] = poly::dim_min(domain, d).value_or(0);
    high[d] = poly::dim_max(domain, d).value_or(low[d]);
    points *= static_cast<double>(high[d] - low[d] + 1);
  }
  if (points <= static_cast<double>(request_.most_points)) return domain;
  const auto focus = request_.focus.find(st.name);
  const auto [x, y] = best_dims(st);
  std::optional<poly::Point> first;
  if (focus == request_.focus.end()) first = poly::lexmin_point(domain);
  out_.cropped = true;
  std::string tuple, box, text;
  const std::vector<std::string> names = poly::dim_names(domain);
  for (unsigned d = 0; d < n; ++d) {
    const int64_t at = focus != request_.focus.end() && d < focus->second.size() ? focus->second[d]
                       : first                                                   ? first->dims[d]
                                                                                 : low[d];
    const bool shown = static_cast<int>(d) == x || static_cast<int>(d) == y;
    const int64_t length = shown ? kWindow : reduces(st, d) ? 4 : 1;
    const int64_t from =
        std::clamp(at - length / 2, low[d], std::max(low[d], high[d] - length + 1));
    const int64_t to = std::min(high[d], from + length - 1);
    const std::string dim = "x" + std::to_string(d);
    tuple += (d ? ", " : "") + dim;
    box += (d ? " and " : "") + std::to_string(from) + " <= " + dim + " <= " + std::to_string(to);
    text += (text.empty() ? "" : ", ") + names[d] + " " + std::to_string(from) + ".." +
            std::to_string(to);
  }
  out_.notes.push_back("of " + st.name + " only " + text);
  return domain.intersect(
      isl::set(domain.ctx(), "{ " + st.name + "[" + tuple + "] : " + box + " }"));
}

std::optional<Refusal> PointMaker::add_statement(const std::string& name) {
  if (stopped()) return stopped_early();
  const poly::Statement& st = *s_.program->statement(name);
  IterStatement info;
  info.name = name;
  info.dims = poly::dim_names(st.domain);
  for (size_t d = 0; d < info.dims.size(); ++d) info.reduced.push_back(reduces(st, d));
  info.tensor = st.write.tensor;
  std::tie(info.x, info.y) = best_dims(st);
  if (st.guard)
    out_.notes.push_back("an instance of " + name + " counts only where " + guard_words(st) +
                         ", which is data: all are drawn");
  const int number = static_cast<int>(out_.statements.size());
  const isl::set seen = window(st, st.domain);
  windows_.emplace(name, seen);
  std::optional<poly::PiecewiseFunction> element;
  if (st.write.map.is_single_valued() && !seen.is_empty())
    element.emplace(st.write.map.as_pw_multi_aff(), seen);
  std::vector<Clock> clocks;
  clocks_below(*s_.root, st, st.domain, {st.domain, {}, {}}, clocks);
  size_t count = 0;
  for (const Clock& c : clocks) {
    std::vector<poly::AffineFunction> functions;
    for (const isl::aff& a : c.functions) functions.emplace_back(a);
    const int clock = static_cast<int>(info.clocks.size());
    info.clocks.push_back(c.parts);
    const Expected<uint64_t> done = each_point(
        seen.intersect(c.where), 50 * request_.most_points, [&](std::span<const int64_t> at) {
          if (count >= request_.most_points || stopped()) return info.complete = false;
          IterPoint p{number, clock, {at.begin(), at.end()}, {}, {}};
          for (const poly::AffineFunction& f : functions) p.time.push_back(f(at));
          if (element && !(*element)(at, p.element)) p.element.clear();
          for (size_t d = 0; d < at.size(); ++d) {
            if (count == 0) info.low.push_back(at[d]), info.high.push_back(at[d]);
            info.low[d] = std::min(info.low[d], at[d]);
            info.high[d] = std::max(info.high[d], at[d]);
          }
          ++count;
          out_.points.push_back(std::move(p));
          return true;
        });
    if (!done) return done.error();
  }
  if (stopped()) return stopped_early();
  if (!info.complete)
    out_.notes.push_back("of " + name + " only the first " + std::to_string(count) + " points");
  out_.statements.push_back(std::move(info));
  return std::nullopt;
}

void PointMaker::sort_points() {
  std::stable_sort(out_.points.begin(), out_.points.end(),
                   [](const IterPoint& a, const IterPoint& b) { return a.time < b.time; });
  for (size_t k = 0; k < out_.points.size(); ++k) {
    const IterPoint& p = out_.points[k];
    index_[out_.statements[static_cast<size_t>(p.statement)].name][p.at] = static_cast<int>(k);
  }
}

int PointMaker::point_at(const std::string& statement, std::span<const int64_t> at) const {
  const auto points = index_.find(statement);
  if (points == index_.end()) return -1;
  const auto p = points->second.find(std::vector<int64_t>(at.begin(), at.end()));
  return p == points->second.end() ? -1 : p->second;
}

std::optional<Refusal> PointMaker::add_pairs(const isl::map& pairs, int dependence, Fate fate) {
  const IterDependence& d = out_.dependences[static_cast<size_t>(dependence)];
  const isl::map seen =
      pairs.intersect_domain(windows_.at(d.source)).intersect_range(windows_.at(d.sink));
  const size_t n = poly::n_in(seen);
  const isl::set flat = poly::set_tuple_name(seen.wrap().flatten(), "pair");
  const Expected<uint64_t> done =
      each_point(flat, 50 * request_.most_arrows, [&](std::span<const int64_t> at) {
        const int from = point_at(d.source, at.first(n)), to = point_at(d.sink, at.subspan(n));
        if (from < 0 || to < 0) return !stopped();
        const auto [known, fresh] = arrow_of_.emplace(std::pair(from, to), out_.arrows.size());
        if (!fresh) {
          Fate& f = out_.arrows[known->second].fate;
          f = std::max(f, fate);
          return !stopped();
        }
        if (out_.arrows.size() >= request_.most_arrows) {
          arrow_of_.erase(known);
          return false;
        }
        out_.arrows.push_back({from, to, dependence, fate});
        return !stopped();
      });
  if (!done) return done.error();
  return stopped() ? std::optional(stopped_early()) : std::nullopt;
}

// What is out of order first, so that it is there when there are too many.
std::optional<Refusal> PointMaker::add_arrows() {
  const auto deps = dependences_of(*s_.program);
  if (!deps) return deps.error();
  const auto bad = poly::violations(s_, **deps);
  if (!bad) {
    out_.notes.push_back("what is out of order is not known: " + bad.error().why);
  } else {
    for (const poly::Violation& v : *bad) {
      const poly::Dependence& d = *v.dependence;
      if (!windows_.count(d.source) || !windows_.count(d.sink)) continue;
      const Fate fate = v.paid_by >= 0 ? Fate::Paid : Fate::Violated;
      out_.dependences.push_back(
          {d.source, d.sink, d.tensor, kind_words(d.kind), fate, v.node, v.member});
      const int number = static_cast<int>(out_.dependences.size()) - 1;
      if (auto failed = add_pairs(v.pairs, number, fate)) return failed;
    }
  }
  for (const poly::Dependence& d : (*deps)->all) {
    if (d.kind == poly::DepKind::Reduction) continue;
    if (!windows_.count(d.source) || !windows_.count(d.sink)) continue;
    out_.dependences.push_back(
        {d.source, d.sink, d.tensor, kind_words(d.kind), Fate::Kept, -1, ""});
    const int number = static_cast<int>(out_.dependences.size()) - 1;
    if (auto failed = add_pairs(d.relation, number, Fate::Kept)) return failed;
  }
  if (out_.arrows.size() >= request_.most_arrows)
    out_.notes.push_back("only the first " + std::to_string(out_.arrows.size()) +
                         " dependences are drawn");
  return std::nullopt;
}

}  // namespace nautilus::gui
