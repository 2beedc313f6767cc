#include "polyhedral/verify_program.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "polyhedral/context_hash.h"
#include "polyhedral/deadline.h"
#include "polyhedral/verify_order.h"
#include "polyhedral/verify_structure.h"

namespace nautilus::poly::verifying {

namespace {

constexpr int64_t kRadius = 2;      // of the boxes that stay present
constexpr size_t kElements = 4000;  // compared at once, at most
// Instances of one statement in one sample, at most.
constexpr size_t kThin = 20'000, kWhole = 200'000;

bool same_access(const Access& a, const Access& b) {
  if (a.tensor != b.tensor || a.gathers.size() != b.gathers.size()) return false;
  for (size_t k = 0; k < a.gathers.size(); ++k)
    if (a.gathers[k].dim != b.gathers[k].dim || a.gathers[k].read != b.gathers[k].read)
      return false;
  return a.map.get() == b.map.get() || a.map.is_equal(b.map);
}

bool same_domain(const Statement& a, const Statement& b) {
  return n_dim(a.domain) == n_dim(b.domain) &&
         (plain_equal(a.domain, b.domain) || a.domain.is_equal(b.domain));
}

bool same_fold(const Statement& a, const Statement& b) {
  if (a.reduction.has_value() != b.reduction.has_value()) return false;
  return !a.reduction ||
         (a.reduction->op == b.reduction->op && a.reduction->dims == b.reduction->dims &&
          a.reduction->combine == b.reduction->combine &&
          a.reduction->identity == b.reduction->identity);
}

// The same instances, written and folded alike: only what they compute may differ.
bool corresponds(const Statement& a, const Statement& b) {
  return a.name == b.name && same_fold(a, b) && same_domain(a, b) && same_access(a.write, b.write);
}

bool identical(const Statement& a, const Statement& b) {
  if (a.expr != b.expr || a.guard != b.guard || a.reads.size() != b.reads.size() ||
      a.indices.size() != b.indices.size() || !corresponds(a, b))
    return false;
  for (size_t k = 0; k < a.reads.size(); ++k)
    if (!same_access(a.reads[k], b.reads[k])) return false;
  for (size_t k = 0; k < a.indices.size(); ++k)
    if (!plain_equal(a.indices[k], b.indices[k]) &&
        !a.indices[k].as_map().is_equal(b.indices[k].as_map()))
      return false;
  return true;
}

bool same_shape(const Tensor& a, const Tensor& b) {
  if (a.type != b.type || a.rank() != b.rank()) return false;
  for (size_t k = 0; k < a.rank(); ++k)
    if (!a.extents[k].as_set().is_equal(b.extents[k].as_set())) return false;
  return true;
}

std::string at_text(const std::string& name, const Element& e, const Sizes& sizes) {
  std::string out = name + "[";
  for (size_t k = 0; k < e.size(); ++k) out += (k ? ", " : "") + std::to_string(e[k]);
  out += "]";
  for (const auto& [n, v] : sizes) out += ", " + n + "=" + std::to_string(v);
  return out;
}

// A tensor whose definition changed: by elements, or (all its statements correspond) by instances
// of the statements that compute something else.
struct Change {
  std::string tensor;
  std::vector<std::string> statements;  // by instances
  Names given_now, given_before;        // what the definitions are compared over
};

class Comparison {
 public:
  Comparison(const Program& origin, const Program& now) : origin_(origin), now_(now) {}

  std::optional<Doubt> run() {
    if (auto bad = interface()) return Doubt{*bad};
    if (auto bad = validate(now_))
      return Doubt{"the program is not valid any more: " + bad->text()};
    if (auto bad = overwritten_order()) return Doubt{*bad};
    find_changes();
    for (Change& c : changes_) {
      const Doing doing([&] { return "what " + c.tensor + " is made of"; });
      choose_leaves(c);
      if (auto bad = structure(c)) return Doubt{*bad};
    }
    return values();
  }
  const std::vector<Change>& changes() const { return changes_; }

