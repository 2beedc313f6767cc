#include "polyhedral/transforms/rolling_update.h"

#include <algorithm>

#include "polyhedral/names.h"
#include "polyhedral/repair_internal.h"
#include "polyhedral/transforms/clear_the_way.h"
#include "polyhedral/transforms/edit.h"
#include "polyhedral/transforms/fuse.h"
#include "polyhedral/transforms/statements.h"
#include "polyhedral/witness.h"

namespace nautilus::poly {

namespace {

RepairPolicy policy_of(const nlohmann::json& params) {
  const std::string n = params.value("numerics", "reassociate");
  return n == "strict" ? RepairPolicy::Strict
         : n == "fast" ? RepairPolicy::Fast
                       : RepairPolicy::Reassociate;
}

// What reads running values once the children are fused.
struct Reader {
  Names sources;  // reductions whose running values reach it
  Names via;      // pointwise statements on the way
};

class RollingUpdate {
 public:
  // Without dependences: the edit alone. What plain fusion breaks is then read off the reductions
  // under the band, and nothing is judged.
  RollingUpdate(const Schedule& s, const DependenceSet* deps, const nlohmann::json& params)
      : before_(s), deps_(deps), w_(s), params_(params) {}

  Outcome run() {
    const Expected<const Node*> n =
        edit::node_param(w_, params_, "node", NodeKind::Sequence, "rolling_update");
    if (!n) return edit::malformed(n.error());
    sequence_ = (*n)->id;
    first_ = params_.at("first").get<size_t>();
    last_ = params_.at("last").get<size_t>();
    depth_ = params_.at("depth").get<size_t>();
    if (first_ < (*n)->children.size() && last_ < (*n)->children.size()) {
      Expected<Cleared> cleared = clear_the_way(w_, sequence_, first_, last_, depth_);
      if (!cleared) return edit::malformed(cleared.error());
      w_ = std::move(cleared->schedule);
      last_ = cleared->last;
    }
    const Expected<Fused> fused = fuse_children(w_, sequence_, first_, last_, depth_);
    if (!fused) return edit::malformed(fused.error());
    w_ = fused->schedule;
    band_ = fused->band;
    if (auto stop = find_readers()) return *stop;
    if (auto stop = make_private()) return *stop;
    if (auto stop = repair_all()) return *stop;
    if (!deps_) return with_pays(unjudged());
    for (const Repair& r : w_.repairs)
      if (r.band == band_)
        if (auto stop = in_step(r)) return *stop;
    return with_pays(judged());
  }

 private:
  const Schedule& before_;
  const DependenceSet* deps_;  // of the program before
  DependenceSet own_deps_;     // of the changed program, or of what may break
  Schedule w_;
  const nlohmann::json& params_;
  NodeId sequence_ = 0, band_ = 0;
  size_t first_ = 0, last_ = 0, depth_ = 0;
  std::map<std::string, Reader> readers_;  // by statement
  Names pays_;                             // "source > reader": where a running value is read
  std::optional<Witness> witness_;         // what plain fusion breaks
  Names running_;                          // everything that computes from running values

  const Program& program() const { return *w_.program; }

  Outcome illegal(std::string why, std::string suggest = "") const {
    Outcome o;
    o.verdict.kind = VerdictKind::Illegal;
    o.verdict.witness = witness_;
    o.verdict.why = std::move(why);
    o.verdict.suggest = std::move(suggest);
    return o;
  }
  static Outcome unknown(const Refusal& r) {
    Outcome o;
    o.verdict.kind = VerdictKind::Unknown;
    o.verdict.why = r.why;
    o.verdict.suggest = r.suggest;
    return o;
  }

  // The given dependences while the program is the one they belong to.
  Expected<const DependenceSet*> current_deps() {
    if (!deps_) {
      own_deps_ = final_value_flow(program(), statements_below(w_, band_));
      return &own_deps_;
    }
    if (w_.program == before_.program) return deps_;
    Expected<DependenceSet> fresh = dependences(program());
    if (!fresh) return fresh.error();
    own_deps_ = std::move(*fresh);
    return &own_deps_;
  }

  // --- what plain fusion breaks ---

