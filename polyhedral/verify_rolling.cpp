#include "polyhedral/deadline.h"
#include "polyhedral/verify_rolling.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "polyhedral/names.h"
#include "polyhedral/verify_rolling_loop.h"

namespace nautilus::poly::verifying {

namespace {

constexpr int64_t kReach = 1;  // of the boxes that stay present
constexpr size_t kCompared = 4000;
constexpr size_t kFewInstances = 20'000, kInstances = 100'000;  // instances of one statement

// The same function without its outermost division: iterations one by one instead of tile by tile.
isl::aff untiled(const isl::aff& a) {
  const LinearAff f = linear_form(a);
  int only = -1, used = 0;
  for (size_t k = 0; k < f.divs.size(); ++k)
    if (f.divs[k] != 0) ++used, only = f.divs[k] == f.denominator ? static_cast<int>(k) : -1;
  const bool plain =
      std::all_of(f.dims.begin(), f.dims.end(), [](int64_t c) { return c == 0; }) &&
      std::all_of(f.params.begin(), f.params.end(), [](int64_t c) { return c == 0; });
  if (used != 1 || only < 0 || !plain) return a;
  const LinearDiv& d = f.div_defs[static_cast<size_t>(only)];
  if (!d.known || std::any_of(d.divs.begin(), d.divs.end(), [](int64_t c) { return c != 0; }) ||
      std::any_of(d.params.begin(), d.params.end(), [](int64_t c) { return c != 0; }))
    return a;
  isl::aff out =
      a.space().domain().zero_aff_on_domain().add_constant(static_cast<long>(d.constant));
  const isl::multi_aff x = a.space().domain().identity_multi_aff_on_domain();
  for (size_t k = 0; k < d.dims.size(); ++k)
    if (d.dims[k] != 0) {
      const isl::aff dim = x.at(static_cast<int>(k));
      out = out.add(dim.scale(isl::val(a.ctx(), static_cast<long>(d.dims[k]))));
    }
  return out;
}

// Members of the bands above (and at) the repairs' that move along a reduced dimension of one of
// their reductions: the others are fixed while one element is accumulated. Where they differ
// between source and target is for the order's check.
std::vector<unsigned> turns(const Schedule& s, const std::vector<const Repair*>& repairs) {
  std::set<unsigned> out;
  for (const Repair* r : repairs)
    for (const auto* names : {&r->sources, &r->targets})
      for (const std::string& n : *names) {
        const Statement& st = *s.program->statement(n);
        const isl::multi_aff time = prefix(s, r->band, n, true);
        for (unsigned k = 0; k < time.size(); ++k) {
          const LinearAff f = linear_form(time.at(static_cast<int>(k)));
          for (int d : st.reduction->dims) {
            bool used = f.dims[static_cast<size_t>(d)] != 0;
            for (const LinearDiv& v : f.div_defs) used = used || v.dims[static_cast<size_t>(d)];
            if (used) out.insert(k);
          }
        }
      }
  return {out.begin(), out.end()};
}

class Band {
 public:
  Band(const Schedule& s, const std::vector<const Repair*>& repairs)
      : s_(s), repairs_(repairs), band_(find(s, repairs[0]->band)), rolled_{repairs, {}, {}, {}} {
    for (const Repair* r : repairs)
      for (const auto* names : {&r->sources, &r->via, &r->targets})
        for (const std::string& n : *names) add(rolled_.all, n);
    for (const std::string& n : band_->statements)
      if (in(rolled_.all, n)) rolled_.order.push_back(n);
    turns_ = turns(s, repairs);
  }

  std::optional<Doubt> run() {
    const Program& p = *s_.program;
    std::optional<std::string> undecided;
    for (const Sizes& sizes : sample_sizes(p)) {
      const auto bound = instantiate(p, sizes);
      if (!bound) continue;
      Machine machine(*bound);
      bound_ = &*bound, machine_ = &machine, rolled_.sizes = &sizes;
      rolled_.given.clear();
      for (const Tensor& t : bound->tensors) rolled_.given.insert(t.name);
      for (const std::string& n : rolled_.all)
        rolled_.given.erase(bound->statement(n)->write.tensor);
      small_ = std::all_of(sizes.begin(), sizes.end(), [](auto& x) { return x.second <= 8; }) &&
               !sizes.empty();
      try {
        if (auto bad = at_these_sizes()) return bad;
      } catch (const Undecided& u) {
        undecided = u.why;
      }
    }
    if (compared_ == 0 && (undecided || met_))
      return Doubt{undecided ? *undecided : "no sample of its values gave a number", true};
    return std::nullopt;
  }

 private:
  const Schedule& s_;
  const std::vector<const Repair*>& repairs_;
  const Node* band_;
  Rolled rolled_;
  std::vector<unsigned> turns_;  // members of the prefix, see turns()
  int compared_ = 0;
  bool met_ = false;  // some element had terms
  // At the sizes in hand:
  const Program* bound_ = nullptr;
  Machine* machine_ = nullptr;
  bool small_ = false;

