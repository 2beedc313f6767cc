// Plans of the search for corpus kernels at small and awkward sizes: the best structures that it
// kept, at tile sizes below and above the sizes, lowered, rewritten and run, against the program's
// own evaluation.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <tuple>

#include "autosched/search.h"
#include "autosched/search/lazy.h"
#include "compiler/lower/lower.h"
#include "compiler/profile/profile.h"
#include "compiler/runtime/runtime.h"
#include "compiler/spec/reader.h"

namespace nautilus {
namespace {

using poly::Buffers;
using poly::Sizes;

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Searched {
  poly::Program program;
  Sizes sizes;
  sched::SearchResult result;
  poly::ProgramPtr shared;
};

// The kernel at these sizes, searched with a budget of plans, not of time.
std::optional<Searched> searched(const std::string& kernel, const Sizes& sizes, int plans) {
  auto p =
      spec::load_program(poly::make_context(), std::string(NAUTILUS_SOURCE_DIR "/corpus/kernels/") +
                                                   kernel + ".spec.cpp");
  EXPECT_TRUE(p) << p.error().text();
  if (!p) return std::nullopt;
  Sizes all = p->typical;
  for (const auto& [name, n] : sizes) all[name] = n;
  auto bound = poly::bind_sizes(*p, all);
  EXPECT_TRUE(bound) << bound.error().text();
  if (!bound) return std::nullopt;
  Searched out{poly::restrict_to_demanded(*bound), all, {}, nullptr};
  out.shared = std::make_shared<const poly::Program>(out.program);
  sched::SearchOptions o;
  o.machine = *sched::load_machine(NAUTILUS_SOURCE_DIR "/tests/autosched/cpu.json");
  o.seconds = 0;
  o.max_plans = plans;
  o.max_nodes = 3000;
  o.top = 2;
  auto ops = profile::tile_ops_provider(tile::Numerics::Reassociate);
  auto r = sched::search(out.shared, o, *ops);
  EXPECT_TRUE(r) << kernel << ": " << (r ? "" : r.error().text());
  if (!r) return std::nullopt;
  EXPECT_FALSE(r->best.empty()) << kernel;
  out.result = *std::move(r);
  return out;
}

// Of each of the best structures: its best plan, and those with the least and the most tile sizes.
std::vector<int> chosen(const sched::SearchResult& r) {
  std::vector<int> out;
  for (int best : r.best) {
    std::map<std::vector<int64_t>, int> by_knobs;
    for (const sched::SearchNode& n : r.nodes) {
      if (n.parent != r.nodes[size_t(best)].parent || n.state != sched::NodeState::Complete)
        continue;
      std::vector<int64_t> knobs;
      for (const auto& [name, v] : n.knobs) knobs.push_back(v);
      by_knobs.emplace(knobs, n.id);
    }
    for (int id : {best, by_knobs.begin()->second, by_knobs.rbegin()->second})
      if (std::find(out.begin(), out.end(), id) == out.end()) out.push_back(id);
  }
  return out;
}

using Change = std::function<void(Buffers&)>;

// A schedule, verified, lowered and rewritten, against the program's values; NaN matches NaN.
void expect_values(const poly::Schedule& schedule, const poly::Program& program, const Buffers& in,
                   const Buffers& want) {
  const poly::Verification v = poly::verify(schedule);
  EXPECT_TRUE(v.ok) << v.verdict.why;
  auto m = lower::lower(schedule);
  ASSERT_TRUE(m) << m.error().text() << "\n" << poly::to_text(schedule);
  for (const tile::Module& x : {*m, tile::rewrite(*m, {})}) {
    auto got = tile::interpret(x, {}, in);
    ASSERT_TRUE(got) << got.error().text() << tile::print(x);
    for (const auto& [name, values] : want) {
      const double t = type_bytes(program.tensor(name)->type) <= 2 ? 4e-3 : 1e-4;
      for (size_t k = 0; k < values.size(); ++k) {
        const double w = values[k], g = got->at(name)[k];
        ASSERT_TRUE(w == g || (std::isnan(w) && std::isnan(g)) ||
                    std::abs(w - g) <= t * (1 + std::abs(w)))
            << name << "[" << k << "]: expected " << w << ", got " << g << "\n"
            << poly::to_text(schedule) << tile::print(x);
      }
    }
  }
}

// Every chosen plan against the program in its own order. `stale`: also with references that may be
// stale, where the plan has repairs that allow it; counts those.
void expect_right(const std::string& kernel, const Sizes& sizes, const Change& change = {},
                  int plans = 60, int* stale = nullptr) {
  const auto s = searched(kernel, sizes, plans);
  if (!s) return;
  std::string at = kernel;
  for (const auto& [name, n] : s->sizes) at += " " + name + "=" + std::to_string(n);
  SCOPED_TRACE(at);
  Buffers in = runtime::make_inputs(s->program, s->sizes, 3);
  if (change) change(in);
  poly::InterpretOptions rounded;
  rounded.round_stores = true;
  auto want = poly::interpret(s->program, s->sizes, in, rounded);
  ASSERT_TRUE(want) << want.error().text();
  for (int node : chosen(s->result)) {
    auto plan = sched::plan_of(s->shared, s->result, node);
    std::string path;
    for (int id = node; id >= 0; id = s->result.nodes[size_t(id)].parent) {
      std::string steps;
      for (const poly::TransformStep& t : s->result.nodes[size_t(id)].steps)
        steps += "  " + t.name + " " + t.params + "\n";
      path = s->result.nodes[size_t(id)].decision + "\n" + steps + path;
    }
    ASSERT_TRUE(plan) << plan.error().text() << "\n" << path;
    expect_values(plan->schedule, s->program, in, *want);
    if (!stale) continue;
    if (const auto lazy = sched::with_lazy_references(plan->schedule)) {
      SCOPED_TRACE("stale references");
      ++*stale;
      expect_values(lazy->schedule, s->program, in, *want);
    }
  }
}

// Split loops (full tiles, partial tiles, rows beyond the last column) that share register tensors.
TEST(Plans, CausalWithFewerColumnsThanRows) {
  expect_right("attention_causal", {{"B", 1}, {"H", 1}, {"N", 40}, {"M", 20}, {"D", 16}});
  expect_right("attention_causal", {{"B", 1}, {"H", 1}, {"N", 20}, {"M", 40}, {"D", 16}});
}

TEST(Plans, BelowOneTile) {
  expect_right("softmax", {{"N", 31}, {"M", 13}});
  expect_right("softmax", {{"N", 3}, {"M", 70}});
  expect_right("logsumexp", {{"N", 5}, {"M", 9}});
  expect_right("rmsnorm", {{"N", 3}, {"D", 11}});
  expect_right("layernorm", {{"N", 6}, {"D", 7}});
  expect_right("matmul", {{"N", 5}, {"M", 3}, {"K", 7}});
  expect_right("attention_f32", {{"B", 1}, {"H", 2}, {"N", 5}, {"M", 3}, {"D", 4}});
}

TEST(Plans, NoColumns) {
  expect_right("logsumexp", {{"N", 7}, {"M", 0}});
  expect_right("softmax", {{"N", 7}, {"M", 0}});
  expect_right("attention_f32", {{"B", 1}, {"H", 1}, {"N", 7}, {"M", 0}, {"D", 4}});
}

TEST(Plans, AwkwardSizes) {
  for (int64_t n : {0, 1, 7, 31, 33, 67}) {
    expect_right("logsumexp", {{"N", n}, {"M", 33}}, {}, 40);
    expect_right("softmax", {{"N", 2}, {"M", n}}, {}, 40);
  }
  for (int64_t n : {0, 1, 33})
    expect_right("attention_f32", {{"B", 1}, {"H", 1}, {"N", n}, {"M", 67}, {"D", 4}}, {}, 40);
  expect_right("attention_causal", {{"B", 1}, {"H", 1}, {"N", 37}, {"M", 37}, {"D", 16}}, {}, 40);
}

// Windows and prefixes leave rows, or whole tiles of columns, without a term.
TEST(Plans, RowsWithoutTerms) {
  expect_right("attention_window", {{"B", 1}, {"H", 1}, {"N", 40}, {"M", 12}, {"W", 5}, {"D", 16}});
  for (const char* kernel : {"attention_sink", "attention_lse"})
    expect_right(kernel, {{"B", 1}, {"H", 1}, {"N", 20}, {"M", 12}, {"D", 16}}, {}, 20);
  for (const auto& [n, a] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 0}, {17, 0}, {17, 8}, {33, 1}})
    expect_right("attention_prefix_lm", {{"B", 1}, {"H", 1}, {"N", n}, {"A", a}, {"D", 16}}, {},
                 20);
}

