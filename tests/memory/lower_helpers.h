// Corpus kernels from their program texts to the memory IR: search, lowering, rewriting, lowering
// again; and what the memory program computes against what the tile program does.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "autosched/search.h"
#include "compiler/lower/lower.h"
#include "compiler/memory/lower.h"
#include "compiler/profile/profile.h"

namespace nautilus::memory {

inline poly::Program corpus_program(const std::string& kernel) {
  std::ifstream in(std::string(NAUTILUS_SOURCE_DIR "/tests/golden/") + kernel + ".naut");
  std::ostringstream text;
  text << in.rdbuf();
  auto parsed = poly::parse_naut(poly::make_context(), text.str(), "corpus");
  if (!parsed) throw std::runtime_error(kernel + ": " + parsed.error().text());
  return *std::move(parsed);
}

// With the typical value of every size that is not given.
inline poly::Sizes with_typical(const poly::Program& p, const poly::Sizes& sizes) {
  poly::Sizes all = p.typical;
  for (const auto& [n, v] : sizes) all[n] = v;
  return all;
}

inline poly::ProgramPtr demanded(const poly::Program& p, const poly::Sizes& sizes) {
  auto bound = poly::bind_sizes(p, sizes);
  if (!bound) throw std::runtime_error(p.name + ": " + bound.error().text());
  return std::make_shared<const poly::Program>(poly::restrict_to_demanded(*bound));
}

// The best plans of a short search.
inline std::vector<sched::Plan> plans_of(const poly::ProgramPtr& program, int top, int max_plans) {
  sched::SearchOptions o;
  o.machine = *sched::load_machine(NAUTILUS_SOURCE_DIR "/corpus/machines/a100.json");
  o.seconds = 0;
  o.max_plans = max_plans;
  o.top = top;
  auto ops = profile::tile_ops_provider(tile::Numerics::Reassociate);
  auto found = sched::search(program, o, *ops);
  std::vector<sched::Plan> out;
  if (!found) {
    ADD_FAILURE() << found.error().text();
    return out;
  }
  for (int best : found->best)
    if (auto plan = sched::plan_of(program, *found, best)) out.push_back(*std::move(plan));
  return out;
}

// The best plans for a corpus kernel at these sizes, and its program with `open` left symbolic.
inline std::pair<std::vector<sched::Plan>, poly::ProgramPtr> open_plans(
    const std::string& kernel, const poly::Sizes& sizes, const std::vector<std::string>& open,
    int top, int max_plans) {
  const poly::Program general = corpus_program(kernel);
  poly::Sizes all = with_typical(general, sizes);
  auto plans = plans_of(demanded(general, all), top, max_plans);
  for (const std::string& n : open) all.erase(n);
  return {std::move(plans), demanded(general, all)};
}

// The best plans for a corpus kernel at these sizes, as rewritten tile programs.
inline std::vector<tile::Module> tile_plans(const std::string& kernel, const poly::Sizes& sizes,
                                            int top = 1, int max_plans = 60) {
  const poly::Program general = corpus_program(kernel);
  const auto program = demanded(general, with_typical(general, sizes));
  std::vector<tile::Module> out;
  for (const sched::Plan& plan : plans_of(program, top, max_plans)) {
    auto m = lower::lower(plan.schedule, {true, tile::Numerics::Reassociate});
    if (m) out.push_back(tile::rewrite(*m, {}));
  }
  return out;
}

inline poly::Buffers inputs_of(const tile::Module& m, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  poly::Buffers in;
  for (const tile::TensorDecl& t : m.tensors) {
    if (t.kind != poly::TensorKind::Input) continue;
    int64_t n = 1;
    for (const IndexExpr& e : t.extents) n *= e.evaluate({});
    for (auto& b = in [t.name]; n > 0; --n)
      b.push_back(is_float(t.type) ? round_to_type(normal(rng), t.type) : double(rng() % 4));
  }
  return in;
}

// Outputs agree up to `tolerance` of the tensor's largest magnitude.
inline void expect_outputs(const tile::Module& m, const poly::Buffers& want,
                           const poly::Buffers& got, double tolerance) {
  for (const tile::TensorDecl& t : m.tensors) {
    if (t.kind != poly::TensorKind::Output) continue;
    const auto &x = want.at(t.name), &y = got.at(t.name);
    ASSERT_EQ(x.size(), y.size()) << t.name;
    double scale = 1e-3;
    for (double v : x)
      if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
    for (size_t e = 0; e < x.size(); ++e) {
      if (x[e] == y[e] || (std::isnan(x[e]) && std::isnan(y[e]))) continue;
      ASSERT_LE(std::abs(x[e] - y[e]), tolerance * scale)
          << t.name << "[" << e << "]: " << x[e] << " and " << y[e];
    }
  }
}

inline tile::Module tile_module(const std::string& text) {
  auto m = tile::parse(text);
  if (!m) {
    ADD_FAILURE() << m.error().text();
    return {};
  }
  return *m;
}

using Which = std::function<bool(const Instr&)>;
inline Which is(Code c) {
  return [c](const Instr& i) { return i.code == c; };
}
inline int count(const Region& r, const Which& which) {
  int n = 0;
  for (const Instr& i : r.body) {
    n += which(i);
    for (const Region& inner : i.regions) n += count(inner, which);
  }
  return n;
}
inline int count(const Module& m, const Which& which) {
  int n = 0;
  for (const Kernel& k : m.kernels)
    for (const Role& r : k.roles) n += count(r.body, which);
  return n;
}
inline int count(const Module& m, Code c) { return count(m, is(c)); }

inline std::string fault_text(const Interpretation& r) {
  std::string s;
  for (const Fault& f : r.faults)
    s += std::string(fault_name(f.kind)) + ": " + f.text + "\n  at " + f.instr + "\n";
  return s;
}

// Lowered, read back from its text, run without a fault in several orders of its warps, with the
// values of the tile program.
inline std::optional<Interpretation> expect_same(const tile::Module& t, const LowerOptions& o = {},
                                                 uint64_t seeds = 1, double tolerance = 2e-3) {
  auto m = lower(t, o);
  if (!m) {
    ADD_FAILURE() << m.error().text() << "\n" << tile::print(t);
    return std::nullopt;
  }
  const std::string text = print(*m);
  auto back = parse(text);
  if (!back) {
    ADD_FAILURE() << back.error().text() << "\n" << text;
    return std::nullopt;
  }
  EXPECT_EQ(print(*back), text);
  const poly::Buffers in = inputs_of(t, 11);
  auto want = tile::interpret(t, {}, in);
  if (!want) {
    ADD_FAILURE() << want.error().text();
    return std::nullopt;
  }
  std::optional<Interpretation> out;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    InterpretOptions io;
    io.seed = seed;
    auto got = interpret(*back, {}, in, io);
    if (!got) {
      ADD_FAILURE() << got.error().text() << "\n" << text;
      return std::nullopt;
    }
    EXPECT_TRUE(got->faults.empty()) << fault_text(*got) << text;
    if (!got->faults.empty()) return std::nullopt;
    expect_outputs(t, *want, got->outputs, tolerance);
    if (testing::Test::HasFatalFailure()) ADD_FAILURE() << text;
    out = *std::move(got);
  }
  return out;
}

}  // namespace nautilus::memory