 private:
  const Program &origin_, &now_;
  Names common_;
  std::vector<Change> changes_;

  std::optional<std::string> interface() {
    if (origin_.params != now_.params || !origin_.param_context.is_equal(now_.param_context))
      return "the sizes are others than before";
    for (const Tensor& t : origin_.tensors) {
      const Tensor* n = now_.tensor(t.name);
      if (t.kind != TensorKind::Temp && (!n || n->kind != t.kind || !same_shape(t, *n)))
        return t.name + " is not the input or output that it was";
      if (n && same_shape(t, *n)) common_.insert(t.name);
    }
    for (const Tensor& n : now_.tensors) {
      const Tensor* t = origin_.tensor(n.name);
      if (n.kind != TensorKind::Temp && (!t || t->kind != n.kind))
        return n.name + " was no input or output";
    }
    return std::nullopt;
  }

  // Tensors of which several instances write one element.
  static Names overwritten(const Program& p) {
    Names out;
    for (const Tensor& t : p.tensors) {
      const auto from = writers_of(p, t.name);
      const bool once = from.size() == 1 &&
                        (from[0]->reduction || from[0]
                                                   ->write.map.intersect_domain(from[0]->domain)
                                                   .intersect_params(p.param_context)
                                                   .is_injective());
      if (!from.empty() && !once) out.insert(t.name);
    }
    return out;
  }

  // Such elements have a value only through the order: it must be the same between the same
  // accesses. Other readers than before are right where all of them, before and now, see the last
  // value.
  std::optional<std::string> overwritten_order() {
    Names several = overwritten(origin_);
    several.merge(overwritten(now_));
    if (several.empty()) return std::nullopt;
    using Key = std::tuple<DepKind, std::string, std::string, std::string>;
    const auto pairs = [&](const Program& p) {
      std::map<Key, isl::map> out;
      const auto all = all_pairs(p);
      for (const Pair& d : *all) {
        if (!several.count(d.tensor)) continue;
        const auto [at, fresh] = out.emplace(Key{d.kind, d.source, d.sink, d.tensor}, d.relation);
        if (!fresh) at->second = at->second.unite(d.relation);
      }
      return out;
    };
    const auto before = pairs(origin_), after = pairs(now_);
    const auto writes = [](const Program& p, const std::string& statement, const std::string& t) {
      const Statement* s = p.statement(statement);
      return s && s->write.tensor == t;
    };
    Names moving;  // tensors that others read before the last value is there
    for (const auto& [key, m] : before)
      if (const auto& [kind, source, sink, t] = key;
          kind == DepKind::Anti && !writes(origin_, source, t))
        moving.insert(t);
    const auto same = [](const auto& all, const Key& key, const isl::map& m) {
      const auto at = all.find(key);
      return at != all.end() && m.is_equal(at->second);
    };
    const auto problem = [](const Key& key) {
      return "overwritten elements of " + std::get<3>(key) + " are reached by " + std::get<1>(key) +
             " and " + std::get<2>(key) + " in another order than before";
    };
    for (const auto& [key, m] : after)
      if (const auto& [kind, source, sink, t] = key;
          !same(before, key, m) &&
          (kind != DepKind::Flow || writes(now_, sink, t) || moving.count(t)))
        return problem(key);
    for (const auto& [key, m] : before)
      if (const auto& [kind, source, sink, t] = key;
          !same(after, key, m) && writes(origin_, source, t) && writes(origin_, sink, t))
        return problem(key);
    return std::nullopt;
  }

