// Malformed requests are refusals in the user's words, never exceptions; and nothing changes.
#include <gtest/gtest.h>

#include "tests/polyhedral/transform_helpers.h"

namespace nautilus::poly {
namespace {

using namespace testing_programs;

// Expects a refusal whose text contains `why`; of the edit alone, too, unless it is a judgement.
void refuses(Session& t, const std::string& name, const json& params, const std::string& why,
             bool judgement = false) {
  const std::string before = to_text(t.s);
  Outcome o = t.apply(name, params);
  ASSERT_FALSE(o.accepted()) << name << " " << params.dump();
  ASSERT_TRUE(o.refusal) << name << " " << params.dump() << ": " << o.verdict.why;
  EXPECT_NE(o.refusal->text().find(why), std::string::npos)
      << o.refusal->text() << "\nexpected: " << why;
  EXPECT_FALSE(o.refusal->asked.empty());
  EXPECT_EQ(to_text(t.s), before);
  Expected<Schedule> unchecked = apply_unchecked(t.s, name, params);
  EXPECT_EQ(bool(unchecked), judgement) << name;
}

TEST(TransformRefuse, UnknownNamesAndParameters) {
  Session t(matmul(make_context()));
  const NodeId band = t.band("S_C");
  refuses(t, "tyle", {{"node", band}}, "no transform of that name");
  refuses(t, "tile", {{"node", band}, {"sizes", {4}}, {"colour", 1}}, "no parameter colour");
  refuses(t, "tile", {{"node", band}}, "sizes is missing");
  refuses(t, "tile", json::array({1}), "must be an object");
  refuses(t, "tile", {{"node", "x"}, {"sizes", {4}}}, "must be an integer");
  refuses(t, "tile", {{"node", band}, {"sizes", {4.5}}}, "must be an integer");
  refuses(t, "tile", {{"node", band}, {"sizes", 4}}, "list of integers");
  refuses(t, "tile", {{"node", band}, {"sizes", {-2}}}, "must be -1 to");
  refuses(t, "tile", {{"node", 18446744073709551615ull}, {"sizes", {4}}}, "too large");
  refuses(t, "tile", {{"node", -5}, {"sizes", {4}}}, "not a node id");
  refuses(t, "map", {{"node", band}, {"member", "i"}, {"mapping", "threads"}},
          "one of serial, grid");
  EXPECT_TRUE(poly::apply(t.s, t.deps, TransformStep{"tile", "{nonsense"}).refusal);
}

TEST(TransformRefuse, WrongNodes) {
  Session t(matmul(make_context()));
  refuses(t, "tile", {{"node", 4711}, {"sizes", {4}}}, "there is no node 4711");
  refuses(t, "tile", {{"node", t.root()}, {"sizes", {4}}}, "is a sequence, not a band");
  refuses(t, "fuse", {{"node", t.band("S_C")}, {"first", 0}, {"last", 1}, {"depth", 1}},
          "is a band, not a sequence");
  refuses(t, "interchange", {{"node", t.filter("S_C")}, {"order", {"i"}}},
          "is a filter, not a band");
  refuses(t, "sink", {{"node", t.band("S_C")}, {"into", t.band("S_C")}, {"depth", 1}},
          "not a filter");
  refuses(t, "partition", {{"node", t.root()}, {"condition", "full"}}, "not a band");
}

TEST(TransformRefuse, Tile) {
  Session t(matmul(make_context()));
  const NodeId band = t.band("S_C");
  refuses(t, "tile", {{"node", band}, {"sizes", {4, 4, 4, 4}}}, "has 3 members");
  refuses(t, "tile", {{"node", band}, {"sizes", {0, 0}}}, "no member is tiled");
  refuses(t, "tile", {{"node", band}, {"sizes", json::array()}}, "no member is tiled");
  refuses(t, "tile", {{"node", band}, {"sizes", {-1, -1, -1}}}, "no member is tiled");
  t.must("tile", {{"node", band}, {"sizes", {int64_t{1} << 40}}});
  refuses(t, "tile", {{"node", band}, {"sizes", {int64_t{1} << 40}}}, "does not fit");
}

TEST(TransformRefuse, SplitInterchangeSkewReverseUnroll) {
  Session t(matmul(make_context()));
  const NodeId band = t.band("S_C");
  refuses(t, "split", {{"node", band}, {"at", 3}}, "both parts must have a member");
  refuses(t, "split", {{"node", band}, {"at", 0}}, "must be 1 to");
  refuses(t, "interchange", {{"node", band}, {"order", {"i", "j"}}}, "names 2 of 3");
  refuses(t, "interchange", {{"node", band}, {"order", {"i", "i", "j"}}}, "named twice");
  refuses(t, "interchange", {{"node", band}, {"order", {"i", "j", "z"}}}, "no member is named z");
  refuses(t, "skew", {{"node", band}, {"member", "i"}, {"by", "i"}, {"factor", 1}}, "by itself");
  refuses(t, "skew", {{"node", band}, {"member", "i"}, {"by", "j"}, {"factor", 0}},
          "changes nothing");
  refuses(t, "reverse", {{"node", band}, {"member", 7}}, "no member 7");
  t.must("map", {{"node", band}, {"member", "*"}, {"mapping", "tile"}});
  refuses(t, "reverse", {{"node", band}, {"member", "i"}}, "mapped to tile");
  refuses(t, "unroll", {{"node", band}, {"member", "i"}}, "mapped to tile");
  refuses(t, "shift", {{"node", band}, {"member", "i"}, {"amount", 1}, {"statements", "S_C"}},
          "mapped to tile");
}

TEST(TransformRefuse, Shift) {
  Session t(two_pointwise(make_context()));
  refuses(t, "shift",
          {{"node", t.band("S_B")}, {"member", "i"}, {"amount", 1}, {"statements", "S_C"}},
          "not below this band");
  refuses(t, "shift",
          {{"node", t.band("S_B")}, {"member", "i"}, {"amount", 1}, {"statements", json::array()}},
          "no statement");
}

TEST(TransformRefuse, FuseAndDistribute) {
  Session t(attention(make_context()));
  refuses(t, "fuse", {{"node", t.root()}, {"first", 1}, {"last", 1}, {"depth", 1}}, "at least two");
  refuses(t, "fuse", {{"node", t.root()}, {"first", 0}, {"last", 99}, {"depth", 1}},
          "has 7 children");
  refuses(t, "fuse", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 4}},
          "only 3 members");
  refuses(t, "distribute", {{"node", t.band("S_m")}}, "no sequence right below");
  t.must("tile", {{"node", t.band("S_m")}, {"sizes", {0, 8}}});
  t.must("interchange", {{"node", t.s.root->children[2]->children[0]->id}, {"order", {"i0_3"}}});
  refuses(t, "fuse", {{"node", t.root()}, {"first", 2}, {"last", 3}, {"depth", 1}},
          "tile sizes differ");
}

