// The independent verifier. Everything is recomputed from the program and the tree as whole
// relations.
#include <algorithm>
#include <set>

#include "polyhedral/legality.h"
#include "polyhedral/names.h"
#include "polyhedral/verify_order.h"
#include "polyhedral/verify_program.h"
#include "polyhedral/verify_repairs.h"
#include "polyhedral/verify_rolling.h"

namespace nautilus::poly {

namespace {

using namespace verifying;

bool covered(const Repair& r, const Pair& d) {
  return d.kind == DepKind::Flow && in(r.sources, d.source) &&
         (in(r.via, d.sink) || in(r.targets, d.sink));
}

// From a via statement to whoever uses its running values.
bool chained(const Repair& r, const Pair& d) {
  return d.kind == DepKind::Flow && in(r.via, d.source) &&
         (in(r.via, d.sink) || in(r.targets, d.sink));
}

class Verifier {
 public:
  explicit Verifier(const Schedule& s) : s_(s), p_(*s.program), times_(flatten(s)) {}

  Verification run() {
    out_.ok = true;
    same_program();
    if (out_.ok) complete();
    for (const Pair& d : *all_) {
      if (!out_.ok) return finish();
      order(d);
    }
    if (out_.ok)
      out_.checked.push_back(std::to_string(pairs_) +
                             " ordered pairs of accesses keep their order" +
                             (paid_.empty() ? "" : ", or are paid for by a repair"));
    for (size_t k = 0; k < s_.repairs.size() && out_.ok; ++k) {
      const Doing doing([&] { return "repair of " + first(s_.repairs[k]); });
      if (auto problem = repair_problem(s_, s_.repairs[k], out_.checked))
        fail("repair of " + first(s_.repairs[k]) + ": " + *problem);
    }
    rolling();
    return finish();
  }

 private:
  const Schedule& s_;
  const Program& p_;
  std::vector<Timed> times_;
  std::map<unsigned, Lex> lexes_;  // by number of dims
  std::map<std::pair<const Timed*, std::vector<unsigned>>, isl::map> known_times_;
  Verification out_;
  std::set<size_t> paid_;
  std::optional<isl::map> late_;  // of the pair being checked: what repairs pay for
  int pairs_ = 0;
  std::shared_ptr<const std::vector<Pair>> all_ = all_pairs(p_);

  static std::string first(const Repair& r) { return r.targets.empty() ? "?" : r.targets[0]; }

  void fail(std::string why, std::optional<Witness> w = {}) {
    out_.ok = false;
    out_.verdict.kind = VerdictKind::Illegal;
    out_.verdict.why = std::move(why);
    out_.verdict.witness = std::move(w);
  }

  void fail(const Doubt& d, const std::string& about) {
    fail(about + d.why);
    if (d.undecided) out_.verdict.kind = VerdictKind::Unknown;
  }

  // What a transform made of the program computes what the original program does.
  void same_program() {
    if (!s_.origin) return fail("the schedule does not say which program it is to compute");
    if (auto doubt = program_doubt(*s_.origin, p_, out_.checked)) fail(*doubt, "");
  }

  // The values of rolling updates, band by band.
  void rolling() {
    std::map<int, std::vector<const Repair*>> by_band;
    for (const Repair& r : s_.repairs) by_band[r.band].push_back(&r);
    for (const auto& [band, repairs] : by_band) {
      if (!out_.ok) return;
      const Doing doing([&] { return "values of the repair of " + first(*repairs[0]); });
      if (auto doubt = rolling_doubt(s_, repairs))
        return fail(*doubt, "repair of " + first(*repairs[0]) + ": ");
      out_.checked.push_back("rolling updates at band " + std::to_string(band) +
                             " end with the program's values on sampled data");
    }
  }

  Verification finish() {
    if (!out_.ok) return std::move(out_);
    out_.verdict.kind = paid_.empty() ? VerdictKind::Legal : VerdictKind::Repairable;
    for (size_t k : paid_) out_.verdict.repairs.push_back(s_.repairs[k]);
    return std::move(out_);
  }