  void find_changes() {
    for (const std::string& t : common_) {
      const auto before = writers_of(origin_, t), after = writers_of(now_, t);
      if (after.empty() && now_.tensor(t)->kind == TensorKind::Temp) continue;  // not used any more
      Change c;
      c.tensor = t;
      bool corresponding = before.size() == after.size(), changed = !corresponding;
      for (const Statement* a : after) {
        const Statement* b = origin_.statement(a->name);
        if (b && identical(*b, *a)) continue;
        changed = true;
        corresponding = corresponding && b && b->write.tensor == t && corresponds(*b, *a);
        c.statements.push_back(a->name);
      }
      if (!corresponding) c.statements.clear();
      if (changed) changes_.push_back(std::move(c));
    }
  }

  static std::vector<std::string> read_by(const Program& p, const std::vector<std::string>& names) {
    std::vector<std::string> out;
    for (const std::string& n : names)
      for (const Access& a : p.statement(n)->reads) out.push_back(a.tensor);
    return out;
  }

  // The new definition is followed down to tensors that both programs have; the old one down to
  // those that the new one reads there.
  void choose_leaves(Change& c) {
    c.given_now = common_;
    if (c.statements.empty()) c.given_now.erase(c.tensor);
    const auto wanted =
        c.statements.empty() ? std::vector<std::string>{c.tensor} : read_by(now_, c.statements);
    c.given_before = leaves(cone(now_, c.given_now, wanted), c.given_now);
    for (const std::string& t : wanted)
      if (c.given_now.count(t)) c.given_before.insert(t);
    if (c.statements.empty()) c.given_before.erase(c.tensor);
  }

  std::optional<std::string> structure(const Change& c) {
    if (c.statements.empty())
      if (auto bad = written_otherwise(origin_, now_, c.tensor)) return bad;
    std::optional<std::string> lost;
    for (const bool inputs_only : {false, true}) {
      Support before(origin_, inputs_only ? Names{} : c.given_before),
          after(now_, inputs_only ? Names{} : c.given_now);
      std::optional<std::string> here;
      if (c.statements.empty()) {
        here = dropped(now_, before.of_tensor(c.tensor), after.of_tensor(c.tensor));
      } else {
        for (const std::string& s : c.statements)
          if (!here)
            here = dropped(now_, before.of_instances(*origin_.statement(s)),
                           after.of_instances(*now_.statement(s)));
      }
      if (inputs_only && (before.cyclic() || after.cyclic())) break;
      lost = here;
      if (!lost) break;
    }
    if (lost) return "a part of " + c.tensor + " is missing: " + *lost;
    return c.statements.empty() ? parts_differ(origin_, now_, c.tensor, c.given_now) : std::nullopt;
  }

  // --- values ----------------------------------------------------------------------------------

  struct Bound {
    const Program origin, now;
    const Sizes sizes;
    const bool small;
    Machine before{origin}, after{now};
  };

  // Values that were looked at, and those of them that were numbers: others tell nothing.
  struct Told {
    int met = 0, numbers = 0;
    void add(Real was) { ++met, numbers += !std::isnan(was); }
  };

  std::optional<Doubt> values() {
    std::map<std::string, Told> told;  // by tensor
    std::map<std::string, std::string> undecided;
    for (const Sizes& sizes : sample_sizes(now_)) {
      auto o = instantiate(origin_, sizes), n = instantiate(now_, sizes);
      if (!o || !n) continue;
      const bool small = !sizes.empty() && std::all_of(sizes.begin(), sizes.end(),
                                                       [](auto& s) { return s.second <= 8; });
      Bound bound{*std::move(o), *std::move(n), sizes, small};
      for (const Change& c : changes_) {
        const Doing doing([&] { return "values of " + c.tensor; });
        try {
          if (auto bad = differs(c, bound, told[c.tensor])) return bad;
        } catch (const Undecided& u) {
          undecided[c.tensor] = u.why;
        }
      }
    }
    for (const auto& [tensor, why] : undecided)
      if (told[tensor].numbers == 0)
        return Doubt{"the values of " + tensor + " could not be compared: " + why, true};
    for (const auto& [tensor, t] : told)
      if (t.met > 0 && t.numbers == 0)
        return Doubt{"no sample of the values of " + tensor + " gave a number", true};
    return std::nullopt;
  }

