#include "polyhedral/legality_walk.h"

#include <algorithm>

#include "polyhedral/access_order.h"

namespace nautilus::poly {

struct TreeWalk::State {
  const Dependence& d;
  const PairFacts& facts;
  std::optional<isl::multi_aff> to_source, to_sink;  // { [S -> T] -> S }, { [S -> T] -> T }
  bool relaxed = false;
  bool parallel_members = true;  // on the way of a Reduction dependence: where it can be violated
  std::vector<Violation>& out;

  bool reduction() const { return d.kind == DepKind::Reduction; }
  void add(const isl::set& pairs, const Node& n, const std::string& member, bool unordered,
           int paid_by) {
    out.push_back({&d, pairs.unwrap(), n.id, member, unordered, paid_by});
  }
  // { [s -> t] -> [sink(t) - source(s)] }
  isl::aff difference(const isl::aff& source, const isl::aff& sink) {
    if (!to_source) {
      to_source = d.relation.space().domain_map_multi_aff();
      to_sink = d.relation.space().range_map_multi_aff();
    }
    return sink.pullback(*to_sink).sub(source.pullback(*to_source));
  }
};

namespace {

bool parallel(const BandMember& m) {
  return m.mapping == Mapping::Grid || m.mapping == Mapping::Warpgroup;
}

bool lists(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool any_parallel(const Node& n, const std::string& stmt) {
  for (const BandMember& m : n.members)
    if (parallel(m) && m.schedule.count(stmt)) return true;
  return std::any_of(n.children.begin(), n.children.end(),
                     [&](const NodePtr& c) { return any_parallel(*c, stmt); });
}

// The members of a band as integers: by member, by statement.
using Forms = std::vector<std::map<std::string, MemberForm>>;

const Forms& forms_of(const Node& band) {
  if (!band.forms.value) {
    auto made = std::make_shared<Forms>();
    for (const BandMember& m : band.members) {
      made->emplace_back();
      for (const auto& [stmt, aff] : m.schedule) made->back().emplace(stmt, MemberForm(aff));
    }
    band.forms.value = made;
  }
  return *static_cast<const Forms*>(band.forms.value.get());
}

// Facts of a dependence with the parameters' order that they were made for.
struct KeptFacts {
  std::vector<std::string> params;
  PairFacts facts;
};

const PairFacts& facts_of(const Dependence& d, const std::vector<std::string>& params) {
  const auto* kept = static_cast<const KeptFacts*>(d.facts.get());
  if (!kept || kept->params != params) {
    auto made = std::make_shared<KeptFacts>(KeptFacts{params, PairFacts(d, params)});
    kept = made.get();
    d.facts = made;
  }
  return kept->facts;
}

// Pairs whose ends lie in the given parts.
isl::set within(const isl::set& pairs, const isl::set& source, const isl::set& sink) {
  return pairs.intersect(source.product(sink));
}

}  // namespace

bool TreeWalk::walk(const Dependence& d, std::vector<Violation>& out) {
  State state{d, facts_of(d, s_.program->params), {}, {}, false, true, out};
  if (state.reduction()) state.parallel_members = any_parallel(*s_.root, d.source);
  const size_t known = out.size();
  node(*s_.root, d.relation.wrap(), {}, state);
  withdraw(d, out, known);
  return state.relaxed;
}

// A running value must be one (some update precedes each use), and the last one must be seen (some
// use follows each update): where that is not so, no correction pays.
void TreeWalk::withdraw(const Dependence& d, std::vector<Violation>& out, size_t from) {
  std::optional<isl::map> kept;
  for (size_t k = from; k < out.size(); ++k)
    if (out[k].paid_by >= 0) kept = (kept ? *kept : d.relation).subtract(out[k].pairs);
  if (!kept || (d.relation.range().is_subset(kept->range()) &&
                d.relation.domain().is_subset(kept->domain())))
    return;
  for (size_t k = from; k < out.size(); ++k) out[k].paid_by = -1;
}

// Whether every via value is used in the iteration that computed it, of all loops that hold both:
// else the source may have moved in between, and the value is stale when its target adds it.
bool TreeWalk::aligned(size_t repair) {
  if (const auto at = aligned_.find(repair); at != aligned_.end()) return at->second;
  const Repair& r = s_.repairs[repair];
  const auto apart = [&](const Statement& via, const Statement& use, const Access& read) {
    const isl::map pairs = restricted(*s_.program, via, via.write)
                               .apply_range(restricted(*s_.program, use, read).reverse());
    const PairFacts facts({DepKind::Flow, via.name, use.name, read.tensor, -1, pairs},
                          s_.program->params);
    for (const Node* n : preorder(s_))
      for (size_t k = 0; k < n->members.size(); ++k) {
        const BandMember& m = n->members[k];
        const auto a = m.schedule.find(via.name), b = m.schedule.find(use.name);
        if (a == m.schedule.end() || b == m.schedule.end()) continue;
        const auto& forms = forms_of(*n)[k];
        if (facts.distance(forms.at(via.name), forms.at(use.name)).constant == 0) continue;
        if (!pairs.is_subset(a->second.as_map().apply_range(b->second.as_map().reverse())))
          return true;
      }
    return false;
  };
  bool good = true;
  for (const std::string& v : r.via) {
    const Statement* via = s_.program->statement(v);
    for (const Statement& use : s_.program->statements)
      if (via && use.name != v && (lists(r.via, use.name) || lists(r.targets, use.name)))
        for (const Access& a : use.reads)
          if (a.tensor == via->write.tensor) good = good && !apart(*via, use, a);
  }
  return aligned_[repair] = good;
}

// Whether the loop also holds every statement that a running value goes on to, through the via
// statements: one outside runs after the source's later updates, which its target is already
// corrected for.
bool TreeWalk::used_within(const BandMember& m, const Repair& r, const std::string& via) const {
  std::vector<std::string> reached{via};
  for (size_t k = 0; k < reached.size(); ++k) {
    if (!m.schedule.count(reached[k])) return false;
    const Statement* from = s_.program->statement(reached[k]);
    if (!from || !lists(r.via, reached[k])) continue;
    for (const Statement& use : s_.program->statements)
      if ((lists(r.via, use.name) || lists(r.targets, use.name)) && !lists(reached, use.name) &&
          std::any_of(use.reads.begin(), use.reads.end(),
                      [&](const Access& a) { return a.tensor == from->write.tensor; }))
        reached.push_back(use.name);
  }
  return true;
}

// A repair pays where a band at or below its own puts a source's later update after a use of the
// running value.
int TreeWalk::payer(const std::vector<const Node*>& above, const Node& band, const BandMember& m,
                    const Dependence& d) {
  if (d.kind != DepKind::Flow || parallel(m) || m.mapping == Mapping::Tile) return -1;
  int paid_by = -1;
  for (size_t k = 0; k < s_.repairs.size(); ++k) {
    const Repair& r = s_.repairs[k];
    if (!lists(r.sources, d.source) || !(lists(r.via, d.sink) || lists(r.targets, d.sink)))
      continue;
    if (!aligned(k) || !used_within(m, r, d.sink))
      return -1;  // a target would add stale values, whoever else pays
    const bool inside =
        band.id == r.band ||
        std::any_of(above.begin(), above.end(), [&](const Node* n) { return n->id == r.band; });
    if (inside && paid_by < 0) paid_by = static_cast<int>(k);
  }
  return paid_by;
}

void TreeWalk::node(const Node& n, isl::set pairs, std::vector<const Node*> above, State& state) {
  switch (n.kind) {
    case NodeKind::Band:
      return band(n, std::move(pairs), above, state);
    case NodeKind::Sequence:
      return sequence(n, std::move(pairs), above, state);
    case NodeKind::Filter:
    case NodeKind::Mark:
      above.push_back(&n);
      return node(*n.children[0], std::move(pairs), std::move(above), state);
    case NodeKind::Leaf:
      break;
  }
  if (!state.reduction() && !pairs.is_empty()) state.add(pairs, n, "", true, -1);
}

// Splits the pairs by the sign of each member's distance: negative is out of order, zero goes on.
void TreeWalk::band(const Node& n, isl::set pairs, std::vector<const Node*>& above, State& state) {
  const Forms& all_forms = forms_of(n);
  for (size_t k = 0; k < n.members.size(); ++k) {
    const BandMember& m = n.members[k];
    auto source = m.schedule.find(state.d.source), sink = m.schedule.find(state.d.sink);
    if (source == m.schedule.end() || sink == m.schedule.end()) continue;
    if (state.reduction() && state.relaxed && !state.parallel_members)
      return;  // nothing left to learn
    const auto& forms = all_forms[k];
    const PairFacts::Distance known =
        state.facts.distance(forms.at(state.d.source), forms.at(state.d.sink));
    if (known.constant == 0) continue;
    const isl::aff diff = state.difference(source->second, sink->second);
    const isl::aff zero = diff.space().domain().zero_aff_on_domain();
    const bool unordered = parallel(m) || m.mapping == Mapping::Tile;
    if (unordered && !(state.reduction() && m.mapping == Mapping::Tile)) {
      isl::set apart = pairs.subtract(diff.eq_set(zero));
      if (!apart.is_empty()) return state.add(apart, n, m.name, true, -1);
    } else if (!known.at_least || *known.at_least < 0) {
      isl::set reversed = pairs.intersect(diff.lt_set(zero));
      if (!reversed.is_empty()) {
        if (state.reduction()) {
          state.relaxed = true;
        } else {
          const int paid = payer(above, n, m, state.d);
          state.add(reversed, n, m.name, false, paid);
          if (paid < 0) return;
        }
      }
    }
    if (known.constant) return;  // not zero: everything is decided here
    pairs = pairs.intersect(diff.eq_set(zero));
    if (pairs.is_empty()) return;
  }
  above.push_back(&n);
  node(*n.children[0], std::move(pairs), above, state);
}

// Earlier children come first; pairs inside one child go down with it.
void TreeWalk::sequence(const Node& n, isl::set pairs, std::vector<const Node*>& above,
                        State& state) {
  std::vector<size_t> sources, sinks;
  for (size_t k = 0; k < n.children.size(); ++k) {
    if (n.children[k]->parts.count(state.d.source)) sources.push_back(k);
    if (n.children[k]->parts.count(state.d.sink)) sinks.push_back(k);
  }
  above.push_back(&n);
  const bool split = sources.size() > 1 || sinks.size() > 1;
  for (size_t a : sources)
    for (size_t b : sinks) {
      if (a < b || (a > b && state.reduction())) {
        state.relaxed |= a > b;
        continue;
      }
      isl::set here = split ? within(pairs, n.children[a]->parts.at(state.d.source),
                                     n.children[b]->parts.at(state.d.sink))
                            : pairs;
      if (split && here.is_empty()) continue;
      if (a == b) {
        node(*n.children[a], here, above, state);
      } else if (split || !here.is_empty()) {
        state.add(here, n, "", false, -1);
        return;
      }
    }
}

}  // namespace nautilus::poly