  bool guarded() const {
    return std::any_of(rolled_.all.begin(), rolled_.all.end(),
                       [&](const std::string& n) { return bound_->statement(n)->guard; });
  }

  // A difference that a thinned sample shows is shown by the whole one, or nobody knows. Throws
  // Undecided where no sample says anything.
  std::optional<Doubt> at_these_sizes() {
    std::optional<Doubt> out;
    for (const bool thin : {true, false}) {
      if (thin && small_) continue;
      try {
        const auto bad = all_experiments(thin);
        if (!bad) return std::nullopt;
        if (!out) out = Doubt{*bad};
      } catch (const Undecided&) {
        if (!out) throw;
        out->undecided = true;
      } catch (const std::out_of_range&) {
        return Doubt{"a correction uses a name that is neither an accumulator nor a source"};
      }
    }
    return out;
  }

  enum class Kind { Signed, Positive, Apart, LateSources, NoSources };

  // Two choices of instances, by tiles and one by one; on each all kinds of data.
  std::optional<std::string> all_experiments(bool thin) {
    uint64_t seed = 100;
    for (const bool fine : {true, false}) {
      Picker pick(Picker::Mode::Mixed, ++seed);
      std::map<std::string, Element> one;
      const Elements elements = wanted(pick, one);
      Sample sample(*machine_, rolled_.given, thin ? present(one, seed) : Elements{},
                    thin ? kFewInstances : kInstances);
      sample.thin_alike();
      sample.plan(elements);
      const Times times = times_of(sample, fine);
      for (int draw = 0; draw < (guarded() ? 6 : 1); ++draw)
        for (Kind kind :
             {Kind::Signed, Kind::Positive, Kind::Apart, Kind::LateSources, Kind::NoSources})
          if (auto bad = experiment(kind, ++seed, sample, times, elements)) return bad;
    }
    return std::nullopt;
  }

  // --- what is sampled -------------------------------------------------------------------------

  // Elements of the accumulators: all of a small tensor, or one (a family's at the same place,
  // since they correct each other).
  Elements wanted(Picker& pick, std::map<std::string, Element>& one) const {
    Elements out;
    for (const Repair* r : repairs_) {
      const auto e = pick(bound_->elements(*bound_->tensor(r->target_tensors[0])));
      if (!e) continue;
      for (const std::string& tensor : r->target_tensors) {
        const isl::set all = bound_->elements(*bound_->tensor(tensor));
        out.emplace(tensor, small_ ? all : at_element(all.space(), *e));
        one.emplace(tensor, *e);
      }
    }
    return out;
  }

  Elements present(const std::map<std::string, Element>& one, uint64_t seed) {
    Trail trail;
    for (auto mode : {Picker::Mode::Low, Picker::Mode::High, Picker::Mode::Any}) {
      Picker way(mode, seed);
      for (const auto& [tensor, e] : one) follow(*machine_, rolled_.given, tensor, e, way, trail);
    }
    return around(*bound_, rolled_.given, trail, kReach);
  }

  std::optional<std::string> experiment(Kind kind, uint64_t seed, Sample& sample,
                                        const Times& times, const Elements& elements) {
    const bool positive = kind == Kind::Positive, apart = kind == Kind::Apart;
    Data data(seed * 104729 + 11,
              positive ? 0.25
              : apart  ? -25
                       : -1.5,
              positive ? 2
              : apart  ? 25
                       : 1.5);
    limit_integers(data, *bound_);
    sample.evaluate(data);
    if (kind == Kind::LateSources || kind == Kind::NoSources) {
      if (!hold_back(data, times, sample, kind == Kind::NoSources)) return std::nullopt;
      sample.evaluate(data);
    }
    return compare(sample, data, times, elements, kind == Kind::NoSources);
  }

  Times times_of(const Sample& sample, bool fine) const {
    Times out;
    for (const std::string& n : rolled_.order) {
      const auto instances = sample.instances().find(n);
      if (instances == sample.instances().end() || instances->second.empty()) continue;
      const isl::multi_aff time = prefix(s_, band_->id, n, true);
      std::vector<AffineFunction> functions;
      for (unsigned k : turns_) {
        const isl::aff one = time.at(static_cast<int>(k));
        functions.emplace_back(substitute_params(fine ? untiled(one) : one, *rolled_.sizes));
      }
      for (const Element& x : instances->second) {
        Element at;
        for (const AffineFunction& f : functions) at.push_back(f(x));
        out[at][n].push_back(x);
      }
    }
    return out;
  }

