// The independent verifier. Everything is recomputed from the program and the tree as whole relations.
#include <algorithm>
#include <set>

#include "polyhedral/legality.h"
#include "polyhedral/verify_order.h"
#include "polyhedral/verify_repairs.h"

namespace nautilus::poly {

namespace {

using namespace verifying;

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool covered(const Repair& r, const Pair& d) {
  return d.kind == DepKind::Flow && has(r.sources, d.source) && (has(r.via, d.sink) || has(r.targets, d.sink));
}

// From a via statement to whoever uses its running values.
bool chained(const Repair& r, const Pair& d) {
  return d.kind == DepKind::Flow && has(r.via, d.source) && (has(r.via, d.sink) || has(r.targets, d.sink));
}

class Verifier {
 public:
  explicit Verifier(const Schedule& s) : s_(s), p_(*s.program), times_(flatten(s, length_)), lex_(p_.context->get(), length_) {}

  Verification run() {
    out_.ok = true;
    complete();
    for (const Pair& d : pairs_of_accesses_) {
      if (!out_.ok) return finish();
      order(d);
    }
    if (out_.ok) out_.checked.push_back(std::to_string(pairs_) + " ordered pairs of accesses keep their order" +
                                        (paid_.empty() ? "" : ", or are paid for by a repair"));
    for (size_t k = 0; k < s_.repairs.size() && out_.ok; ++k) {
      if (auto problem = repair_problem(s_, s_.repairs[k], out_.checked)) fail("repair of " + first(s_.repairs[k]) + ": " + *problem);
    }
    return finish();
  }

 private:
  const Schedule& s_;
  const Program& p_;
  unsigned length_ = 0;
  std::vector<Timed> times_;
  Lex lex_;
  Verification out_;
  std::set<size_t> paid_;
  std::optional<isl::map> late_;  // of the pair being checked: what repairs pay for
  int pairs_ = 0;
  std::vector<Pair> pairs_of_accesses_ = all_pairs(p_);

  static std::string first(const Repair& r) { return r.targets.empty() ? "?" : r.targets[0]; }

  void fail(std::string why, std::optional<Witness> w = {}) {
    out_.ok = false;
    out_.verdict.kind = VerdictKind::Illegal;
    out_.verdict.why = std::move(why);
    out_.verdict.witness = std::move(w);
  }

  Verification finish() {
    if (!out_.ok) return std::move(out_);
    out_.verdict.kind = paid_.empty() ? VerdictKind::Legal : VerdictKind::Repairable;
    for (size_t k : paid_) out_.verdict.repairs.push_back(s_.repairs[k]);
    return std::move(out_);
  }

  // Every instance of every statement runs exactly once, at a time of its own in its leaf.
  void complete() {
    std::map<std::string, isl::set> seen;
    for (const Timed& t : times_) {
      const isl::set domain = t.time.domain();
      auto [it, fresh] = seen.emplace(t.stmt, domain);
      if (!fresh) {
        if (!it->second.is_disjoint(domain)) return fail("some instances of " + t.stmt + " run twice");
        it->second = it->second.unite(domain);
      }
      if (!t.time.is_single_valued()) return fail("some instances of " + t.stmt + " run at two times");
      if (!t.time.is_injective()) return fail("different instances of " + t.stmt + " run at the same time");
    }
    for (const Statement& st : p_.statements) {
      auto it = seen.find(st.name);
      const isl::set left = it == seen.end() ? st.domain : st.domain.subtract(it->second);
      if (!left.intersect_params(p_.param_context).is_empty()) return fail("some instances of " + st.name + " never run");
    }
    out_.checked.push_back("every instance of " + std::to_string(p_.statements.size()) + " statements runs exactly once");
  }

  // What must not happen to one pair of accesses, between all leaves of both.
  void order(const Pair& d) {
    ++pairs_;
    for (const Timed& a : times_)
      for (const Timed& b : times_)
        if (a.stmt == d.source && b.stmt == d.sink && out_.ok) order(d, a, b);
    if (late_ && out_.ok) running(d);
    late_.reset();
  }

