// derive_repair: from statements and sets to an algebraic problem and back.
#include <algorithm>
#include <cmath>

#include "polyhedral/deadline.h"
#include "polyhedral/repair_internal.h"

#include "polyhedral/names.h"

namespace nautilus::poly {

std::string_view numeric_tag_name(NumericTag t) {
  switch (t) {
    case NumericTag::Exact:
      return "exact";
    case NumericTag::Reassociates:
      return "reassociates";
    case NumericTag::Approximates:
      return "approximates";
  }
  return "";
}

namespace {

using namespace algebra;

// Names that corrections use for accumulators and values: t0, c3, x1, ref0 ...
bool reserved(const std::string& name) {
  for (const char* prefix : {"t", "c", "x", "y", "u", "a", "ref"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string rest = name.substr(std::string(prefix).size());
    if (rest == "" ? name == "ref" : std::all_of(rest.begin(), rest.end(), [](char c) {
          return c >= '0' && c <= '9';
        }))
      return true;
  }
  return name.ends_with("'");
}

// A stale reference scales terms by at most 2^8: far from overflow in every type that accumulates,
// and rare to be left by chance.
constexpr double kLazyBound = 8;

class Deriver {
 public:
  explicit Deriver(const RepairRequest& r) : r_(r), p_(*r.program) {}

  Expected<RepairResult> run() {
    if (auto no = check_request()) return *no;
    auto inlined = inline_term(p_, *target_, r_.sources, r_.via);
    if (!inlined) return refuse(inlined.error().why, inlined.error().suggest);
    term_ = std::move(*inlined);
    for (const std::string& s : r_.sources)
      if (contains_var(term_.g, p_.statement(s)->write.tensor)) used_.push_back(p_.statement(s));
    if (auto no = check_term()) return *no;
    auto solution = solve(problem());
    if (!solution) return refuse(solution.error().why, solution.error().suggest);
    return assemble(*solution);
  }

 private:
  const RepairRequest& r_;
  const Program& p_;
  const Statement* target_ = nullptr;
  std::vector<const Statement*> used_;  // sources that the term reads
  InlinedTerm term_;
  std::vector<std::string> casts_;  // narrowing casts dropped under Fast, with their bounds

  Refusal refuse(std::string why, std::string suggest = "") const {
    std::string sources;
    for (const std::string& s : r_.sources) sources += (sources.empty() ? "" : ", ") + s;
    return {"repair " + r_.target + " for running values of " + sources, r_.target, std::move(why),
            suggest.empty() ? "keep " + r_.target + " in a loop of its own" : std::move(suggest)};
  }

  std::optional<Refusal> check_request() {
    target_ = p_.statement(r_.target);
    if (!target_ || !target_->reduction) return refuse("there is no reduction " + r_.target);
    if (r_.policy == RepairPolicy::Strict)
      return refuse("a correction changes the order of rounding, which strict numerics forbids",
                    "numerics reassociate");
    for (const std::string& s : r_.sources) {
      const Statement* st = p_.statement(s);
      if (!st || !st->reduction) return refuse("the source " + s + " is not a reduction");
      if (reserved(st->write.tensor))
        return refuse("the name " + st->write.tensor + " is used by corrections", "rename it");
    }
    const Tensor* t = p_.tensor(target_->write.tensor);
    if (!t || !is_float(t->type))
      return refuse(target_->write.tensor + " is accumulated in " +
                    std::string(t ? type_name(t->type) : "nothing") +
                    ": corrections need floating point");
    for (const std::string& v : r_.via)
      if (auto no = check_via(v)) return no;
    return std::nullopt;
  }

  // A via statement runs with running values: nobody outside may see them.
  std::optional<Refusal> check_via(const std::string& name) const {
    const Statement* v = p_.statement(name);
    if (!v || v->reduction) return refuse(name + " is not a pointwise statement");
    const Tensor* t = p_.tensor(v->write.tensor);
    if (!t || t->kind == TensorKind::Output)
      return refuse(v->write.tensor + " is an output, but would be computed from running values",
                    "recompute it for the target");
    for (const Statement& s : p_.statements) {
      if (s.name == r_.target || in(r_.via, s.name) || in(r_.others, s.name)) continue;
      for (const Access& a : s.reads)
        if (a.tensor == v->write.tensor)
          return refuse(
              s.name + " also reads " + v->write.tensor +
                  ", which would be computed from running values",
              "recompute " + v->write.tensor + " for the target, or fuse " + s.name + " too");
    }
    return std::nullopt;
  }

  bool depends(const Expr& e) const {
    return std::any_of(used_.begin(), used_.end(),
                       [&](const Statement* s) { return contains_var(e, s->write.tensor); });
  }

  std::optional<Refusal> check_term() {
    if (used_.empty()) return refuse("it reads none of them: no repair is needed", "fuse");
    if (term_.guard && depends(term_.guard))
      return refuse("its condition depends on a running value");
    if (auto bad = unguarded_terms(p_, {r_.target}, r_.sources, r_.via))
      return refuse(*bad, "give both the same condition");
    std::optional<Refusal> no;
    term_.g = substitute(term_.g, [&](const Expr& x) { return drop_cast(x, no); });
    return no;
  }

  // Widening casts are the identity on numbers; narrowing ones of what depends on a source stand in
  // the way.
  std::optional<Expr> drop_cast(const Expr& x, std::optional<Refusal>& no) {
    if (x->op != Op::Cast || !depends(x)) return std::nullopt;
    const Expr inner = substitute(x->args[0], [&](const Expr& y) { return drop_cast(y, no); });
    const bool widening = is_float(x->type) && type_bytes(x->type) >= 4 &&
                          type_bytes(x->type) >= type_bytes(x->args[0]->type);
    if (widening) return inner;
    const std::string what =
        "rounding to " + std::string(type_name(x->type)) + " (" + to_string(x) + ")";
    if (!is_float(x->type)) {
      if (!no) no = refuse(what + " inside the term does not commute with the correction");
    } else if (r_.policy != RepairPolicy::Fast) {
      if (!no)
        no =
            refuse(what + " inside the term does not commute with the correction", "numerics fast");
    } else {
      const int digits = x->type == Type::F16    ? 11
                         : x->type == Type::BF16 ? 8
                         : x->type == Type::E4M3 ? 4
                         : x->type == Type::E5M2 ? 3
                                                 : 24;
      casts_.push_back(what +
                       ": each term is rounded once relative to a running reference: relative "
                       "error at most 2^-" +
                       std::to_string(digits) + " a term, as before");
    }
    return inner;
  }

  Type accumulator_type() const { return p_.tensor(target_->write.tensor)->type; }

  // "<source>_n", unless the name is taken by something else.
  std::string count_name(const Statement& s) const {
    std::string name = s.write.tensor + "_n";
    while (p_.tensor(name) && !is_count(name, s)) name += "n";
    return name;
  }

  bool is_count(const std::string& tensor, const Statement& s) const {
    const Statement* n = p_.statement("S_" + tensor);
    return n && n->reduction && n->reduction->op == ReduceOp::Sum &&
           n->reduction->dims == s.reduction->dims && n->expr->op == Op::Const &&
           n->expr->value == 1 && !n->guard &&
           set_tuple_name(n->domain, s.name).is_equal(s.domain) &&
           n->write.map.set_domain_tuple(s.name)
               .set_range_tuple(s.write.tensor)
               .is_equal(s.write.map);
  }

  Problem problem() const {
    Problem q;
    q.g = simplify(term_.g);
    q.op = target_->reduction->op;
    q.identity = identity_value(*target_->reduction);
    q.type = accumulator_type();
    for (const Leaf& l : term_.leaves)
      if (!l.tensor.empty() && contains_var(q.g, l.name))
        q.facts[l.name] = tensor_range(p_, l.tensor);
    visit(q.g, [&](const Expr& x) {
      if (x->op == Op::Param) q.facts["@" + x->name] = param_range(p_, *target_, x->name);
    });
    for (const Statement* s : used_) {
      SourceFact f;
      f.tensor = s->write.tensor;
      f.op = s->reduction->op;
      f.identity = identity_value(*s->reduction);
      f.range = running_range(p_, s->name);
      f.type = p_.tensor(f.tensor)->type;
      f.count_name = count_name(*s);
      visit(q.g, [&](const Expr& x) {
        if (f.count || x->op != Op::Div ||
            !(x->args[0]->op == Op::Var && x->args[0]->name == f.tensor))
          return;
        const Op size = x->args[1]->op;
        if ((size == Op::Param || size == Op::Const) && counts(p_, *s, x->args[1]))
          f.count = x->args[1];
      });
      q.sources.push_back(std::move(f));
    }
    return q;
  }

  Tensor like(const Tensor& t, const std::string& name) const {
    Tensor n = t;
    n.name = name;
    n.kind = TensorKind::Temp;
    return n;
  }

  std::string auxiliary_name(size_t k) const {
    std::string name = target_->write.tensor + "_d" + std::to_string(k);
    while (p_.tensor(name)) name += "_";
    return name;
  }

  // The running counts: sum of 1 over the instances of the source.
  void add_counts(const Solution& s, RepairResult& out) {
    for (const std::string& tensor : s.counted) {
      const Statement& src = **std::find_if(used_.begin(), used_.end(),
                                            [&](auto* u) { return u->write.tensor == tensor; });
      const std::string name = count_name(src);
      out.repair.sources.push_back("S_" + name);
      out.repair.source_tensors.push_back(name);
      const Leaf& seen = *std::find_if(term_.leaves.begin(), term_.leaves.end(),
                                       [&](auto& l) { return l.name == tensor; });
      Leaf leaf = seen;
      leaf.name = leaf.tensor = name;
      leaf.map = seen.map.set_range_tuple(name);
      term_.leaves.push_back(leaf);
      if (p_.tensor(name)) continue;  // an earlier repair made it
      out.auxiliary.push_back(
          statement_from(src, name, Expr::constant(1, p_.tensor(tensor)->type), Expr(), {}));
      out.auxiliary_tensors.push_back(like(*p_.tensor(tensor), name));
    }
  }

  Expected<RepairResult> assemble(const Solution& s) {
    RepairResult out;
    Repair& r = out.repair;
    r.band = r_.band;
    r.targets = {r_.target};
    r.target_tensors = {target_->write.tensor};
    for (const Statement* u : used_) {
      r.sources.push_back(u->name);
      r.source_tensors.push_back(u->write.tensor);
    }
    r.via = r_.via;
    r.term = s.g;
    r.corrections = s.corrections;
    r.derivations = s.derivations;
    r.obligations = s.obligations;
    r.numeric = casts_.empty() ? NumericTag::Reassociates : NumericTag::Approximates;
    const Expected<InlinedTerm> inlined = inline_term(p_, *target_, r_.sources, r_.via);
    if (!inlined) return inlined.error();
    const InlinedTerm& original = *inlined;
    std::string open;
    for (const Statement* u : used_) {
      const auto rest = s.members.size() == 1 && s.counted.empty()
                            ? rest_value(p_, *target_, original, *u, r_.via)
                            : std::nullopt;
      const double id = identity_value(*u->reduction);
      const std::string at = u->write.tensor + " is " + to_string(Expr::constant(id));
      if (rest) {
        r.rest[u->write.tensor] = {id, *rest};
        r.obligations.push_back(
            {"while " + at + " the terms are " +
                 to_string(Expr::constant(identity_value(*target_->reduction))) +
                 ": it is read as " + to_string(Expr::constant(*rest)) + " there",
             "evaluated", true});
      } else if (std::isinf(id)) {
        open += "; terms while " + at + " are not guarded";
      }
    }
    r.note = "an element without terms keeps " +
             to_string(Expr::constant(identity_value(*target_->reduction))) +
             "; inputs are finite numbers" +
             (r.rest.empty() ? "" : " or keep the sources at their identity") + open;
    for (const std::string& c : casts_) {
      r.note += "; " + c;
      r.obligations.push_back({c, "allowed by numerics fast", true});
    }
    add_counts(s, out);
    if (!s.counted.empty()) {
      Statement t = statement_from(*target_, target_->write.tensor, s.g, term_.guard, term_.leaves);
      rename(t, target_->name);
      out.replaced.push_back(std::move(t));
      r.via.clear();
    }
    for (size_t k = 1; k < s.members.size(); ++k) {
      const std::string name = auxiliary_name(k);
      out.auxiliary.push_back(
          statement_from(*target_, name, s.members[k], term_.guard, term_.leaves));
      out.auxiliary_tensors.push_back(like(*p_.tensor(target_->write.tensor), name));
      r.targets.push_back("S_" + name);
      r.target_tensors.push_back(name);
    }
    if ((!out.auxiliary.empty() || !out.replaced.empty()) &&
        !p_.original.map().is_equal(textual_order(p_).map()))
      return refuse(
          "it needs further accumulators, and the program's own order is not one loop nest a "
          "statement");
    set_lazy(s, r);
    if (!casts_.empty()) return out;  // the terms are compared without their casts below
    const ProgramPtr complete = with_auxiliaries(p_, out);
    if (auto bad = refute_repair(*complete, r)) return refuse("refuted: " + *bad);
    r.obligations.push_back({"(a), (b) and the first step on terms read off the program anew",
                             "randomized (200 points, 50 digits)", true});
    return out;
  }

  static void rename(Statement& s, const std::string& name) {
    const std::string old = s.name;
    s.name = name;
    s.domain = set_tuple_name(s.domain, name);
    s.write.map = s.write.map.set_domain_tuple(name);
    for (Access& a : s.reads) a.map = a.map.set_domain_tuple(name);
    for (isl::aff& a : s.indices)
      a = a.pullback(
          isl::multi_aff(s.domain.space().identity_multi_aff_on_domain()).set_range_tuple(old));
  }

  void set_lazy(const Solution& s, Repair& r) const {
    for (const std::string& tensor : s.exponential)
      for (const Statement* u : used_) {
        if (u->write.tensor != tensor) continue;
        const auto cancels = lazy_reference(p_, u->name);
        if (!cancels) continue;
        Ranges facts;
        for (const Statement* v : used_)
          facts[v->write.tensor] = facts[v->write.tensor + "'"] = running_range(p_, v->name);
        const auto condition = may_stay(r, tensor, kLazyBound, facts);
        if (!condition) continue;
        r.obligations.push_back(*cancels);
        r.may_stay = *condition;
        r.lazy_source = tensor;
        r.lazy_bound = kLazyBound;
        return;
      }
  }
};

}  // namespace

namespace {

// All that a derivation depends on, but for the band, which it only passes on.
std::string key_of(const RepairRequest& r) {
  std::string key = "derive_repair " + std::to_string(content_hash(*r.program)) + " " +
                    std::to_string(static_cast<int>(r.policy)) + " " + r.target;
  for (const auto* names : {&r.sources, &r.via, &r.others}) {
    key += " |";
    for (const std::string& n : *names) key += " " + n;
  }
  return key;
}

}  // namespace

Expected<RepairResult> derive_repair(const RepairRequest& r) {
  Context& context = *r.program->context;
  const std::string key = key_of(r);
  if (const auto known = context.known<RepairResult>(key)) {
    RepairResult out = *known;
    out.repair.band = r.band;
    return out;
  }
  Expected<RepairResult> made = Deriver(r).run();
  if (made && !out_of_time()) context.keep(key, *made);
  return made;
}

Expected<Expr> inlined_term(const RepairRequest& r) {
  const Statement* t = r.program->statement(r.target);
  if (!t) return Refusal{"inline the term of " + r.target, "", "there is no such statement", ""};
  auto term = inline_term(*r.program, *t, r.sources, r.via);
  if (!term) return term.error();
  return term->g;
}

ProgramPtr with_auxiliaries(const Program& p, const RepairResult& r) {
  auto out = std::make_shared<Program>(p);
  for (const Statement& s : r.replaced)
    for (Statement& old : out->statements)
      if (old.name == s.name) old = s;
  for (const Tensor& t : r.auxiliary_tensors) out->tensors.push_back(t);
  for (const Statement& s : r.auxiliary) {
    // A running count belongs behind its source, the rest behind the target (in order).
    const bool count = in(r.repair.sources, s.name);
    std::string after = count ? r.repair.sources[0] : r.repair.targets[0];
    if (count)
      for (const Statement& q : p.statements)
        if (s.write.tensor.starts_with(q.write.tensor + "_n") && in(r.repair.sources, q.name))
          after = q.name;
    auto at = std::find_if(out->statements.begin(), out->statements.end(),
                           [&](const Statement& q) { return q.name == after; });
    if (at != out->statements.end()) ++at;
    if (!count)
      while (at != out->statements.end() && in(r.repair.targets, at->name)) ++at;
    out->statements.insert(at, s);
  }
  if (!r.auxiliary.empty() || !r.replaced.empty()) out->original = textual_order(*out);
  return out;
}

}  // namespace nautilus::poly
