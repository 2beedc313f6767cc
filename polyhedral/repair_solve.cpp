// From a term to its corrections: one reference at a time, two methods that must agree, families
// where they fail, guards for the steps before the first term. Free of sets; cached.
#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "polyhedral/repair_internal.h"

namespace nautilus::poly::algebra {
namespace {

constexpr int kMaxMembers = 4;

// A largest subterm over sources and sizes only: what the term knows of the sources.
struct Reference {
  std::string name;                  // "ref0"
  Expr value;                        // over the sources' names
  std::vector<std::string> sources;  // in it
};

std::string primed(const std::string& s) { return s + "'"; }

const SourceFact& source(const Problem& p, const std::string& tensor) {
  return *std::find_if(p.sources.begin(), p.sources.end(),
                       [&](const SourceFact& s) { return s.tensor == tensor; });
}

class Solver {
 public:
  explicit Solver(const Problem& p) : p_(p), facts_(p.facts) {
    for (const SourceFact& s : p.sources) {
      names_.insert(s.tensor);
      facts_[s.tensor] = facts_[primed(s.tensor)] = s.range;
    }
  }

  Expected<Solution> run() {
    if (p_.op != ReduceOp::Sum && p_.op != ReduceOp::Max && p_.op != ReduceOp::Min)
      return refuse("its reduction is " + std::string(reduce_op_name(p_.op)) +
                    ", which distributes over neither * nor +");
    out_.g = p_.g;
    find_references(p_.g);
    if (references_.empty()) return refuse("it does not depend on the running value");
    if (auto bad = undefined_reference()) return refuse(*bad);
    members_ = {abstract_};
    corrections_ = {accumulator(0)};
    inversion_ = separation_ = accumulator(0);
    std::vector<size_t> later;
    for (size_t i = 0; i < references_.size(); ++i) {
      auto done = separable_step(references_[i]);
      if (!done && !is_family_candidate()) return done.error();
      if (!done) later.push_back(i), reasons_.push_back(done.error().why);
    }
    for (size_t k = 0; k < later.size(); ++k)
      if (auto no = family_step(references_[later[k]], reasons_[k])) return *no;
    return finish();
  }

 private:
  const Problem& p_;
  Ranges facts_;
  std::set<std::string> names_;
  Solution out_;
  std::vector<Reference> references_;
  Expr abstract_;                  // g over the references
  std::vector<Expr> members_;      // over the references
  std::vector<Expr> corrections_;  // over t0.., sources and primed sources; guarded
  std::vector<std::string> reasons_;
  std::vector<Expr> plain_;  // unguarded, over t0.., references and primed references
  Expr inversion_, separation_;
  std::vector<std::string> inversion_steps_, separation_steps_;
  bool family_ = false;

  bool is_family_candidate() const { return p_.op == ReduceOp::Sum; }
  Expr accumulator(size_t k) const { return Expr::var("t" + std::to_string(k), p_.type); }

  Refusal refuse(std::string why,
                 std::string suggest = "keep the reductions in loops of their own") const {
    return {"correct an accumulator of " + to_string(p_.g), "", std::move(why), std::move(suggest)};
  }

  // Replaces the largest subterms over sources and sizes by names; equal ones share a name.
  void find_references(const Expr& g) {
    const auto only_sources = [&](const Expr& x) {
      bool only = true, any = false;
      visit(x, [&](const Expr& y) {
        if (y->op == Op::Var) (names_.contains(y->name) ? any : only) = names_.contains(y->name);
        if (y->op == Op::Read || y->op == Op::Index) only = false;
      });
      return only && any;
    };
    references_.clear();
    abstract_ = substitute(g, [&](const Expr& x) -> std::optional<Expr> {
      if (!only_sources(x)) return std::nullopt;
      for (const Reference& r : references_)
        if (r.value == x) return Expr::var(r.name, x->type);
      Reference r{"ref" + std::to_string(references_.size()), x, {}};
      for (const std::string& n : free_vars(x)) r.sources.push_back(n);
      references_.push_back(r);
      facts_[r.name] = facts_[primed(r.name)] = range_of(x, facts_);
      return Expr::var(r.name, x->type);
    });
  }

  std::optional<std::string> undefined_reference() const {
    for (const Reference& r : references_)
      if (auto bad = undefined_part(r.value, facts_)) {
        std::string why = *bad;
        for (const std::string& s : r.sources)
          why += "; " + s + " is a " + std::string(reduce_op_name(source(p_, s).op)) +
                 (source(p_, s).range.why.empty() ? "" : ": " + source(p_, s).range.why);
        return why;
      }
    return std::nullopt;
  }