  // Each use has an update before it, and each update a use after it: the value used is a running one, and the last
  // one is seen.
  void running(const Pair& d) {
    const isl::map kept = d.relation.subtract(*late_);
    if (d.relation.range().is_subset(kept.range()) && d.relation.domain().is_subset(kept.domain())) return;
    fail("the running value of " + d.source + " that " + d.sink + " uses is not there yet, or moves on unseen",
         sample_witness(p_, d, *late_));
  }

  void order(const Pair& d, const Timed& a, const Timed& b) {
    // Positions that both share: the same node, as long as everything before is equal.
    unsigned shared = 0;
    while (shared < a.dims.size() && shared < b.dims.size() && a.dims[shared].node == b.dims[shared].node) ++shared;
    for (unsigned k = 0; k < shared; ++k) {
      const Mapping m = a.dims[k].mapping;
      const bool parallel = m == Mapping::Grid || m == Mapping::Warpgroup;
      if (!parallel && !(m == Mapping::Tile && d.kind != DepKind::Reduction)) continue;
      isl::map apart = related(d.relation, a, lex_.apart_at(k), b);
      if (!apart.is_empty())
        return fail("iterations that depend on each other run in parallel (" + std::string(mapping_name(m)) + ", node " +
                        std::to_string(a.dims[k].node) + ")",
                    sample_witness(p_, d, apart));
    }
    if (d.kind == DepKind::Reduction) return;  // any order will do
    for (const Repair& r : s_.repairs)
      for (unsigned k = 0; chained(r, d) && k < shared; ++k)
        if (!a.dims[k].sequence && !related(d.relation, a, lex_.apart_at(k), b).is_empty())
          return fail(d.sink + " uses what " + d.source + " computed in another iteration of node " +
                      std::to_string(a.dims[k].node) + ", when " + first(r) + " had other running values");
    isl::map broken = related(d.relation, a, lex_.not_before(), b);
    if (broken.is_empty()) return;
    for (const Repair& r : s_.repairs)
      if (auto user = covered(r, d) ? outlived(r, broken, d, d.sink, {d.sink}) : std::nullopt)
        return fail(d.sink + " is used by " + *user + " after " + d.source + " has moved on, when " + first(r) +
                    " is corrected to later running values", sample_witness(p_, d, broken));
    const isl::map late = broken;
    for (size_t r = 0; r < s_.repairs.size(); ++r) {
      if (!covered(s_.repairs[r], d)) continue;
      isl::map left = unpaid(s_.repairs[r], a, b, shared, broken);
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

  // The statement, if any, to which a running value goes on only after an update of its source that it has not seen.
  // `missed` { source -> use } holds the updates that come after the use's first value was computed.
  std::optional<std::string> outlived(const Repair& r, const isl::map& missed, const Pair& d, const std::string& use,
                                      const std::set<std::string>& met) {
    for (const Pair& next : pairs_of_accesses_) {
      if (next.source != use || !chained(r, next) || met.count(next.sink)) continue;
      const isl::map reached = missed.apply_range(next.relation);
      for (const Timed& a : times_)
        for (const Timed& c : times_) {
          if (a.stmt != d.source || c.stmt != next.sink) continue;
          if (!related(reached, a, lex_.before(), c).is_empty()) return next.sink;
        }
      std::set<std::string> now = met;
      now.insert(next.sink);
      if (auto late = outlived(r, reached, d, next.sink, now)) return late;
    }
    return std::nullopt;
  }

  // Broken pairs that are not decided by a serial loop at the repair's band or inside it.
  isl::map unpaid(const Repair& r, const Timed& a, const Timed& b, unsigned shared, isl::map broken) {
    bool inside = false;
    for (unsigned k = 0; k < shared && !broken.is_empty(); ++k) {
      inside |= a.dims[k].node == r.band;
      const Mapping m = a.dims[k].mapping;
      if (inside && !a.dims[k].sequence && (m == Mapping::Serial || m == Mapping::Unroll))
        broken = broken.subtract(related(broken, a, lex_.later_at(k), b));
    }
    return broken;
  }
};

}  // namespace

Verification verify(const Schedule& s, unsigned long quota) {
  Expected<Verification> out = with_quota(s.program->context->get(), quota, [&] { return Verifier(s).run(); });
  if (out) return *out;
  Verification unknown;
  unknown.verdict.kind = VerdictKind::Unknown;
  unknown.verdict.why = out.error().why;
  return unknown;
}

}  // namespace nautilus::poly
