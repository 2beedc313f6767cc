// Differential test: random programs x random transform sequences. An accepted schedule computes
// what the program says; a refusal's witness is a real pair of instances that the asked order would
// break.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "polyhedral/access_order.h"
#include "polyhedral/transforms/registry.h"
#include "random_program.h"
#include "schedule_executor.h"

namespace nautilus::poly {
namespace {

using nlohmann::json;
using random_programs::below;
using random_programs::chance;
using random_programs::pick;
using random_programs::Random;

// Parameters drawn from a transform's declaration: right kinds, small numbers, names that exist.
class Draw {
 public:
  Draw(Random& random, const Schedule& s) : r_(random), s_(s) {
    for (const Node* n : preorder(s))
      if (n->kind != NodeKind::Leaf) nodes_.push_back(n);
    for (const Statement& x : s.program->statements) statements_.push_back(x.name);
    for (const Tensor& t : s.program->tensors) tensors_.push_back(t.name);
  }

  json params(const TransformInfo& t) {
    json out = json::object();
    for (const ParamInfo& p : t.params)
      if (!p.optional || chance(r_, 40)) out[p.name] = value(p);
    return out;
  }

 private:
  Random& r_;
  const Schedule& s_;
  std::vector<const Node*> nodes_;
  std::vector<std::string> statements_, tensors_;
  const Node* node_ = nullptr;  // the last node drawn

  int64_t number(const ParamInfo& p) {
    int64_t v = chance(r_, 80) ? below(r_, 5) : below(r_, 12) - 4;
    if (p.min != 0 || p.max != 0) v = std::clamp(v, p.min, p.max);
    return v;
  }
  std::string name(const ParamInfo& p) {
    if (p.name == "tensor") return pick(r_, tensors_);
    if (p.name == "stmt" || p.name == "into" || !node_ || node_->members.empty() || chance(r_, 5))
      return pick(r_, statements_);
    return pick(r_, node_->members).name;
  }
  json value(const ParamInfo& p) {
    switch (p.kind) {
      case ParamKind::Node: {
        const Node* n = pick(r_, nodes_);
        const NodeKind wanted = chance(r_, 65)   ? NodeKind::Band
                                : chance(r_, 70) ? NodeKind::Sequence
                                                 : NodeKind::Filter;
        for (int k = 0; k < 12 && n->kind != wanted; ++k) n = pick(r_, nodes_);
        node_ = n;
        return n->id;
      }
      case ParamKind::Integer:
        return number(p);
      case ParamKind::IntegerList: {
        json list = json::array();
        const int n = node_ && !node_->members.empty() && chance(r_, 80)
                          ? static_cast<int>(node_->members.size())
                          : 1 + below(r_, 3);
        for (int k = 0; k < n; ++k) list.push_back(number(p));
        return list;
      }
      case ParamKind::Name:
        return name(p);
      case ParamKind::NameList: {
        std::vector<std::string> names;
        if (p.name == "statements") {
          names = node_ && chance(r_, 90) ? node_->statements : statements_;
          std::shuffle(names.begin(), names.end(), r_);
          names.resize(std::min<size_t>(names.size(), 1 + static_cast<size_t>(below(r_, 2))));
        } else if (node_ && !node_->members.empty() && chance(r_, 80)) {
          for (const BandMember& m : node_->members) names.push_back(m.name);
          std::shuffle(names.begin(), names.end(), r_);
          if (chance(r_, 30))
            names.resize(1 + static_cast<size_t>(below(r_, static_cast<int>(names.size()))));
        } else {
          names.push_back(name(p));
        }
        return names;
      }
      case ParamKind::Choice:
        return pick(r_, p.choices);
      case ParamKind::Text:
        return chance(r_, 30) ? "full" : condition();
    }
    return nullptr;
  }
  // { S[..] : half of the instances }
  std::string condition() {
    const Statement& x = *s_.program->statement(pick(r_, statements_));
    const std::vector<std::string> dims = dim_names(x.domain);
    std::string tuple;
    for (const std::string& d : dims) tuple += (tuple.empty() ? "" : ", ") + d;
    const std::string at = std::to_string(below(r_, 3));
    const std::string cut =
        dims.empty() ? ""
                     : " : " + (chance(r_, 60) ? pick(r_, dims) + " <= " + at
                                               : pick(r_, dims) + " < " + pick(r_, dims));
    return "{ " + x.name + "[" + tuple + "]" + cut + " }";
  }
};

struct Tally {
  int programs = 0, accepted = 0, illegal = 0, unknown = 0, malformed = 0, executed = 0,
      witnesses = 0, rolling = 0;
  std::map<std::string, int> by_name;
};

class Property {
 public:
  explicit Property(unsigned seed) : seed_(seed), r_(seed) {}
  Tally tally;