// Lengths read from memory: none, one tile and a bit, all of one sequence or of both.
TEST(Plans, Lengths) {
  for (const std::vector<double>& lengths :
       std::vector<std::vector<double>>{{0, 0}, {0, 33}, {40, 1}}) {
    const Change set = [&](Buffers& in) { in.at("length") = lengths; };
    expect_right("attention_ragged", {{"B", 2}, {"H", 1}, {"N", 9}, {"M", 40}, {"D", 16}}, set, 20);
    expect_right("attention_paged", {{"B", 2}, {"H", 1}, {"L", 3}, {"Pages", 6}, {"D", 16}}, set,
                 20);
  }
}

TEST(Plans, LargeLogits) {
  const Change large = [](Buffers& in) {
    for (double& x : in.count("X") ? in.at("X") : in.at("Q")) x *= 1e4;
  };
  expect_right("softmax", {{"N", 9}, {"M", 70}}, large);
  expect_right("logsumexp", {{"N", 9}, {"M", 70}}, large);
  expect_right("attention_causal", {{"B", 1}, {"H", 1}, {"N", 33}, {"M", 33}, {"D", 16}}, large);
}

// Corrections only where a reference moved far: with logits close together and far apart (by powers
// of two, so that they stay what a half can hold).
TEST(Plans, StaleReferences) {
  for (double by : {1.0, 32.0}) {
    const Change spread = [&](Buffers& in) {
      for (double& x : in.at("Q")) x *= by;
    };
    // Rows and columns enough that a rolling update pays.
    for (const auto& [kernel, n, m, d] :
         {std::tuple{"attention_f32", 33, 300, 4}, {"attention_causal", 9, 200, 16}}) {
      int stale = 0;
      expect_right(kernel, {{"B", 1}, {"H", 1}, {"N", n}, {"M", m}, {"D", d}}, spread, 60, &stale);
      EXPECT_GT(stale, 0) << "no plan of " << kernel << " allows a stale reference";
    }
  }
}

// -inf in all of a row but one column, which lies in the first, a middle or the last tile.
TEST(Plans, InfinitelyMaskedScores) {
  for (size_t finite : {0, 40, 69}) {
    const Change mask = [&](Buffers& in) {
      for (size_t k = 0; k < in.at("X").size(); ++k)
        if (k % 70 != finite) in.at("X")[k] = -kInf;
    };
    expect_right("softmax", {{"N", 5}, {"M", 70}}, mask, 40);
    expect_right("logsumexp", {{"N", 5}, {"M", 70}}, mask, 40);
  }
}

}  // namespace
}  // namespace nautilus
