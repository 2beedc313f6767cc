// Differential test of the lowering: random programs x random accepted transforms; the tile program
// computes what the program says, or the lowering refuses a storage choice or a tile in words.
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "polyhedral/transforms/registry.h"
#include "tests/polyhedral/random_program.h"
#include "tests/tile/lower_check.h"

namespace nautilus {
namespace {
using namespace testing_lower;
using nlohmann::json;
using random_programs::below;
using random_programs::chance;
using random_programs::pick;
using random_programs::Random;

struct RandomSession {
  unsigned seed;
  Random r{seed};
  int lowered = 0, refused = 0, tiled = 0, registers = 0;
  std::map<std::string, int> reasons{};
  std::string text{};

  // One random request that has a fair chance to be accepted.
  std::pair<std::string, json> request(const Schedule& s) {
    std::vector<const Node*> bands, sequences;
    for (const Node* n : preorder(s)) {
      if (n->kind == NodeKind::Band) bands.push_back(n);
      if (n->kind == NodeKind::Sequence && n->children.size() > 1) sequences.push_back(n);
    }
    const int what = below(r, 100);
    if (what < 15 && !sequences.empty()) {
      const Node* q = pick(r, sequences);
      const int first = below(r, static_cast<int>(q->children.size()) - 1);
      const int last =
          std::min<int>(static_cast<int>(q->children.size()) - 1, first + 1 + below(r, 2));
      return {"fuse",
              {{"node", q->id}, {"first", first}, {"last", last}, {"depth", 1 + below(r, 2)}}};
    }
    if (what < 27) {
      std::vector<std::string> temps;
      for (const Tensor& t : s.program->tensors)
        if (t.kind == TensorKind::Temp) temps.push_back(t.name);
      if (!temps.empty())
        return {"set_scope",
                {{"tensor", pick(r, temps)}, {"scope", chance(r, 80) ? "register" : "shared"}}};
    }
    if (bands.empty()) return {"none", {}};
    const Node* b = pick(r, bands);
    const int n = static_cast<int>(b->members.size());
    const std::string m = b->members[static_cast<size_t>(below(r, n))].name;
    if (what < 50) {
      json sizes = json::array();
      for (int k = 0; k < n; ++k) sizes.push_back(chance(r, 80) ? 1 + below(r, 4) : -below(r, 2));
      return {"tile", {{"node", b->id}, {"sizes", sizes}}};
    }
    if (what < 72)
      return {"map",
              {{"node", b->id},
               {"member", chance(r, 70) ? "*" : m},
               {"mapping", chance(r, 75)   ? "tile"
                           : chance(r, 60) ? "grid"
                                           : "unroll"}}};
    if (what < 80) {
      json order = json::array();
      std::vector<int> at;
      for (int k = 0; k < n; ++k) at.push_back(k);
      std::shuffle(at.begin(), at.end(), r);
      for (int k : at) order.push_back(b->members[static_cast<size_t>(k)].name);
      return {"interchange", {{"node", b->id}, {"order", order}}};
    }
    if (what < 85) return {"reverse", {{"node", b->id}, {"member", m}}};
    if (what < 90 && n > 1) return {"split", {{"node", b->id}, {"at", 1}}};
    if (what < 95 && n > 1)
      return {"skew",
              {{"node", b->id},
               {"member", b->members[1].name},
               {"by", b->members[0].name},
               {"factor", 1 + below(r, 2)}}};
    return {"distribute", {{"node", b->id}}};
  }

  void check(const Schedule& s, const Buffers& in, const Buffers& expected) {
    auto m = lower::lower(s);
    if (!m) {
      ++refused;
      if (std::getenv("NAUTILUS_VERBOSE"))
        std::cerr << m.error().text() << "\n" << text << to_text(s);
      ++reasons[m.error().where.substr(0, m.error().where.find(' ')) + ": " +
                m.error().why.substr(0, 60)];
      bool plain = s.scopes.empty();
      for (const Node* n : preorder(s))
        for (const BandMember& x : n->members) plain = plain && x.mapping != Mapping::Tile;
      EXPECT_FALSE(plain) << "scalar code in memory was refused: " << m.error().text() << "\n"
                          << text << to_text(s);
      return;
    }
    ++lowered;
    for (const Node* n : preorder(s))
      tiled += std::any_of(n->members.begin(), n->members.end(),
                           [](const BandMember& x) { return x.mapping == Mapping::Tile; });
    for (const auto& [tensor, scope] : s.scopes) registers += scope == Scope::Register;
    auto bad = tile::verify(*m);
    ASSERT_FALSE(bad) << "seed " << seed << ": " << bad->text() << "\n"
                      << text << to_text(s) << tile::print(*m);
    auto got = tile::interpret(*m, {}, in);
    ASSERT_TRUE(got) << "seed " << seed << ": " << got.error().text() << "\n"
                     << text << to_text(s) << tile::print(*m);
    for (const auto& [name, want] : expected)
      for (size_t k = 0; k < want.size(); ++k) {
        const double have = got->at(name)[k];
        const bool same = want[k] == have || (std::isnan(want[k]) && std::isnan(have)) ||
                          std::abs(want[k] - have) <= 1e-3 * (1 + std::abs(want[k]));
        ASSERT_TRUE(same) << "seed " << seed << ": " << name << "[" << k << "] expected " << want[k]
                          << " got " << have << "\n"
                          << text << to_text(s) << tile::print(*m);
      }
  }

  void go(int programs, int steps) {
    for (int k = 0; k < programs && !testing::Test::HasFatalFailure(); ++k) {
      text = random_programs::Generator(r).text();
      auto parsed = parse_naut(make_context(), text, "random.naut");
      ASSERT_TRUE(parsed) << parsed.error().text();
      const Sizes sizes{{"N", 1 + below(r, 6)}, {"M", 1 + below(r, 5)}};
      const Buffers in = random_programs::inputs(*parsed, sizes);
      auto expected = interpret(*parsed, sizes, in);
      ASSERT_TRUE(expected) << expected.error().text();
      auto deps = dependences(*parsed);
      ASSERT_TRUE(deps);
      auto fixed = bind_sizes(*parsed, sizes);
      ASSERT_TRUE(fixed) << fixed.error().text();
      Schedule s = initial_schedule(std::make_shared<const Program>(*fixed));
      check(s, in, *expected);
      for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
        auto [name, params] = request(s);
        if (name == "none") continue;
        Outcome o = apply(s, *deps, name, params);
        if (!o.accepted() || o.verdict.kind != VerdictKind::Legal) continue;
        s = *o.schedule;
        check(s, in, *expected);
      }
    }
  }
};

TEST(LowerProperty, RandomProgramsAndTransforms) {
  const char* given = std::getenv("NAUTILUS_SEED");
  const char* count = std::getenv("NAUTILUS_PROGRAMS");
  RandomSession run{given ? static_cast<unsigned>(std::atoi(given)) : 20261129u};
  run.go(count ? std::atoi(count) : 16, 12);
  std::cerr << run.lowered << " lowered, " << run.refused << " refused; " << run.tiled
            << " tiled bands, " << run.registers << " register tensors\n";
  for (const auto& [why, n] : run.reasons) std::cerr << "  " << n << " " << why << "\n";
  EXPECT_GT(run.lowered, 40);
  EXPECT_GT(run.tiled, 10);
}

}  // namespace
}  // namespace nautilus