  void run(int programs, int steps, bool chains = false) {
    for (int k = 0; k < programs && !testing::Test::HasFailure(); ++k) {
      random_programs::Generator g(r_);
      text_ = chains ? g.chain() : g.text();
      program(steps, chains);
      ++tally.programs;
    }
  }

 private:
  unsigned seed_;
  Random r_;
  std::string text_;

  std::string context(const Schedule& s, const std::string& step) const {
    std::string script;
    for (const TransformStep& t : s.script) script += "  " + t.name + " " + t.params + "\n";
    return "NAUTILUS_SEED=" + std::to_string(seed_) + "\n" + text_ + script + "asked: " + step +
           "\n" + to_text(s);
  }

  void program(int steps, bool chain) {
    const auto parsed = parse_naut(make_context(), text_, "random.naut");
    ASSERT_TRUE(parsed) << parsed.error().text() << "\n" << text_;
    const auto bad = validate(*parsed);
    ASSERT_FALSE(bad) << bad->text() << "\n" << text_;
    const auto p = std::make_shared<const Program>(*parsed);
    const Sizes sizes{{"N", 1 + below(r_, 5)}, {"M", 1 + below(r_, 4)}};
    const Buffers in = random_programs::inputs(*p, sizes);
    const auto expected = interpret(*p, sizes, in);
    ASSERT_TRUE(expected) << expected.error().text() << "\n" << text_;
    Schedule s = initial_schedule(p);
    same(s, sizes, in, *expected, "initial");
    auto deps = dependences(*p);
    ASSERT_TRUE(deps) << deps.error().text();
    for (int k = 0; k < steps && !testing::Test::HasFailure(); ++k) {
      std::string step;
      Outcome o = k == 0 && chain ? roll(s, *deps, step) : draw(s, *deps, step);
      if (o.refusal) {
        ++tally.malformed;
        continue;
      }
      if (!o.accepted()) {
        ++(o.verdict.kind == VerdictKind::Illegal ? tally.illegal : tally.unknown);
        if (o.verdict.witness) witness(s, *deps, step, *o.verdict.witness);
        continue;
      }
      ++tally.accepted;
      if (!o.schedule->repairs.empty()) ++tally.rolling;
      ++tally.by_name[step.substr(0, step.find(' '))];
      if (o.schedule->program != s.program) {
        deps = dependences(*o.schedule->program);
        ASSERT_TRUE(deps) << context(s, step);
      }
      s = *o.schedule;
      same(s, sizes, in, *expected, step);
      same(executor::backwards(s), sizes, in, *expected, step + " (parallel members backwards)");
    }
    const Verification v = verify(s);
    EXPECT_TRUE(v.ok) << context(s, "verify: " + v.verdict.why);
  }

  // The chain fused at its reduced dimension.
  Outcome roll(const Schedule& s, const DependenceSet& deps, std::string& step) {
    const int last = static_cast<int>(s.root->children.size()) - 2;
    const json params{
        {"node", s.root->id}, {"first", 0}, {"last", chance(r_, 80) ? last : 2}, {"depth", 2}};
    step = "rolling_update " + params.dump();
    return apply(s, deps, "rolling_update", params);
  }

  // One transform, with parameters drawn until the request is well-formed (or given up).
  Outcome draw(const Schedule& s, const DependenceSet& deps, std::string& step) {
    Outcome o;
    const TransformInfo& t = pick(r_, transforms());
    for (int attempt = 0; attempt < 40; ++attempt) {
      Draw d(r_, s);
      const json params = d.params(t);
      step = t.name + " " + params.dump();
      o = apply(s, deps, t.name, params);
      if (!o.refusal) break;
    }
    return o;
  }