  std::optional<Outcome> find_readers() {
    if (params_.contains("pays")) {
      if (auto no = take_given()) return edit::malformed(*no);
      if (!deps_) return spread(), std::nullopt;
    }
    const Expected<const DependenceSet*> deps = current_deps();
    if (!deps) return unknown(deps.error());
    const auto broken = violations(w_, **deps);
    if (!broken) return unknown(broken.error());
    for (const Violation& v : *broken) {
      if (v.paid_by >= 0) continue;
      const Dependence& d = *v.dependence;
      if (!witness_) witness_ = make_witness(program(), v);
      const Statement* source = program().statement(d.source);
      const auto path = path_to(w_, v.node);
      const bool inside =
          std::any_of(path.begin(), path.end(), [&](const Node* n) { return n->id == band_; });
      if (d.kind != DepKind::Flow || v.unordered || v.member.empty() || !inside || !source ||
          !source->reduction || d.source == d.sink) {
        witness_ = make_witness(program(), v);
        return illegal((witness_ ? witness_->text : d.source + " must precede " + d.sink) +
                           "; this is not the final value of a reduction read too early, so no "
                           "correction pays for it",
                       "fuse fewer children, or another loop");
      }
      pay(d.source, d.sink);
    }
    spread();
    return std::nullopt;
  }

  void pay(const std::string& source, const std::string& reader) {
    add(readers_[reader].sources, source);
    add(pays_, source + " > " + reader);
  }

  // What an earlier application paid for is paid for again, also where one tile now takes in the
  // whole loop, so that the same statements and nodes come to be.
  std::optional<Refusal> take_given() {
    const nlohmann::json& given = params_.at("pays");
    const Names below = statements_below(w_, band_);
    for (const nlohmann::json& item : given.is_array() ? given : nlohmann::json::array({given})) {
      const std::string text = item.is_string() ? item.get<std::string>() : item.dump();
      const size_t at = text.find(" > ");
      const std::string source = text.substr(0, at),
                        reader = at == std::string::npos ? "" : text.substr(at + 3);
      const Statement *s = program().statement(source), *r = program().statement(reader);
      if (!s || !r || !s->reduction || !in(below, source) || !in(below, reader) ||
          !reads(*r, s->write.tensor))
        return edit::refused("rolling_update", edit::describe(w_, *find(w_, band_)),
                             text + " names no reduction and reader of it that are fused here",
                             "leave pays out");
      pay(source, reader);
    }
    return std::nullopt;
  }

  // Running values flow on through pointwise statements under the band to the reductions there.
  void spread() {
    const Names below = statements_below(w_, band_);
    for (const Statement& s : program().statements) {
      if (s.reduction || !readers_.contains(s.name)) continue;
      const Reader from = readers_.at(s.name);
      for (const Statement& t : program().statements) {
        if (!in(below, t.name) || t.name == s.name || !reads(t, s.write.tensor)) continue;
        Reader& to = readers_[t.name];
        for (const std::string& x : from.sources) add(to.sources, x);
        for (const std::string& x : from.via) add(to.via, x);
        add(to.via, s.name);
      }
    }
    for (const auto& [name, r] : readers_) add(running_, name);
  }

  // --- private accumulators, repairs ---

  // Sources and targets that are outputs get a temporary, so that running values are not seen.
  std::optional<Outcome> make_private() {
    Names accumulators;
    for (const auto& [name, r] : readers_) {
      if (!program().statement(name)->reduction) continue;
      add(accumulators, name);
      for (const std::string& s : r.sources) add(accumulators, s);
    }
    for (const std::string& name : accumulators) {
      const std::string tensor = program().statement(name)->write.tensor;
      if (program().tensor(tensor)->kind != TensorKind::Output) continue;
      const Expected<Schedule> next = edit::privatize_output(w_, name, band_);
      if (!next) return illegal(next.error().why, next.error().suggest);
      w_ = *next;
      rename_reader(name, "S_" + new_accumulator(tensor));
    }
    return std::nullopt;
  }

  // The temporary that the copy into `tensor` reads.
  std::string new_accumulator(const std::string& tensor) const {
    return program().statement("S_" + tensor)->reads[0].tensor;
  }

  void rename_reader(const std::string& from, const std::string& to) {
    const auto rename = [&](Names& v) { std::replace(v.begin(), v.end(), from, to); };
    if (auto it = readers_.find(from); it != readers_.end()) {
      readers_[to] = it->second;
      readers_.erase(from);
    }
    for (auto& [name, r] : readers_) rename(r.sources), rename(r.via);
    rename(running_);
  }

