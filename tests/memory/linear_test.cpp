// Algebra of linear maps over F2, against evaluation at every point.
#include <gtest/gtest.h>

#include <set>

#include "random_maps.h"

namespace nautilus::memory {
namespace {

using Point = std::map<std::string, int64_t>;

TEST(LinearAlgebra, ApplyIsXorOfImages) {
  const Linear l = *parse_linear("register: j=1+i=2 i=1; lane: j=2 0");
  EXPECT_EQ(l.apply({{"register", 3}, {"lane", 1}}), (Point{{"i", 3}, {"j", 3}}));
  EXPECT_EQ(l.apply({{"lane", 2}}), (Point{{"i", 0}, {"j", 0}}));
  EXPECT_EQ(l.apply({}), (Point{{"i", 0}, {"j", 0}}));
  EXPECT_THROW((void)l.apply({{"register", 4}}), std::invalid_argument);
  EXPECT_THROW((void)l.image("register", 2, "j"), std::invalid_argument);
}

TEST(LinearAlgebra, InverseUndoes) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Linear l = random_bijection(rng, 1 + below(rng, 7));
    const auto inverse = l.inverse();
    ASSERT_TRUE(inverse);
    for (const Point& x : points(l.in())) ASSERT_EQ(inverse->apply(l.apply(x)), x);
    const auto back = inverse->inverse();
    ASSERT_TRUE(back);
    EXPECT_TRUE(*back == l);
  }
}

TEST(LinearAlgebra, InverseOnlyOfBijections) {
  EXPECT_FALSE(parse_linear("x: a=1 a=1")->inverse());
  EXPECT_FALSE(parse_linear("x: a=1 -> a: 4")->inverse());
  EXPECT_FALSE(parse_linear("x: a=1 0")->inverse());
  EXPECT_TRUE(parse_linear("x: a=1+b=1 b=1")->inverse());
}

TEST(LinearAlgebra, AfterIsCompositionAndAssociative) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto a = random_dims(rng, {"a", "b"}, 3), b = random_dims(rng, {"c", "d", "e"}, 3),
               c = random_dims(rng, {"f", "g"}, 4), d = random_dims(rng, {"h"}, 5);
    const Linear f = random_map(rng, a, b), g = random_map(rng, b, c), h = random_map(rng, c, d);
    for (const Point& x : points(a)) ASSERT_EQ(g.after(f).apply(x), g.apply(f.apply(x)));
    EXPECT_TRUE(h.after(g.after(f)) == h.after(g).after(f));
  }
  const Linear wide = *parse_linear("x: a=4"), narrow = *parse_linear("a: b=1");
  EXPECT_THROW((void)narrow.after(wide), std::invalid_argument);
}

TEST(LinearAlgebra, ProductStandsBeside) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Linear f = random_map(rng, random_dims(rng, {"a", "b"}, 3),
                                random_dims(rng, {"u", "v"}, 3)),
                 g = random_map(rng, random_dims(rng, {"b", "c"}, 3),
                                random_dims(rng, {"v", "w"}, 3));
    const Linear p = f * g;
    for (const Point& x : points(p.in())) {
      Point low, high;
      for (const auto& [name, value] : x) {
        low[name] = value & ((1 << f.in_bits(name)) - 1);
        high[name] = value >> f.in_bits(name);
      }
      Point want = f.apply(low);
      for (const auto& [name, value] : g.apply(high)) want[name] += value << f.out_bits(name);
      ASSERT_EQ(p.apply(x), want);
    }
    const Linear h =
        random_map(rng, random_dims(rng, {"a", "c"}, 2), random_dims(rng, {"u", "w"}, 2));
    EXPECT_TRUE((f * g) * h == f * (g * h));
  }
}

