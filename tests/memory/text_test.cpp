// Text form of the memory IR.
#include <random>
#include <set>

#include "helpers.h"

namespace nautilus::memory {
namespace {

// Every instruction and every option once; not meant to verify.
const char* kEverything = R"t(module `odd name` {
  target sm_90a
  sizes N, M
  tensor A: f16[N, 64] input global
  tensor O: f32[N] output global
  kernel k0 {
    comment "two\nlines \"quoted\""
    grid b < 4
    grid i0 < floor((N + 15)/16)
    blocks_per_sm 2
    layout acc {register: j=1 i=8; lane: j=2 j=4 i=1 i=2 i=4}
    layout `row of` {repeat (i: 3) register: i=1; lane: 0 0 0 0 0 -> i: 4}
    buffer As: f16[i: 16, k: 64] slots 3 offset 1024 align 1024 in {offset: k=1 k=2 -> k: 64, i: 16}
    buffer Bs: f16[k: 8] slots 1 align 16 in {offset: k=1 k=2 k=4}
    mbarrier full slots 3 arrivals 1
    named order id 2 warps 8
    values 51
    role consumer first 0 warps 4 {
      set_registers 232
      %0: f32[i: 16, j: 8] in acc = const -inf
      note "one \"line\""
      %1: i32[i: 12] in `row of` = iota 16*i0 + i @:7
      %2: f32 = const 0.1
      %3: f32[i: 16, j: 8] in acc = mul %0, %2 @`S A`
      %4: f32[i: 16, j: 8] in acc = mask %0, %3 where (j <= i or 3 = j)
      %5: f32[i: 16] in {register: i=8; lane: 0 0 i=1 i=2 i=4} = reduce max %4 over (j)
      %6: f32[i: 16] in {register: i=8; lane: 0 0 i=1 i=2 i=4} = reduce user %4 over (j) combine "max(a, b)" identity "-inf"
      %7: f16[i: 16, j: 8] in acc = cast %4
      %8: f16[i: 16, j: 8] in {register: i=1} = exchange %7
      %9: f16[k: 16] in {register: k=1} = rename %5 (i -> k, j -> l)
      %50: f32[i: 8, j: 8] in acc = slice %4 from (8, 0)
      %10: f16[i: 16] in {register: i=1} = load_global A[16*i0 + i, %1] where (16*i0 + i <= N - 1) fill -inf vector 8
      store_global O[%1] = %10 where (i <= 3) vector 4 @S_O:9
      %11: f32[i: 16] in {register: i=1} = atomic_add O[i] += %10
      atomic_add O[%1] += %10 where (i <= 3)
      %12: f16[i: 16, k: 16] in {register: i=1} = load_shared As[mod(b, 3)](i, k + 3) matrix transposed
      store_shared As[0](i, k) = %12 matrix vector 16
      store_shared Bs[0](k) = %12
      copy_plain As[b] = A[i, k]
      copy_async As[b] = A[i, %2] where (i <= 3) vector 16
      copy_commit
      copy_wait 2
      copy_bulk As[b] = A[16*i0 + i, k] signal full[mod(b, 3)]
      bulk_store A[16*i0 + i, k] = As[b]
      bulk_commit
      bulk_wait 1
      bulk_wait 0 read
      %13: f32[i: 16, j: 8] in acc = mma m16n8k16 %0, %12, %12 over (k)
      mma_fence
      %14: f32[i: 16, j: 8] in acc = wgmma m64nxk16 %0, As[b](i, k), As[b + 1](j, k + 16) over (k: 16) @S_C
      %15: f32[i: 16, j: 8] in acc = wgmma m64nxk8 %0, %12, As[b](j, k) over (k: 16)
      mma_commit
      mma_wait 1
      %16: f32[i: 16, j: 8] in acc, %17: f32[i: 16, j: 8] in acc = mma_wait 0 (%14, %15)
      arrive full[b] count 1
      wait full[b] parity mod(floor(b/3) + 1, 2)
      named_sync order
      named_arrive order
      block_sync
      warp_sync
      proxy_fence
      %18: f32[i: 16, j: 8] in acc, %19: f32 = for t in [0, min(M, i0)) step 2 carry (%20: f32[i: 16, j: 8] in acc = %16, %21: f32 = %2) {
        yield %20, %21
      }
      if (warp = 0) {
        for q in [warp, 4) step 4 {
        }
      } else {
      }
      %22: f32 = if (floor(warp/4) = 0) {
        yield %2
      } else {
        yield %19
      }
    }
    role producer first 4 warps 4 {
      expect_bytes full[b] bytes 32768
    }
  }
}
)t";