  // An expression over references in terms of the sources.
  Expr spell_out(const Expr& e) const {
    std::map<std::string, Expr> by;
    for (const Reference& r : references_) {
      std::map<std::string, Expr> primes;
      for (const std::string& s : r.sources)
        primes.emplace(s, Expr::var(primed(s), var_type(r.value, s)));
      by.emplace(r.name, r.value);
      by.emplace(primed(r.name), substitute(r.value, primes));
    }
    return substitute(e, by);
  }

  void discharge(std::string claim, std::string method) {
    out_.obligations.push_back({std::move(claim), std::move(method), true});
  }

  // (a) h(g(r, c), r, r') = g(r', c), (b) h(x (+) y) = h(x) (+) h(y), h(t, r, r) = t for one
  // reference.
  std::optional<Refusal> conditions(const Reference& r, const std::vector<Expr>& h,
                                    const std::vector<Expr>& g) {
    Ranges facts = with_denominators(abstract_, facts_);
    const auto combine = [&](const Expr& a, const Expr& b) {
      return p_.op == ReduceOp::Sum
                 ? a + b
                 : Expr::make(p_.op == ReduceOp::Max ? Op::Max : Op::Min, {a, b});
    };
    const Expr now = Expr::var(r.name, var_type(abstract_, r.name));
    const Expr next = Expr::var(primed(r.name), now->type);
    for (size_t k = 0; k < h.size(); ++k) {
      std::map<std::string, Expr> terms, xs, ys, both;
      for (size_t l = 0; l < g.size(); ++l) {
        const std::string t = "t" + std::to_string(l);
        const Expr x = Expr::var("x" + std::to_string(l), p_.type),
                   y = Expr::var("y" + std::to_string(l), p_.type);
        terms.emplace(t, g[l]);
        xs.emplace(t, x);
        ys.emplace(t, y);
        both.emplace(t, combine(x, y));
        facts["x" + std::to_string(l)] = facts["y" + std::to_string(l)] = range_of(g[l], facts_);
      }
      const struct {
        const char* claim;
        Expr left, right;
      } claims[] = {{"(a) h(g(r,c), r, r') = g(r', c)", substitute(h[k], terms),
                     substitute(g[k], {{r.name, next}})},
                    {"(b) h(x (+) y) = h(x) (+) h(y)", substitute(h[k], both),
                     combine(substitute(h[k], xs), substitute(h[k], ys))},
                    {"h(t, r, r) = t", substitute(h[k], {{primed(r.name), now}}), accumulator(k)}};
      for (const auto& c : claims) {
        const Proof proof = prove_equal(c.left, c.right, facts);
        const std::string claim = std::string(c.claim) + " for r = " + to_string(r.value) +
                                  (h.size() > 1 ? ", accumulator " + std::to_string(k) : "");
        if (!proof.ok) return refuse("not shown: " + claim + ": " + proof.method);
        discharge(claim, proof.method);
      }
    }
    return std::nullopt;
  }

  // One reference by inversion and by separation; both must be found and agree.
  Expected<bool> separable_step(const Reference& r) {
    auto inv = by_inversion(abstract_, r.name, facts_);
    auto sep = by_separation(abstract_, r.name, p_.op, facts_);
    const std::string about = "for r = " + to_string(r.value);
    if (!inv || !sep) {
      std::string why = !sep ? readable(sep.error().why, r) : readable(inv.error().why, r);
      if (!sep && !inv) why += "; " + readable(inv.error().why, r);
      for (const std::string& s : r.sources)
        if (!source(p_, s).range.why.empty()) why += "; " + s + ": " + source(p_, s).range.why;
      return refuse(why);
    }
    Ranges facts = with_denominators(abstract_, facts_);
    facts["t0"] = range_of(abstract_, facts_);
    const Proof agree = prove_equal(inv->h, sep->h, facts);
    if (!agree.ok)
      return refuse("inversion and separation disagree " + about + ": " + agree.method);
    const std::vector<Obligation> before = out_.obligations;
    discharge("inversion and separation agree " + about, agree.method);
    discharge("H is never zero nor undefined for a running value " + about,
              "range: " + to_string(r.value) + " of " + range_words(facts_.at(r.name)));
    if (auto no = conditions(r, {inv->h}, {abstract_})) {
      out_.obligations = before;
      return *no;
    }
    plain_.push_back(inv->h);
    for (const auto& s : inv->steps) inversion_steps_.push_back(readable(s, r));
    for (const auto& s : sep->steps) separation_steps_.push_back(readable(s, r));
    // In terms of the sources, as cheap as the rules make it.
    const Expr h = in_sources(inv->h);
    for (Expr& c : corrections_)
      c = substitute(guarded(h, {"t0"}, r, 0), std::map<std::string, Expr>{{"t0", c}});
    inversion_ = substitute(h, std::map<std::string, Expr>{{"t0", inversion_}});
    separation_ =
        substitute(simplify(spell_out(sep->h)), std::map<std::string, Expr>{{"t0", separation_}});
    if (r.sources.size() == 1 && one_exponential(h)) out_.exponential.push_back(r.sources[0]);
    return true;
  }