  std::optional<Outcome> repair_all() {
    Names order;
    for (const Statement& s : program().statements)
      if (readers_.contains(s.name) && s.reduction) order.push_back(s.name);
    for (const std::string& target : order) {
      const Doing doing([&] { return "repair of " + target; });
      Reader r = readers_.at(target);
      if (auto stop = take_over(target, r)) return stop;
      RepairRequest q;
      q.program = w_.program;
      q.target = target;
      q.sources = in_program_order(r.sources);
      q.via = in_program_order(r.via);
      q.others = running_;
      q.band = band_;
      q.policy = policy_of(params_);
      Expected<RepairResult> made = derive_repair(q);
      if (!made) {
        std::string why =
            (witness_ ? witness_->text + "; " : "") + made.error().asked + ": " + made.error().why;
        return illegal(std::move(why), made.error().suggest);
      }
      accept(*made);
    }
    return std::nullopt;
  }

  // A repair that the target already has at this band is derived anew for all its sources.
  std::optional<Outcome> take_over(const std::string& target, Reader& r) {
    for (size_t k = 0; k < w_.repairs.size(); ++k) {
      const Repair& old = w_.repairs[k];
      if (old.targets.empty() || old.targets[0] != target) continue;
      if (old.band != band_)
        return illegal(target + " is already repaired at band " + std::to_string(old.band), "");
      if (old.targets.size() > 1)
        return illegal(target + " already has a family of accumulators for other sources",
                       "fuse all of them in one step");
      for (const std::string& s : old.sources) add(r.sources, s);
      for (const std::string& v : old.via) add(r.via, v), add(running_, v);
      w_.repairs.erase(w_.repairs.begin() + static_cast<std::ptrdiff_t>(k));
      break;
    }
    return std::nullopt;
  }

  Names in_program_order(const Names& v) const {
    Names out;
    for (const Statement& s : program().statements)
      if (in(v, s.name)) out.push_back(s.name);
    return out;
  }

  // New statements go into the tree next to the accumulator they belong to: a running count to its
  // source.
  void accept(const RepairResult& r) {
    if (!r.auxiliary.empty() || !r.replaced.empty()) w_.program = with_auxiliaries(program(), r);
    for (auto s = r.auxiliary.rbegin(); s != r.auxiliary.rend(); ++s) {
      std::string like = r.repair.targets[0];
      if (in(r.repair.sources, s->name))
        for (const std::string& q : r.repair.sources)
          if (q != s->name &&
              s->write.tensor.starts_with(program().statement(q)->write.tensor + "_n"))
            like = q;
      w_ = edit::add_beside(w_, *s, like);
    }
    w_.repairs.push_back(r.repair);
  }

  // { element of the target -> band values at which it gets a term }, and at which a source's
  // element that it reads is updated: no term may come before the first update, no update after the
  // last term (the accumulator would stay relative to an older value).
  std::optional<Outcome> in_step(const Repair& r) const {
    const Statement& t = *program().statement(r.targets[0]);
    const isl::map terms = at_band(t);
    for (const std::string& name : r.sources) {
      const Doing doing([&] { return "iterations of " + name + " and " + t.name; });
      const Statement& s = *program().statement(name);
      const auto term = algebra::inline_term(program(), t, {name}, r.via);
      if (!term) return illegal(term.error().why, term.error().suggest);
      for (const algebra::Leaf& l : term->leaves) {
        if (l.name != s.write.tensor) continue;
        const isl::map element = t.write.map.reverse().apply_range(l.map);
        isl::map updates = element.apply_range(at_band(s)).intersect_domain(terms.domain());
        const isl::map late = updates.subtract(terms.apply_range(not_after(terms)));
        if (!late.intersect_params(program().param_context).is_empty())
          return illegal(s.name + " is updated after the last term of " + t.name +
                             ", which would stay relative to an older value",
                         "give both the same condition");
        const isl::map early = terms.subtract(updates.apply_range(not_after(terms).reverse()));
        if (!early.intersect_params(program().param_context).is_empty())
          return illegal(t.name + " gets terms before " + s.name + " has a value",
                         "give both the same condition");
      }
    }
    return std::nullopt;
  }

  isl::map at_band(const Statement& s) const {
    return s.write.map.intersect_domain(s.domain).reverse().apply_range(
        prefix(w_, band_, s.name, true).as_map().set_range_tuple("at"));
  }

  // { at[x] -> at[y] : y is not after x }
  isl::map not_after(const isl::map& terms) const {
    const unsigned n = n_out(terms);
    std::string x, y, where, equal;
    for (unsigned k = 0; k < n; ++k) {
      const std::string a = "x" + std::to_string(k), b = "y" + std::to_string(k);
      x += (k ? ", " : "") + a;
      y += (k ? ", " : "") + b;
      where += (k ? " or (" : "(") + equal + b + " < " + a + ")";
      equal += b + " = " + a + " and ";
    }
    where += (n ? " or (" : "(") + equal + "0 = 0)";
    return isl::map(program().context->get(), "{ at[" + x + "] -> at[" + y + "] : " + where + " }");
  }