  // Every instance of every statement runs exactly once, at a time of its own in its leaf.
  void complete() {
    const Doing doing([] { return std::string("instances of the tree"); });
    std::map<std::string, isl::set> seen;
    for (const Timed& t : times_) {
      const isl::set& domain = t.instances;
      auto [it, fresh] = seen.emplace(t.stmt, domain);
      if (!fresh) {
        if (!it->second.is_disjoint(domain))
          return fail("some instances of " + t.stmt + " run twice");
        it->second = it->second.unite(domain);
      }
      std::vector<unsigned> all;
      for (unsigned k = 0; k < t.dims.size(); ++k) all.push_back(k);
      if (!t.time(all).is_injective())
        return fail("different instances of " + t.stmt + " run at the same time");
    }
    for (const Statement& st : p_.statements) {
      auto it = seen.find(st.name);
      const isl::set left = it == seen.end() ? st.domain : st.domain.subtract(it->second);
      if (!left.intersect_params(p_.param_context).is_empty())
        return fail("some instances of " + st.name + " never run");
    }
    out_.checked.push_back("every instance of " + std::to_string(p_.statements.size()) +
                           " statements runs exactly once");
  }

  // What must not happen to one pair of accesses, between all leaves of both.
  void order(const Pair& d) {
    ++pairs_;
    const Doing doing(
        [&] { return "order of " + d.source + " and " + d.sink + " on " + d.tensor; });
    for (const Timed& a : times_)
      for (const Timed& b : times_)
        if (a.stmt == d.source && b.stmt == d.sink && out_.ok) order(d, a, b);
    if (late_ && out_.ok) running(d);
    late_.reset();
  }

  // Each use has an update before it, and each update a use after it: the value used is a running
  // one, and the last one is seen.
  void running(const Pair& d) {
    const isl::map kept = d.relation.subtract(*late_);
    if (d.relation.range().is_subset(kept.range()) && d.relation.domain().is_subset(kept.domain()))
      return;
    fail("the running value of " + d.source + " that " + d.sink +
             " uses is not there yet, or moves on unseen",
         sample_witness(p_, d, *late_));
  }

  Lex& lex_of(const Common& shared) {
    const unsigned n = static_cast<unsigned>(shared.loops.size());
    return lexes_.try_emplace(n, *p_.context, n).first->second;
  }

  // Where a sequence parts the leaves, equal loops put the pair in that sequence's order; in one
  // leaf, equal times put it in none.
  isl::map out_of_order(const isl::map& pairs, const Timed& a, const Timed& b) {
    const Common shared = common(a, b);
    Lex& lex = lex_of(shared);
    return related(pairs, a, shared.parted < 0 ? lex.after() : lex.not_before(), b, shared.loops);
  }
  isl::map in_order(const isl::map& pairs, const Timed& a, const Timed& b) {
    const Common shared = common(a, b);
    Lex& lex = lex_of(shared);
    return related(pairs, a, shared.parted < 0 ? lex.not_after() : lex.before(), b, shared.loops);
  }

  const isl::map& time(const Timed& t, const std::vector<unsigned>& dims) {
    const auto key = std::make_pair(&t, dims);
    const auto at = known_times_.find(key);
    return at != known_times_.end() ? at->second
                                    : known_times_.emplace(key, t.time(dims)).first->second;
  }