  static bool one_exponential(const Expr& h) {
    int exps = 0, others = 0;
    visit(h, [&](const Expr& x) {
      if (x->op == Op::Exp || x->op == Op::Exp2) ++exps;
      if (x->op == Op::Log || x->op == Op::Pow || x->op == Op::Sqrt || x->op == Op::Rsqrt) ++others;
    });
    return exps == 1 && others == 0 && (h->op == Op::Mul);
  }

  static std::string range_words(const ValueRange& r) {
    return "[" + to_string(Expr::constant(r.lo)) + ", " + to_string(Expr::constant(r.hi)) + "]" +
           (r.excludes_zero ? " without 0" : "");
  }

  static std::string readable(std::string s, const Reference& r) {
    const std::string by =
        r.value->args.empty() ? to_string(r.value) : "(" + to_string(r.value) + ")";
    for (size_t at = s.find(r.name); at != std::string::npos; at = s.find(r.name, at + by.size()))
      s.replace(at, r.name.size(), by);
    return s;
  }

  Expr in_sources(const Expr& h) const {
    const Expr e = spell_out(h);
    const auto tidy = rewrite_without(e, {}, facts_);
    return tidy ? *tidy : simplify(e);
  }

  // A closed family for one reference; earlier (separable) corrections apply to each new member
  // alike.
  std::optional<Refusal> family_step(Reference& r, const std::string& reason) {
    family_ = true;
    use_running_count(r);
    const int room = kMaxMembers / static_cast<int>(members_.size());
    std::vector<Family> families;
    size_t k = 0;
    for (const Expr& m : members_) {
      auto f = by_family(m, r.name, with_denominators(abstract_, facts_), room);
      if (!f) return refuse(reason + "; " + readable(f.error().why, r));
      k = std::max(k, f->members.size());
      families.push_back(std::move(*f));
    }
    for (const Family& f : families)
      if (f.members.size() != k || f.h != families[0].h)
        return refuse(reason + "; its members close under changes of " + to_string(r.value) +
                      " at different orders");
    for (const Family& f : families)
      if (auto no = conditions(r, f.h, f.members)) return no;
    record_family(r, families);
    extend(r, families, k);
    return std::nullopt;
  }

  // A sum over N terms divided by N: until the end, the mean of the terms so far is the better
  // reference (any sequence of references that ends at the final value is right, and the count ends
  // at N).
  void use_running_count(Reference& r) {
    const Expr& v = r.value;
    if (v->op != Op::Div || v->args[0]->op != Op::Var) return;
    const SourceFact& s = source(p_, v->args[0]->name);
    if (!s.count || !(s.count == v->args[1]) || s.op != ReduceOp::Sum) return;
    const Expr mean = v->args[0] / Expr::var(s.count_name, s.type);
    out_.g = substitute(
        out_.g, [&](const Expr& x) { return x == v ? std::optional<Expr>(mean) : std::nullopt; });
    out_.counted.push_back(s.tensor);
    facts_[s.count_name] = facts_[primed(s.count_name)] =
        between(1, std::numeric_limits<double>::infinity(), true);
    discharge(to_string(v) + " may be " + to_string(mean) +
                  " on the way: the number of terms ends at " + to_string(v->args[1]),
              "set equality");
    r.value = mean;
    r.sources.push_back(s.count_name);
  }

  void record_family(const Reference& r, const std::vector<Family>& families) {
    Derivation d{"family", {}, Expr()};
    for (const Family& f : families)
      for (const std::string& s : f.steps) d.steps.push_back(readable(s, r));
    d.correction = spell_out(families[0].h[0]);
    out_.derivations.push_back(std::move(d));
    for (const Family& f : families)
      for (Obligation o : f.obligations) {
        o.claim = readable(o.claim, r);
        out_.obligations.push_back(std::move(o));
      }
  }

  // members: derivative order outermost; t_{b n + m} belongs to the b-th derivative of member m.
  void extend(const Reference& r, const std::vector<Family>& families, size_t k) {
    const size_t n = members_.size();
    std::vector<Expr> members, corrections;
    for (size_t b = 0; b < k; ++b)
      for (size_t m = 0; m < n; ++m) {
        members.push_back(families[m].members[b]);
        std::map<std::string, Expr> earlier;  // what the earlier corrections make of t_{l n + m}
        std::vector<std::string> names;
        for (size_t l = 0; l < k; ++l) {
          std::map<std::string, Expr> shift;
          for (size_t q = 0; q < n; ++q)
            shift.emplace("t" + std::to_string(q), accumulator(l * n + q));
          earlier.emplace("t" + std::to_string(l), substitute(corrections_[m], shift));
          names.push_back("t" + std::to_string(l));
        }
        const Expr h = guarded(spell_out(families[0].h[b]), names, r, b);
        corrections.push_back(substitute(h, earlier));
      }
    members_ = std::move(members);
    corrections_ = std::move(corrections);
  }