  // How two definitions are cut and thinned.
  struct View {
    Names before, now;  // given
    bool thin;          // only what a trail met is present
  };

  // First over the tensors between, then over inputs alone (where both reach into the same
  // definitions from different sides); thinned, then whole (where terms are counted).
  std::optional<Doubt> differs(const Change& c, Bound& b, Told& told) {
    std::optional<Doubt> out;
    for (const bool thin : {true, false})
      for (const bool cut : {true, false}) {
        if (thin && b.small) continue;
        try {
          const auto bad = sampled(
              c, b, {cut ? c.given_before : Names{}, cut ? c.given_now : Names{}, thin}, told);
          if (!bad) return std::nullopt;
          if (!out) out = Doubt{*bad};
        } catch (const Undecided&) {
          if (!out) throw;
          out->undecided = true;
        }
      }
    return out;
  }

  struct Experiment {
    Data data;
    Elements present;
    const View& view;
  };

  Data fresh_data(Bound& b, uint64_t seed) {
    Data data(seed * 7919 + 3, seed % 2 ? 0.25 : -1.5, seed % 2 ? 2 : 1.5);
    limit_integers(data, b.origin);
    limit_integers(data, b.now);
    return data;
  }

  std::optional<std::string> sampled(const Change& c, Bound& b, const View& view, Told& told) {
    std::vector<std::string> statements = c.statements;
    if (statements.empty()) statements.push_back("");
    for (const std::string& s : statements) {
      const isl::set whole =
          s.empty() ? b.now.elements(*b.now.tensor(c.tensor)) : b.now.statement(s)->domain;
      const auto compare = [&](const Experiment& x, const isl::set& where) {
        return s.empty() ? elements_differ(c, b, x, where, told)
                         : instances_differ(s, b, x, where, told);
      };
      std::optional<Experiment> none = s.empty() ? nothing_present(b, view) : std::nullopt;
      if (whole.is_empty()) continue;
      if (b.small) {
        for (uint64_t seed : {11, 12})
          if (auto bad = compare({fresh_data(b, seed), {}, view}, whole)) return bad;
        if (none)
          if (auto bad = compare(*none, whole)) return bad;
        continue;
      }
      uint64_t seed = 20;
      using Mode = Picker::Mode;
      for (Mode mode : {Mode::Low, Mode::High, Mode::Mixed, Mode::Mixed, Mode::Any}) {
        Picker pick(mode, ++seed);
        const auto at = pick(whole);
        Experiment x{fresh_data(b, seed), {}, view};
        if (view.thin) {
          Trail trail;
          trace(s, c.tensor, *at, b.before, view.before, pick, trail);
          trace(s, c.tensor, *at, b.after, view.now, pick, trail);
          Names given = view.before;
          given.insert(view.now.begin(), view.now.end());
          x.present = around(b.origin, given, trail, kRadius);
        }
        const isl::set here = at_element(whole.space(), *at);
        if (auto bad = compare(x, here)) return bad;
        if (none)
          if (auto bad = compare(*none, here)) return bad;
      }
    }
    return std::nullopt;
  }

  static void trace(const std::string& statement, const std::string& tensor, const Element& at,
                    Machine& machine, const Names& given, Picker& pick, Trail& trail) {
    if (statement.empty())
      follow(machine, given, tensor, at, pick, trail);
    else
      follow_instance(machine, given, *machine.program().statement(statement), at, pick, trail);
  }

