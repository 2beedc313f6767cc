// The builder: what operands decide is filled in, and the result verifies.
#include "compiler/memory/builder.h"

#include "helpers.h"

namespace nautilus::memory {
namespace {

FragmentType tile_of(Type elem, std::vector<Axis> axes, Linear map) {
  return {elem, std::move(axes), {std::move(map), {}}};
}

IndexExpr v(const char* name) { return IndexExpr::var(name); }

// One warp: softmax of 16 rows of 64, then a product with a 64 x 8 tile, through every helper of
// sm_80.
Module softmax_product() {
  Module m;
  m.name = "m";
  m.target = "sm_80";
  m.sizes = {"N"};
  m.tensors = {{"A", Type::F16, poly::TensorKind::Input, poly::Scope::Global, {v("N"), 64}},
               {"B", Type::F16, poly::TensorKind::Input, poly::Scope::Global, {8, 64}},
               {"O", Type::F32, poly::TensorKind::Output, poly::Scope::Global, {v("N"), 8}}};
  Kernel k;
  k.name = "k";
  k.grid = {{"g", IndexExpr::floordiv(v("N") + 15, 16)}};
  k.buffers = {{"As",
                Type::F16,
                {{"i", 16}, {"j", 64}},
                {swizzled({{"i", 16}}, {{"j", 64}}, 2, 3), {}},
                1,
                0,
                128}};
  Role r;
  r.name = "all";
  r.warps = 1;
  Builder b(k, r.body);
  b.origin = "S_O";
  b.node = 4;
  b.note = "rows of this block";
  const Cond inside = *parse_cond("16*g + i <= N - 1");
  b.copy(Code::CopyAsync, "As", 0, "A", {v("g") * 16 + v("i"), v("j")}, inside, 16);
  b.plain(Code::CopyCommit);
  b.plain(Code::CopyWait, 0);
  b.plain(Code::BlockSync);
  const auto a = b.load_shared({"As", 0, {v("i"), v("j")}},
                               tile_of(Type::F16, {{"i", 16}, {"j", 64}},
                                       operand_a(Shape::M16N8K16, {{"i", 16}}, {{"j", 64}})),
                               true);
  const auto top = b.reduce(poly::ReduceOp::Max, a, {"j"});
  EXPECT_EQ(to_string(b.type(top)), "f32[i: 16] in {register: i=8; lane: 0 0 i=1 i=2 i=4}");
  const auto e = b.map(Op::Exp, {b.map(Op::Sub, {a, top})});
  const auto zero = b.constant(0, {Type::F32, {}, {}});
  const auto kept = b.mask(inside, e, zero);
  const auto sum = b.reduce(poly::ReduceOp::Sum, kept, {"j"});
  const auto p = b.cast(kept, Type::F16);
  EXPECT_EQ(b.cast(p, Type::F16), p);
  EXPECT_EQ(b.exchange(p, b.type(a).place), p);
  const auto w = b.load_global("B", {v("d"), v("j")},
                               tile_of(Type::F16, {{"d", 8}, {"j", 64}},
                                       operand_b(Shape::M16N8K16, {{"d", 8}}, {{"j", 64}})),
                               Cond::always(), 0, 4);
  const auto start = b.constant(0, tile_of(Type::F32, {{"d", 8}, {"i", 16}},
                                           accumulator(Shape::M16N8K16, {{"i", 16}}, {{"d", 8}})));
  const auto done = b.loop("t", 0, 2, 1, {start}, [&](Builder& in, const Builder::Values& c) {
    return Builder::Values{in.mma(Shape::M16N8K16, c[0], p, w, {"j"})};
  });
  const auto scaled = b.branch(
      *parse_cond("g = 0"),
      [&](Builder& in) { return Builder::Values{in.map(Op::Div, {done[0], sum})}; },
      [&](Builder&) { return done; });
  b.store_global("O", {v("g") * 16 + v("i"), v("d")}, scaled[0], inside, 8);
  k.roles = {r};
  name_layouts(k);
  m.kernels = {k};
  return m;
}

TEST(MemoryBuilder, WhatItBuildsVerifiesAndReadsBack) {
  const Module m = softmax_product();
  auto r = verify(m);
  ASSERT_FALSE(r) << r->text() << "\n" << print(m);
  auto back = parse(print(m));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(print(*back), print(m));
  const Kernel& k = m.kernels[0];
  EXPECT_EQ(k.layouts.size(), 5u) << print(m);  // buffer, a, rows, b, accumulator
  EXPECT_EQ(k.roles[0].body.body[0].note, "rows of this block");
  EXPECT_EQ(k.roles[0].body.body[1].note, "");
  EXPECT_EQ(k.roles[0].body.body[1].node, 4);
  EXPECT_EQ(print(m).find("{register"), print(m).find("{register", print(m).find("layout")));
}

TEST(MemoryBuilder, UndecidedTypesAreRefused) {
  Kernel k;
  Region r;
  Builder b(k, r);
  const auto i =
      b.constant(1, {Type::F32, {{"i", 2}}, *parse_placement("register: i=1; lane: 0 0 0 0 0")});
  const auto j =
      b.constant(1, {Type::F32, {{"j", 2}}, *parse_placement("register: j=1; lane: 0 0 0 0 0")});
  const auto other =
      b.constant(1, {Type::F32, {{"i", 2}}, *parse_placement("register:; lane: i=1 0 0 0 0")});
  auto why = [&](Code code, std::vector<ValueId> operands) {
    Instr x;
    x.code = code;
    x.op = Op::Add;
    x.operands = std::move(operands);
    x.renames = {{"i", "j"}};
    auto t = infer_type(k, x);
    return t ? to_string(*t) : t.error().why;
  };
  EXPECT_EQ(why(Code::Map, {i, j}), "an operand has axis j of 2, which the result lacks");
  EXPECT_EQ(
      why(Code::Map, {i, other}),
      "an operand lies as register:; lane: i=1 0 0 0 0, not as register: i=1; lane: 0 0 0 0 0");
  EXPECT_EQ(why(Code::Map, {i}), "not an operation on these tiles");
  EXPECT_EQ(why(Code::Map, {i, 99}), "operand %99 is not defined");
  EXPECT_EQ(why(Code::LoadShared, {i}), "operands do not decide it");
  EXPECT_EQ(why(Code::Rename, {i}), "f32[j: 2] in {register: j=1; lane: 0 0 0 0 0}");
}

}  // namespace
}  // namespace nautilus::memory