  double identity_of(const std::string& s) const {
    for (const SourceFact& f : p_.sources)
      if (f.tensor == s) return f.identity;
    return 0;  // a running count
  }

  // Before the first term the old value of a source is its reduction's identity; the accumulators
  // are at theirs and must stay there. Adds what is needed: keep t when the reference did not move,
  // or when a source was at its identity.
  Expr guarded(const Expr& h, const std::vector<std::string>& accumulators, const Reference& r,
               size_t which) const {
    Expr keep;
    const auto add = [&](const Expr& c) { keep = keep ? Expr::make(Op::Or, {keep, c}) : c; };
    for (const std::string& s : r.sources) {
      const Expr old = Expr::var(s, var_type(r.value, s)), now = Expr::var(primed(s), old->type);
      const double id = identity_of(s);
      bool from_identity = false;
      for (double v : {1.0, 2.5, 0.25, -3.0}) {
        const ValueRange& range = facts_.at(s);
        if (v < range.lo || v > range.hi) continue;
        from_identity |= !stays(h, accumulators, which, r, s, id, v);
      }
      if (from_identity) {
        add(Expr::make(Op::Eq, {old, Expr::constant(id, old->type)}));
      } else if (!stays(h, accumulators, which, r, s, id, id)) {
        add(Expr::make(Op::Eq, {old, now}));
      }
    }
    return keep ? Expr::make(Op::Select, {keep, accumulator(which), h}) : h;
  }

  // Whether h leaves the identity of the target alone when source s goes from a to b (other sources
  // stay at 1.5).
  bool stays(const Expr& h, const std::vector<std::string>& accumulators, size_t which,
             const Reference& r, const std::string& s, double a, double b) const {
    EvalEnv env;
    for (const std::string& t : accumulators) env.vars[t] = p_.identity;
    for (const std::string& o : r.sources) env.vars[o] = env.vars[primed(o)] = 1.5;
    env.vars[s] = a;
    env.vars[primed(s)] = b;
    env.param = [](const std::string&) { return 7.0; };
    (void)which;
    return evaluate(h, env) == p_.identity;
  }

  Expected<Solution> finish() {
    for (const Expr& m : members_) {
      const Expr e = simplify(spell_out(m));
      out_.members.push_back(out_.members.empty() ? out_.g : e);
    }
    for (const Expr& c : corrections_) out_.corrections.push_back(simplify(c));
    if (!inversion_steps_.empty()) {
      out_.derivations.insert(out_.derivations.begin(),
                              {"separation", separation_steps_, separation_});
      out_.derivations.insert(out_.derivations.begin(),
                              {"inversion", inversion_steps_, inversion_});
    }
    discharge("no NaN before the first term and for rows without terms: the accumulators stay at " +
                  to_string(Expr::constant(p_.identity)),
              "evaluated at the sources' identities");
    return out_;
  }
};

std::string problem_key(const Problem& p) {
  const auto number = [](double v) { return to_string(Expr::constant(v, Type::F64)); };
  const auto range = [&](const ValueRange& r) {
    return number(r.lo) + ".." + number(r.hi) + (r.excludes_zero ? "!0" : "");
  };
  std::string k = to_string(p.g) + "|" + std::string(reduce_op_name(p.op)) + "|" +
                  std::string(type_name(p.type)) + "|" + number(p.identity);
  for (const SourceFact& s : p.sources)
    k += "|" + s.tensor + ":" + std::string(reduce_op_name(s.op)) + ":" +
         std::string(type_name(s.type)) + ":" + number(s.identity) + ":" + range(s.range) + ":" +
         to_string(s.count) + ":" + s.count_name;
  for (const auto& [n, r] : p.facts) k += "|" + n + "=" + range(r);
  return k;
}

}  // namespace

Expected<Solution> solve(const Problem& p) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<std::string, Expected<Solution>>;
  const std::string key = problem_key(p);
  {
    std::lock_guard lock(mutex);
    if (auto it = known.find(key); it != known.end()) return it->second;
  }
  Expected<Solution> s = Solver(p).run();
  std::lock_guard lock(mutex);
  if (known.size() >= 4096) known.clear();
  known.emplace(key, s);
  return s;
}

}  // namespace nautilus::poly::algebra