  Outcome with_pays(Outcome o) const {
    o.chosen = params_;
    (*o.chosen)["pays"] = pays_;
    return o;
  }

  Outcome unjudged() const {
    Outcome o;
    o.verdict.why = "not judged";
    o.schedule = w_;
    return o;
  }

  Outcome judged() {
    const Expected<const DependenceSet*> deps = current_deps();
    if (!deps) return unknown(deps.error());
    Outcome o;
    o.verdict = check(w_, **deps);
    if (o.verdict.kind == VerdictKind::Legal || o.verdict.kind == VerdictKind::Repairable) {
      if (witness_) o.verdict.witness = witness_;
      o.schedule = w_;
    } else if (o.verdict.kind == VerdictKind::Illegal) {
      o.verdict.suggest.clear();  // check() knows no step, and suggests this very one
      if (!running_.empty())
        o.verdict.why += "; it computes from running values, but no correction of it is known";
    }
    return o;
  }
};

Outcome roll(const Schedule& s, const DependenceSet* deps, const nlohmann::json& params) {
  auto out = with_quota(s.program->context->get(), 4 * kDefaultQuota,
                        [&] { return RollingUpdate(s, deps, params).run(); });
  if (out) return *out;
  Outcome o;
  o.verdict.why = out.error().why;
  return o;
}

}  // namespace

Outcome rolling_update(const Schedule& s, const DependenceSet& deps, const nlohmann::json& params) {
  return roll(s, &deps, params);
}

TransformInfo info_rolling_update() {
  TransformInfo t;
  t.name = "rolling_update";
  t.summary =
      "fuse reductions with reductions they depend on; corrections pay for the running values they "
      "read";
  t.doc =
      "The tree is edited as by fuse. A reduction that then reads the running value r of another "
      "reduction, directly or "
      "through pointwise statements, keeps T <- h(T, r_old, r_new) (+) g(r_new, c). The correction "
      "h is derived by inversion and "
      "by separation, which must agree, or from a closed family of accumulators (derivatives of g "
      "by r), which adds statements "
      "beside the target. Several sources compose. Pointwise children without the loop (a mean "
      "between two sums) are inlined "
      "into their readers and run behind the loop. Sources and targets that are outputs get a "
      "temporary accumulator and a copy "
      "behind the loop. Refused when a violated dependence is no final value of a reduction, when "
      "r can be zero where it "
      "divides, when a narrowing cast is in the way (numerics fast allows it), or when somebody "
      "else reads what is computed from "
      "running values: recompute that for the target first. A search needs no knowledge of the "
      "operator: take any sequence, any "
      "range of children that fuse offers, and the same depth.";
  t.before =
      "1: sequence\n  2: filter S_m\n    3: band [i = i, j = j]\n  4: filter S_l\n    5: band [i_2 "
      "= i, j_2 = j]";
  t.after =
      "1: sequence\n  7: filter S_m, S_l\n    3: band [i = i, j = j]   repair: l = l * exp(m - "
      "m')\n      8: sequence\n        2: filter S_m\n        4: filter S_l";
  t.params = {edit::node_info("the sequence", ParamRole::Sequence),
              {"first",
               ParamKind::Integer,
               "first child to fuse, from 0",
               0,
               100000,
               {},
               false,
               ParamRole::FirstChild},
              {"last",
               ParamKind::Integer,
               "last child to fuse; pointwise children in between need not have the loop",
               0,
               100000,
               {},
               false,
               ParamRole::LastChild},
              {"depth",
               ParamKind::Integer,
               "how many members to share: all of the loop that carries the reductions, and those "
               "outside it",
               1,
               1000,
               {},
               false,
               ParamRole::SharedMembers},
              {"numerics",
               ParamKind::Choice,
               "what rounding may change; default reassociate",
               0,
               0,
               {"strict", "reassociate", "fast"},
               true},
              {"pays",
               ParamKind::NameList,
               "\"source > reader\" for every running value to pay for; default: what plain fusion "
               "breaks",
               0,
               0,
               {},
               true,
               ParamRole::Payments}};
  t.apply = rolling_update;
  t.edit = [](const Schedule& s, const nlohmann::json& params) {
    return edit::edited("rolling_update", roll(s, nullptr, params));
  };
  return t;
}

}  // namespace nautilus::poly