TEST(MemoryText, RoundTripIsExact) {
  auto m = parse(kEverything);
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(print(*m), kEverything);
  const Kernel& k = m->kernels[0];
  EXPECT_EQ(k.next_value, 51);
  EXPECT_EQ(k.types.at(0).place, k.layouts[0].second);
  const auto& body = k.roles[0].body.body;
  std::set<Code> seen;
  for (const Role& r : k.roles)
    for (const Instr& i : r.body.body) seen.insert(i.code);
  EXPECT_EQ(seen.size(), size_t(Code::If) + 1) << "an instruction is not in the text";
  EXPECT_EQ(body[2].note, "one \"line\"");
  EXPECT_EQ(body[2].node, 7);
  EXPECT_EQ(k.buffers[1].offset, -1);
  EXPECT_EQ(k.threads(), 256);
  EXPECT_EQ(k.shared_bytes(), 1024 + 3 * 4 * 2 + 3 * 8);
  EXPECT_EQ(print(body[1], k), "%0: f32[i: 16, j: 8] in acc = const -inf");
}

TEST(MemoryText, SamplesRoundTrip) {
  for (const char* name : {"ampere_product", "hopper_product", "causal_attention", "gather_sums"}) {
    const std::string text = sample_text(name);
    auto m = parse(text, name);
    ASSERT_TRUE(m) << m.error().text();
    EXPECT_EQ(print(*m), text);
  }
}

TEST(MemoryText, ErrorsNameTheirPlace) {
  auto why = [](const std::string& from, const std::string& to) {
    auto m = parse(changed(kEverything, from, to), "x.mtile");
    return m ? std::string("accepted") : m.error().where + ": " + m.error().why;
  };
  EXPECT_EQ(why("target sm_90a", ""), "x.mtile:3:3: expected 'target'");
  EXPECT_EQ(why("in acc = const", "in bcc = const"), "x.mtile:20:35: unknown layout bcc");
  EXPECT_EQ(why("const -inf", "cost -inf"), "x.mtile:20:41: unknown instruction cost");
  EXPECT_EQ(why("m16n8k16 %0", "m16n8k17 %0"), "x.mtile:48:50: unknown shape m16n8k17");
  EXPECT_EQ(why("%2: f32 = const", "%1: f32 = const"), "x.mtile:23:15: %1 is defined twice");
  EXPECT_EQ(why("parity mod", "parity mod mod"), "x.mtile:56:53: index expression: expected '('");
  EXPECT_EQ(why("step 2", "step 99999999999"), "x.mtile:62:89: number out of range");
  EXPECT_EQ(why("layout acc {register: j=1", "layout acc {register: j=0"),
            "x.mtile:11:31: image out of range");
  EXPECT_EQ(why("As[b](j, k) over", "As[b](j, k), As[b](j, k), As[b](j, k) over"),
            "x.mtile:51:87: a product has two operands");
}

TEST(MemoryText, SurvivesAnyBytes) {
  const std::string good = kEverything;
  std::mt19937_64 rng(7);
  int read = 0;
  for (int n = 0; n < 400; ++n) {
    std::string text = good;
    for (int k = int(rng() % 3) + 1; k > 0; --k) {
      const size_t at = rng() % text.size();
      if (rng() % 2)
        text[at] = good[rng() % good.size()];
      else
        text.erase(at, rng() % 20);
    }
    auto m = parse(text);
    if (!m) continue;
    ++read;
    (void)verify(*m);
    auto back = parse(print(*m));
    ASSERT_TRUE(back) << back.error().text() << "\n" << print(*m);
    EXPECT_EQ(print(*back), print(*m));
  }
  EXPECT_GT(read, 20);
}

}  // namespace
}  // namespace nautilus::memory