  void order(const Pair& d, const Timed& a, const Timed& b) {
    const Common shared = common(a, b);
    Lex& lex = lex_of(shared);
    // { time of the source -> time of the sink }: most questions are answered without the pairs.
    const isl::map times =
        d.relation.apply_domain(time(a, shared.loops)).apply_range(time(b, shared.loops));
    const auto some = [&](const isl::map& relation) { return !times.is_disjoint(relation); };
    for (unsigned k = 0; k < shared.loops.size(); ++k) {
      const TimeDim& dim = a.dims[shared.loops[k]];
      const bool parallel = dim.mapping == Mapping::Grid || dim.mapping == Mapping::Warpgroup;
      if (!parallel && !(dim.mapping == Mapping::Tile && d.kind != DepKind::Reduction)) continue;
      if (some(lex.apart_at(k)))
        return fail(
            "iterations that depend on each other run in parallel (" +
                std::string(mapping_name(dim.mapping)) + ", node " + std::to_string(dim.node) + ")",
            sample_witness(p_, d, related(d.relation, a, lex.apart_at(k), b, shared.loops)));
    }
    if (d.kind == DepKind::Reduction) return;  // any order will do
    for (const Repair& r : s_.repairs)
      for (unsigned k = 0; chained(r, d) && k < shared.loops.size(); ++k)
        if (some(lex.apart_at(k)))
          return fail(d.sink + " uses what " + d.source +
                      " computed in another iteration of node " +
                      std::to_string(a.dims[shared.loops[k]].node) + ", when " + first(r) +
                      " had other running values");
    if (!some(shared.parted < 0 ? lex.after() : lex.not_before())) return;
    isl::map broken = out_of_order(d.relation, a, b);
    for (const Repair& r : s_.repairs)
      if (auto user = covered(r, d) ? outlived(r, broken, d, d.sink, {d.sink}) : std::nullopt)
        return fail(d.sink + " is used by " + *user + " after " + d.source +
                        " has moved on, when " + first(r) + " is corrected to later running values",
                    sample_witness(p_, d, broken));
    const isl::map late = broken;
    for (size_t r = 0; r < s_.repairs.size(); ++r) {
      if (!covered(s_.repairs[r], d)) continue;
      isl::map left = unpaid(s_.repairs[r], a, b, shared, lex, broken);
      if (left.is_equal(broken)) continue;
      paid_.insert(r);
      broken = left;
      if (broken.is_empty()) {
        late_ = late_ ? late_->unite(late) : late;
        return;
      }
    }
    std::optional<Witness> w = sample_witness(p_, d, broken);
    fail((w ? w->text : d.source + " must come before " + d.sink) + "; it does not", w);
  }

  // The statement, if any, to which a running value goes on only after an update of its source that
  // it has not seen. `missed` { source -> use } holds the updates that come after the use's first
  // value was computed.
  std::optional<std::string> outlived(const Repair& r, const isl::map& missed, const Pair& d,
                                      const std::string& use, const std::set<std::string>& met) {
    for (const Pair& next : *all_) {
      if (next.source != use || !chained(r, next) || met.count(next.sink)) continue;
      const isl::map reached = missed.apply_range(next.relation);
      for (const Timed& a : times_)
        for (const Timed& c : times_) {
          if (a.stmt != d.source || c.stmt != next.sink) continue;
          if (!in_order(reached, a, c).is_empty()) return next.sink;
        }
      std::set<std::string> now = met;
      now.insert(next.sink);
      if (auto late = outlived(r, reached, d, next.sink, now)) return late;
    }
    return std::nullopt;
  }

  // Broken pairs that are not decided by a serial loop at the repair's band or inside it.
  isl::map unpaid(const Repair& r, const Timed& a, const Timed& b, const Common& shared, Lex& lex,
                  isl::map broken) {
    bool inside = false;
    for (unsigned k = 0; k < shared.loops.size() && !broken.is_empty(); ++k) {
      // Inside from the band's own loops on; a band without loops of its own on this way is none.
      for (unsigned i = k ? shared.loops[k - 1] + 1 : 0; i <= shared.loops[k]; ++i)
        inside |= a.dims[i].node == r.band;
      const Mapping m = a.dims[shared.loops[k]].mapping;
      if (inside && (m == Mapping::Serial || m == Mapping::Unroll))
        broken = broken.subtract(related(broken, a, lex.later_at(k), b, shared.loops));
    }
    return broken;
  }
};

}  // namespace

Verification verify(const Schedule& s, unsigned long quota) {
  Expected<Verification> out = with_quota(s.program->context->get(), quota, [&] {
    const Doing doing([&] { return "verification of " + s.program->name; });
    return Verifier(s).run();
  });
  if (out) return *out;
  Verification unknown;
  unknown.verdict.kind = VerdictKind::Unknown;
  unknown.verdict.why = out.error().why;
  unknown.verdict.suggest = "raise the quota, or bind the sizes";
  return unknown;
}

}  // namespace nautilus::poly