  // Sets what sources read in their first iterations (or in all) so that they stay at their
  // identity, where every repair says what is read then. False if that cannot be done.
  bool hold_back(Data& data, const Times& times, const Sample& sample, bool always) const {
    const Machine::Read read = sample.reader();
    std::map<std::string, double> identity;  // of sources
    for (const Repair* r : repairs_) {
      if (r->rest.empty()) return false;
      for (const std::string& n : r->sources) {
        const Statement& s = *bound_->statement(n);
        if (!r->rest.count(s.write.tensor)) return false;
        identity[n] = identity_value(*s.reduction);
      }
    }
    const size_t last = always ? times.size() : (times.size() + 1) / 2;
    bool any = false;
    for (const auto& [source, id] : identity) {
      const Statement& s = *bound_->statement(source);
      for (size_t k = 0; k < s.reads.size(); ++k) {
        const Access& a = s.reads[k];
        if (!rolled_.given.count(a.tensor) || !a.gathers.empty() ||
            !is_float(bound_->tensor(a.tensor)->type))
          continue;
        Data trial = data;
        bool holds = true;
        size_t number = 0;
        for (const auto& [time, by] : times) {
          if (number++ >= last || !holds) break;
          const auto here = by.find(source);
          if (here == by.end()) continue;
          for (const Element& x : here->second) {
            trial.fix(a.tensor, machine_->element(s, static_cast<int>(k), x, read), id);
            const Machine::Read changed = [&](const std::string& t, const Element& e) {
              return rolled_.given.count(t) ? trial.at(*bound_->tensor(t), e) : read(t, e);
            };
            holds = holds && machine_->term(s, x, changed) == static_cast<Real>(id);
          }
        }
        if (!holds) continue;
        data = trial;
        any = true;
        break;
      }
    }
    return any;
  }

  std::optional<std::string> compare(const Sample& truth, const Data& data, const Times& times,
                                     const Elements& elements, bool at_identity) {
    RollingLoop loop(rolled_, *machine_, truth, data);
    if (auto bad = loop.run(times)) return bad;
    for (const Repair* r : repairs_)
      for (const std::string& n : r->targets) {
        const Statement& t = *bound_->statement(n);
        const auto chosen = elements.find(t.write.tensor);
        if (chosen == elements.end()) continue;  // it has none
        for (const Element& e : points(chosen->second, kCompared)) {
          const Real want = truth.value(t.write.tensor, e), got = loop.held(t.write.tensor, e);
          const Real identity = identity_value(*t.reduction);
          met_ = true;
          if (at_identity && std::isnan(want) ? close(got, identity) : std::isnan(want)) continue;
          compared_ += !std::isnan(want);
          if (close(got, want, 1e-6L) || close(got, want, scale(truth, t, e))) continue;
          std::string where = t.write.tensor + "[";
          for (size_t k = 0; k < e.size(); ++k) where += (k ? ", " : "") + std::to_string(e[k]);
          return where + "] ends as " + text(got) + " on sampled data, and should be " +
                 text(std::isnan(want) ? identity : want);
        }
      }
    return std::nullopt;
  }

  // Rounding is relative to the largest term, not to the sum.
  Real scale(const Sample& truth, const Statement& t, const Element& e) const {
    Real out = 1e-6L;
    const Machine::Read read = truth.reader();
    const auto all = truth.instances().find(t.name);
    if (all == truth.instances().end()) return out;
    for (const Element& x : all->second) {
      if (!machine_->runs(t, x, read) || machine_->element(t, -1, x, read) != e) continue;
      const Real v = std::fabs(machine_->term(t, x, read));
      if (std::isfinite(v)) out = std::max(out, v);
    }
    return out;
  }
};

struct RollingAnswer {
  std::optional<Doubt> doubt;
};

// All that the answer depends on: the program, the repairs, and when its statements run.
std::string key_of(const Schedule& s, const std::vector<const Repair*>& repairs) {
  std::string key = "rolling_doubt " + std::to_string(content_hash(*s.program));
  std::vector<std::string> statements;
  for (const Repair* r : repairs) {
    for (const auto* names : {&r->targets, &r->sources, &r->via}) {
      key += " |";
      for (const std::string& n : *names) {
        key += " " + n;
        if (!in(statements, n)) statements.push_back(n);
      }
    }
    for (const Expr& h : r->corrections) key += " ; " + to_string(h);
    for (const auto& [tensor, v] : r->rest)
      key += " " + tensor + " " + text(v.first) + " " + text(v.second);
  }
  for (const std::string& n : find(s, repairs[0]->band)->statements) {
    if (!in(statements, n)) continue;
    const isl::multi_aff time = prefix(s, repairs[0]->band, n, true);
    key += "\n" + n;
    for (unsigned k : turns(s, repairs)) key += " " + isl_text(time.at(static_cast<int>(k)));
  }
  return key;
}

}  // namespace

std::optional<Doubt> rolling_doubt(const Schedule& s, const std::vector<const Repair*>& repairs) {
  Context& context = *s.program->context;
  const std::string key = key_of(s, repairs);
  auto known = context.known<RollingAnswer>(key);
  if (!known) {
    auto made = std::make_shared<const RollingAnswer>(RollingAnswer{Band(s, repairs).run()});
    if (!out_of_time()) context.keep(key, *made);  // a later question may have the time
    known = std::move(made);
  }
  return known->doubt;
}

}  // namespace nautilus::poly::verifying