TEST(TransformRefuse, MapStructure) {
  Session t(attention(make_context()));
  const NodeId band = t.band("S_m");
  refuses(t, "map", {{"node", band}, {"member", "i_3"}, {"mapping", "grid"}},
          "inside a loop of its band");
  t.must("fuse", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 2}});
  refuses(t, "map",
          {{"node", t.s.root->children[0]->children[0]->id}, {"member", "*"}, {"mapping", "tile"}},
          "2 statements");
  refuses(t, "map", {{"node", t.band("S_S", "j")}, {"member", "j_2"}, {"mapping", "grid"}},
          "is around it");
}

TEST(TransformRefuse, SetScope) {
  Session t(attention(make_context()));
  refuses(t, "set_scope", {{"tensor", "nothing"}, {"scope", "shared"}}, "no tensor of that name");
  refuses(t, "set_scope", {{"tensor", "Q"}, {"scope", "shared"}}, "is an input");
  refuses(t, "set_scope", {{"tensor", "O"}, {"scope", "register"}}, "is an output");
  refuses(t, "set_scope", {{"tensor", "S"}, {"scope", "shared"}}, "several kernels", true);
  t.must("fuse", {{"node", t.root()}, {"first", 0}, {"last", 6}, {"depth", 2}});
  t.must("set_scope", {{"tensor", "S"}, {"scope", "shared"}});
  refuses(t, "set_scope", {{"tensor", "S"}, {"scope", "register"}}, "selects the element", true);
  t.must("set_scope", {{"tensor", "m"}, {"scope", "register"}});  // one element for each [h, i]
  // An element that data chooses.
  Builder b(make_context(), "gather", {"N"}, "[N] -> { : N >= 0 }");
  b.tensor("x", TensorKind::Input, {"N", "N"})
      .tensor("t", TensorKind::Temp, {"N", "N"})
      .tensor("y", TensorKind::Output, {"N", "N"});
  const char* ij = "0 <= i < N and 0 <= j < N";
  b.statement("t", "i,j", ij, "i,j", {{"x", "i,j"}}, rd(0));
  b.statement("y", "i,j", ij, "i,j", {{"t", "i,j"}, {"x", "i,j"}}, rd(0));
  Program p = *b.done();
  p.tensors[0].type = Type::I32;
  p.statements[1].reads[0].map =
      isl::map(p.context->get(), "[N] -> { S_y[i, j] -> t[i, k] : 0 <= k < N }");
  p.statements[1].reads[0].gathers = {{1, 1}};
  Session g(std::make_shared<const Program>(in_param_order(p)));
  g.must("fuse", {{"node", g.root()}, {"first", 0}, {"last", 1}, {"depth", 1}});
  refuses(g, "set_scope", {{"tensor", "t"}, {"scope", "register"}}, "gathers its elements by index",
          true);
}