  void same(const Schedule& s, const Sizes& sizes, const Buffers& in, const Buffers& expected,
            const std::string& step) {
    const auto out = executor::execute(s, sizes, in, r_);
    ASSERT_TRUE(out) << out.error().text() << "\n" << context(s, step);
    ++tally.executed;
    for (const auto& [name, values] : expected)
      for (size_t k = 0; k < values.size(); ++k) {
        const double got = out->at(name)[k];
        ASSERT_TRUE(got == values[k] || (std::isnan(got) && std::isnan(values[k])) ||
                    std::abs(got - values[k]) <= 1e-9 * (1 + std::abs(values[k])))
            << name << "[" << k << "] = " << got << ", not " << values[k] << "\n"
            << context(s, step);
      }
  }

  // Both instances exist, depend on each other, run in this order originally, and not in the asked
  // order.
  void witness(const Schedule& s, const DependenceSet& deps, const std::string& step,
               const Witness& w) {
    const std::string name = step.substr(0, step.find(' '));
    const auto asked = apply_unchecked(s, name, json::parse(step.substr(name.size() + 1)));
    if (!asked) return;  // no order was built
    ++tally.witnesses;
    const std::string what = "witness " + w.text + "\n" + context(s, step);
    const auto bound = instantiate(*s.program, w.sizes);
    ASSERT_TRUE(bound) << what;
    auto instance = [&](const std::string& x, const std::vector<int64_t>& dims) {
      isl::set out = bound->statement(x)->domain;
      for (unsigned k = 0; k < dims.size(); ++k) out = fix_dim(out, k, dims[k]);
      return out;
    };
    const isl::set from = instance(w.source, w.source_iter), to = instance(w.sink, w.sink_iter);
    EXPECT_FALSE(from.is_empty()) << what;
    EXPECT_FALSE(to.is_empty()) << what;
    bool depends = false;
    for (const Dependence& d : deps.all)
      if (d.source == w.source && d.sink == w.sink && d.kind == w.kind && d.tensor == w.tensor)
        depends = depends || !substitute_params(d.relation, w.sizes)
                                  .intersect_domain(from)
                                  .intersect_range(to)
                                  .is_empty();
    EXPECT_TRUE(depends) << what;
    EXPECT_FALSE(OriginalOrder(*bound)
                     .before(w.source, w.sink)
                     .intersect_domain(from)
                     .intersect_range(to)
                     .is_empty())
        << what;
    bool broken = false;
    for (const Schedule& order : {*asked, executor::backwards(*asked)}) {
      const executor::Clock clock(order, *bound, w.sizes);
      const auto a = clock(w.source, w.source_iter), b = clock(w.sink, w.sink_iter);
      ASSERT_TRUE(a && b) << what;
      broken = broken || !(*a < *b);
    }
    EXPECT_TRUE(broken) << what << "asked order:\n" << to_text(*asked);
  }
};

std::vector<unsigned> seeds() {
  std::vector<unsigned> out{11, 12, 13};
  if (const char* given = std::getenv("NAUTILUS_SEED"))
    out = {static_cast<unsigned>(std::strtoul(given, nullptr, 10))};
  return out;
}

class PropertyTest : public testing::TestWithParam<unsigned> {};

TEST_P(PropertyTest, AcceptedIsRightAndRefusedIsWrong) {
  Property p(GetParam());
  p.run(5, 14);
  const Tally& t = p.tally;
  std::cout << "seed " << GetParam() << ": " << t.programs << " programs, " << t.accepted
            << " accepted, " << t.illegal << " illegal, " << t.unknown << " unknown, "
            << t.malformed << " malformed, " << t.executed << " executed, " << t.witnesses
            << " witnesses checked\n";
  for (const auto& [name, n] : t.by_name) std::cout << "  " << name << " " << n << "\n";
  EXPECT_GT(t.accepted, 10);
  EXPECT_GT(t.illegal + t.malformed, 0);
}
TEST_P(PropertyTest, RollingUpdatesAreRight) {
  if (!transform("rolling_update")) GTEST_SKIP() << "rolling_update is not registered";
  Property p(GetParam());
  p.run(4, 5, true);
  std::cout << "seed " << GetParam() << ": " << p.tally.accepted << " accepted, " << p.tally.rolling
            << " with repairs, " << p.tally.illegal << " illegal, " << p.tally.malformed
            << " malformed, " << p.tally.executed << " executed\n";
  for (const auto& [name, n] : p.tally.by_name) std::cout << "  " << name << " " << n << "\n";
  EXPECT_GT(p.tally.rolling, 0);
}
INSTANTIATE_TEST_SUITE_P(Seeds, PropertyTest, testing::ValuesIn(seeds()));

}  // namespace
}  // namespace nautilus::poly