  // No term at all: given reductions are at their identity, everything else is absent. Only over
  // the tensors between, and where no index is data.
  std::optional<Experiment> nothing_present(Bound& b, const View& view) {
    for (const Statement& s : b.now.statements)
      for (const Access& a : s.reads)
        if (!a.gathers.empty()) return std::nullopt;
    if (view.before.empty()) return std::nullopt;
    Experiment x{fresh_data(b, 5), {}, view};
    for (const Tensor& t : b.origin.tensors) {
      if (t.kind != TensorKind::Input && !view.before.count(t.name)) continue;
      const auto from = writers_of(b.origin, t.name);
      if (from.size() == 1 && from[0]->reduction)
        x.data.fix(t.name, identity_value(*from[0]->reduction));
      else
        x.present.emplace(t.name, isl::set::empty(b.origin.elements(t).space()));
    }
    return x;
  }

  std::optional<std::string> elements_differ(const Change& c, Bound& b, const Experiment& x,
                                             const isl::set& where, Told& told) {
    const size_t most = x.view.thin ? kThin : kWhole;
    Sample was(b.before, x.view.before, x.present, most), is(b.after, x.view.now, x.present, most);
    for (Sample* sample : {&was, &is}) {
      sample->plan({{c.tensor, where}});
      sample->evaluate(x.data);
    }
    for (const Element& e : points(where, kElements)) {
      const Real u = was.value(c.tensor, e), v = is.value(c.tensor, e);
      told.add(u);
      if (!close(u, v))
        return at_text(c.tensor, e, b.sizes) + " is " + text(v) + " on sampled data, and was " +
               text(u);
    }
    return std::nullopt;
  }

  std::optional<std::string> instances_differ(const std::string& name, Bound& b,
                                              const Experiment& x, const isl::set& where,
                                              Told& told) {
    const Statement &s = *b.origin.statement(name), &t = *b.now.statement(name);
    const size_t most = x.view.thin ? kThin : kWhole;
    Sample was(b.before, x.view.before, x.present, most), is(b.after, x.view.now, x.present, most);
    for (Sample* sample : {&was, &is}) {
      sample->plan_reads({{name, where}});
      sample->evaluate(x.data);
    }
    const Machine::Read read_was = was.reader(), read_is = is.reader();
    for (const Element& e : points(where, kElements)) {
      const bool runs = b.before.runs(s, e, read_was);
      if (runs != b.after.runs(t, e, read_is))
        return at_text(name, e, b.sizes) + " runs under another condition than before";
      if (!runs) continue;
      const Real u = b.before.term(s, e, read_was), v = b.after.term(t, e, read_is);
      told.add(u);
      if (!close(u, v))
        return at_text(name, e, b.sizes) + " computes " + text(v) +
               " on sampled data, and computed " + text(u);
    }
    return std::nullopt;
  }
};

// What was found, as it is kept.
struct Answer {
  std::optional<Doubt> doubt;
  std::vector<std::string> checked;
};

Answer compare(const Program& origin, const Program& now) {
  Answer out;
  Comparison c(origin, now);
  try {
    out.doubt = c.run();
  } catch (const Undecided& u) {
    out.doubt = Doubt{"the program could not be compared with the original one: " + u.why, true};
  }
  std::string names;
  for (const Change& x : c.changes()) names += (names.empty() ? "" : ", ") + x.tensor;
  if (!out.doubt)
    out.checked.push_back("the program computes what the original one does" +
                          (names.empty() ? std::string() : ": new definitions of " + names));
  return out;
}

}  // namespace

std::optional<Doubt> program_doubt(const Program& origin, const Program& now,
                                   std::vector<std::string>& checked) {
  if (&origin == &now || content_hash(origin) == content_hash(now)) return std::nullopt;
  Context& context = *now.context;
  const std::string key = "program_doubt " + std::to_string(content_hash(origin)) + " " +
                          std::to_string(content_hash(now));
  auto answer = context.known<Answer>(key);
  if (!answer) {
    auto made = std::make_shared<const Answer>(compare(origin, now));
    if (!out_of_time()) context.keep(key, *made);  // a later question may have the time
    answer = std::move(made);
  }
  checked.insert(checked.end(), answer->checked.begin(), answer->checked.end());
  return answer->doubt;
}

}  // namespace nautilus::poly::verifying