TEST(TransformRefuse, Sink) {
  Session t(attention(make_context()));
  refuses(t, "sink", {{"node", t.filter("S_l")}, {"into", t.band("S_P")}, {"depth", 1}},
          "later sibling");
  refuses(t, "sink", {{"node", t.filter("S_m")}, {"into", t.band("S_l")}, {"depth", 1}},
          "nothing in those loops reads m");
  refuses(t, "sink", {{"node", t.filter("S_m")}, {"into", t.band("S_P")}, {"depth", 9}},
          "depth 1 to 3");
  refuses(t, "sink", {{"node", t.filter("S_m")}, {"into", t.band("S_m")}, {"depth", 1}},
          "later sibling");
}

TEST(TransformRefuse, Partition) {
  Session t(matmul(make_context()));
  const NodeId band = t.band("S_C");
  refuses(t, "partition", {{"node", band}, {"condition", "{ S_C[i"}}, "not an isl set");
  refuses(t, "partition", {{"node", band}, {"condition", "{ S_C[i, j, k] : i < 0 }"}},
          "no instance satisfies");
  refuses(t, "partition", {{"node", band}, {"condition", "{ S_C[i, j, k] }"}},
          "every instance satisfies");
  refuses(t, "partition", {{"node", band}, {"condition", "[Z] -> { S_C[i, j, k] : i < Z }"}},
          "uses Z");
  refuses(t, "partition", {{"node", band}, {"condition", "{ S_D[i, j, k] : i < 4 }"}},
          "about S_D, which does not run here");
  refuses(t, "partition", {{"node", band}, {"condition", "{ [i] : i < 4 }"}}, "names no statement");
  refuses(t, "partition", {{"node", band}, {"condition", "{ S_C[i] : i < 4 }"}},
          "gives S_C 1 dimensions; it has 3");
  const std::string deep(100'000, '('), digits(100'000, '9');
  refuses(t, "partition", {{"node", band}, {"condition", "{ S_C[i, j, k] : " + deep}},
          "nested too deeply");
  refuses(t, "partition", {{"node", band}, {"condition", "{ S_C[i, j, k] : i < " + digits + " }"}},
          "number is too long");
  refuses(t, "partition", {{"node", band}, {"condition", "full"}}, "every instance satisfies");
}

// A band of a rolling update is not cut in two: each half would need corrections of its own.
TEST(TransformRefuse, PartitionOfARollingUpdate) {
  Session t(attention(make_context()));
  t.must("rolling_update", {{"node", t.root()}, {"first", 2}, {"last", 5}, {"depth", 3}});
  refuses(t, "partition",
          {{"node", t.s.repairs[0].band}, {"condition", "{ S_m[h, i, j] : i < 4 }"}},
          "a rolling update lives at or below it");
}

// Coefficients beyond 64 bits, step by step: what reads them says so.
TEST(TransformRefuse, NumbersBeyond64Bits) {
  Builder b(make_context(), "copy", {"N"}, "[N] -> { : N >= 0 }");
  b.tensor("x", TensorKind::Input, {"N", "N"}).tensor("y", TensorKind::Output, {"N", "N"});
  b.statement("y", "i,j", "0 <= i < N and 0 <= j < N", "i,j", {{"x", "i,j"}}, rd(0));
  Session t(b.done());
  const NodeId band = t.band("S_y");
  for (int k = 0; k < 4; ++k)
    t.must("skew", {{"node", band}, {"member", k % 2}, {"by", 1 - k % 2}, {"factor", 1'000'000}});
  t.must("tile", {{"node", band}, {"sizes", {4, 4}}});
  const json full{{"node", band}, {"condition", "full"}};
  const Outcome o = t.apply("partition", full);
  EXPECT_FALSE(o.accepted());
  EXPECT_EQ(o.verdict.kind, VerdictKind::Unknown);
  EXPECT_NE(o.verdict.why.find("does not fit in 64 bits"), std::string::npos) << o.verdict.why;
  const Expected<Schedule> unchecked = apply_unchecked(t.s, "partition", full);
  ASSERT_FALSE(unchecked);
  EXPECT_NE(unchecked.error().text().find("does not fit in 64 bits"), std::string::npos);
}

}  // namespace
}  // namespace nautilus::poly