// Of all preimages the lexicographically smallest, and linear.
TEST(LinearAlgebra, RightInverseTakesTheSmallestPreimage) {
  int surjective = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const std::vector<Bits> in{{"register", 2}, {"lane", 3}, {"warp", 1}};
    const Linear l = random_map(rng, in, {{"i", 2}, {"j", 2}});
    const auto g = l.right_inverse();
    EXPECT_EQ(g.has_value(), l.surjective());
    if (!g) continue;
    ++surjective;
    auto key = [&](const Point& x) {  // first bit of the first input first
      std::vector<int> bits;
      for (const Bits& d : in)
        for (int b = 0; b < d.bits; ++b) bits.push_back(int(x.at(d.name) >> b & 1));
      return bits;
    };
    for (const Point& y : points(l.out())) {
      const Point x = g->apply(y);
      ASSERT_EQ(l.apply(x), y);
      for (const Point& other : points(in)) {
        if (l.apply(other) == y) {
          ASSERT_LE(key(x), key(other));
        }
      }
    }
  }
  EXPECT_GT(surjective, 50);
}

TEST(LinearAlgebra, RankCountsImages) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Linear l =
        random_map(rng, random_dims(rng, {"a", "b"}, 4), random_dims(rng, {"u", "v"}, 3));
    std::set<Point> images;
    size_t inputs = 0, outputs = size_t(1) << (l.out_bits("u") + l.out_bits("v"));
    for (const Point& x : points(l.in())) images.insert(l.apply(x)), ++inputs;
    EXPECT_EQ(size_t(1) << l.rank(), images.size());
    EXPECT_EQ(l.injective(), images.size() == inputs);
    EXPECT_EQ(l.surjective(), images.size() == outputs);
  }
}

TEST(LinearAlgebra, EqualWhateverTheOrder) {
  const Linear l = *parse_linear("register: j=1 i=2; lane: i=1");
  const Linear turned = l.in_order({"lane", "warp"}, {"i"});
  EXPECT_TRUE(l == turned);
  EXPECT_EQ(turned.in()[0].name, "lane");
  EXPECT_EQ(turned.in()[1], (Bits{"warp", 0}));
  EXPECT_EQ(turned.out()[0].name, "i");
  EXPECT_FALSE(l == *parse_linear("register: j=1 i=2; lane: j=1"));
  EXPECT_FALSE(l == *parse_linear("register: j=1 i=2; lane: i=1 0"));
  EXPECT_FALSE(l == *parse_linear("register: j=1 i=2; lane: i=1 -> j: 4, i: 4"));
}

TEST(LinearAlgebra, FreeBitsAndProjection) {
  const Linear l = *parse_linear("register: j=1 i=2; lane: i=1+j=2 0");
  EXPECT_EQ(l.free_bits(), (std::vector<std::pair<std::string, int>>{{"lane", 1}}));
  EXPECT_EQ(l.without_output("i").free_bits(),
            (std::vector<std::pair<std::string, int>>{{"register", 1}, {"lane", 1}}));
  EXPECT_EQ(to_string(l.without_output("i")), "register: j=1 0; lane: j=2 0");
  EXPECT_EQ(to_string(l.renamed({{"i", "k"}, {"lane", "offset"}})),
            "register: j=1 k=2; offset: j=2+k=1 0");
  EXPECT_THROW((void)l.renamed({{"i", "j"}}), std::invalid_argument);
  EXPECT_EQ(to_string(Linear::identity("offset", "k", 3)), "offset: k=1 k=2 k=4");
  EXPECT_EQ(to_string(Linear::zeros("warp", 2)), "warp: 0 0");
}

TEST(LinearAlgebra, MakeRefuses) {
  auto why = [](Expected<Linear> l) { return l ? std::string("accepted") : l.error().why; };
  EXPECT_EQ(why(Linear::make({{"a", 1}}, {{"u", 1}}, {})), "0 images for 1 bits");
  EXPECT_EQ(why(Linear::make({{"a", 1}}, {{"u", 1}}, {{2}})),
            "image u=2 is outside the 1 bits of u");
  EXPECT_EQ(why(Linear::make({{"a", 1}}, {{"u", 1}}, {{1, 1}})),
            "an image needs a coordinate an output");
  EXPECT_EQ(why(Linear::make({{"a", 31}}, {}, {})), "dimension a has 31 bits, not 0..30");
  EXPECT_EQ(why(Linear::make({{"a", -1}}, {}, {})), "dimension a has -1 bits, not 0..30");
  EXPECT_EQ(why(Linear::make({{"a", 0}, {"a", 0}}, {}, {})), "dimension a is there twice");
  EXPECT_EQ(why(Linear::make({}, {{"a", 30}, {"b", 30}, {"c", 3}}, {})), "more than 62 bits");
}

TEST(LinearText, RoundTripIsExact) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Linear l = random_map(rng, random_dims(rng, {"register", "lane", "odd name"}, 4),
                                random_dims(rng, {"i", "j'", "floor"}, 3));
    const std::string text = to_string(l);
    auto back = parse_linear(text);
    ASSERT_TRUE(back) << text << ": " << back.error().text();
    EXPECT_EQ(back->in(), l.in()) << text;
    EXPECT_EQ(back->out(), l.out()) << text;
    EXPECT_EQ(to_string(*back), text);
    EXPECT_TRUE(*back == l);
    Placement p{l, {}};
    for (int n = below(rng, 3); n > 0; --n)
      p.repeats.push_back({n == 1 ? "i" : "odd name", 1 + below(rng, 5)});
    auto placed = parse_placement(to_string(p));
    ASSERT_TRUE(placed) << to_string(p);
    EXPECT_EQ(*placed, p);
    EXPECT_EQ(to_string(*placed), to_string(p));
  }
}

TEST(LinearText, RefusesMalformedTextWithItsPlace) {
  auto why = [](const char* text) {
    auto p = parse_placement(text);
    return p ? std::string("accepted") : p.error().where + ": " + p.error().why;
  };
  EXPECT_EQ(why("register"), "line 1:9: expected ':'");
  EXPECT_EQ(why("register: i"), "line 1:12: expected '='");
  EXPECT_EQ(why("register: i=0"), "line 1:14: image out of range");
  EXPECT_EQ(why("register: i=1+i=2"), "line 1:18: output i is there twice in an image");
  EXPECT_EQ(why("register: i=1 -> j: 2"), "line 1:22: no extent of output i");
  EXPECT_EQ(why("register: i=4 -> i: 2"), "line 1:22: image i=4 is outside the 1 bits of i");
  EXPECT_EQ(why("register: i=1 -> i: 3"),
            "line 1:22: the extent of an output must be a power of two");
  EXPECT_EQ(why("register: i=99999999999"), "line 1:24: image out of range");
  EXPECT_EQ(why("register: i=1; register: i=2"), "line 1:29: dimension register is there twice");
  EXPECT_EQ(why("repeat (d: 0) register: i=1"), "line 1:13: repeats out of range");
  EXPECT_EQ(why("repeat (d: 65536, e: 65536)"), "line 1:27: repeats out of range");
  EXPECT_EQ(why("register: i=1 }"), "line 1:15: unexpected text");
  EXPECT_EQ(why("register: `i=1"), "line 1:15: unterminated name");
  EXPECT_EQ(why("repeat (d: 2"), "line 1:13: expected ')'");
}

// Cuts and bytes changed at random: an answer, never a crash.
TEST(LinearText, SurvivesAnyBytes) {
  const std::string good =
      "repeat (d: 3, h: 2) register: j=1+i=8 0; lane: `a b`=2; warp: -> i: 16, j: 4, `a b`: 4";
  ASSERT_TRUE(parse_placement(good)) << parse_placement(good).error().text();
  int read = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Rng rng(seed);
    std::string text = good.substr(0, size_t(below(rng, int(good.size()) + 1)));
    for (int n = below(rng, 4); n > 0 && !text.empty(); --n)
      text[size_t(below(rng, int(text.size())))] = good[size_t(below(rng, int(good.size())))];
    if (auto p = parse_placement(text)) {
      ++read;
      EXPECT_EQ(*parse_placement(to_string(*p)), *p) << "seed " << seed;
    }
  }
  EXPECT_GT(read, 50);
}

}  // namespace
}  // namespace nautilus::memory
