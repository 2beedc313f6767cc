// Each rule of the verifier by a sample with one thing wrong.
#include "helpers.h"

namespace nautilus::memory {
namespace {

TEST(MemoryVerify, SamplesAreWellFormed) {
  for (const char* name : {"ampere_product", "hopper_product", "causal_attention", "gather_sums"})
    EXPECT_EQ(why_not(sample_text(name)), "") << name;
}

struct Case {
  const char *from, *to, *why;  // why: a part of the answer
};

void expect_refusals(const std::string& text, const std::vector<Case>& cases) {
  ASSERT_EQ(why_not(text), "");
  for (const Case& c : cases) {
    const std::string why = why_not(changed(text, c.from, c.to));
    EXPECT_NE(why.find(c.why), std::string::npos)
        << c.from << " -> " << c.to << "\n  answer: " << why << "\n  wanted: " << c.why;
  }
}

TEST(MemoryVerify, ModulesAndKernels) {
  expect_refusals(
      sample_text("ampere_product"),
      {{"sm_80", "sm_70", "not a target that is known here"},
       {"sm_80", "sm_80b", "not a target that is known here"},
       {"sizes M, N", "sizes M, N, N", "size N is there twice or reserved"},
       {"sizes M", "sizes warp, M", "size warp is there twice or reserved"},
       {"tensor B: f16[N", "tensor A: f16[N", "tensor A is there twice"},
       {"tensor B: f16[N, 8*K8] input global", "tensor B: f16[N, 8*K8] input shared",
        "tensor B must be global"},
       {"tensor A: f16[M, 8*K8]", "tensor A: f16[Q, 8*K8]", "unknown size Q in Q"},
       {"grid i0 < floor((M + 63)/64)", "grid i0 < floor((R + 63)/64)", "unknown size R"},
       {"grid i0", "grid i0 together 2", "but no dim before it has more than one"},
       {"grid j0", "grid j0 together 2", "but how many i0 has is open"},
       {"grid j0", "grid j0 together 0", "which must be 1 or more"},
       {"grid j0", "grid j0 together 8.5", "expected '<'"},
       {"grid i0 < floor((M + 63)/64)\n    grid j0", "grid i0 < 6\n    grid j0 together 4",
        "which does not divide the 6 of i0"},
       {"grid i0 < floor((M + 63)/64)\n    grid j0",
        "grid_descending i0 < 6\n    grid j0 together 2", "but i0 has an order of its own"},
       {"grid i0 < floor((M + 63)/64)", "grid i0 < 0 - 8", "grid dim i0 has -8 points"},
       {"grid i0 < floor((M + 63)/64)", "grid i0 < 4294967296", "0 to 2^31 - 1 blocks"},
       {"grid j0", "grid i0", "loop variable i0 is bound twice"},
       {"grid j0", "grid M", "loop variable M is bound twice or has the name of a size"},
       {"blocks_per_sm 2", "blocks_per_sm 0", "blocks_per_sm must be positive"},
       {"values 8", "values 6", "%6 is outside the kernel's value numbers"},
       {"role all first 0", "role all first 1",
        "role all starts at warp 1, the ones before end at 0"},
       {"warps 4 {", "warps 40 {", "role all has 40 warps"},
       {"warps 4 {", "warps 0 {", "role all has 0 warps"},
       {"warps 4 {", "warps 6 {", "a tile over 4 warps in a role of 6"}});
  const std::string hopper = sample_text("hopper_product");
  expect_refusals(
      hopper, {{"role producer", "role consumer", "role consumer is there twice"},
               {"role producer first 8", "role producer first 4", "role producer starts at warp 4"},
               {"warps 4 {", "warps 25 {", "a block of 33 warps"}});
  auto m = parse(hopper);
  ASSERT_TRUE(m);
  m->kernels.push_back(m->kernels[0]);
  EXPECT_EQ(verify(*m)->why, "kernel product is there twice");
  m->kernels.pop_back();
  m->kernels[0].roles[1].body.yields = {0};
  EXPECT_EQ(verify(*m)->why, "a role's body has no arguments and no yields");
}

TEST(MemoryVerify, BuffersAndBarriers) {
  expect_refusals(
      sample_text("hopper_product"),
      {{"buffer Bs", "buffer As", "As names two buffers or barriers"},
       {"mbarrier empty", "mbarrier full", "full names two buffers or barriers"},
       {"layout panels", "layout rows {offset: k=1}\n    layout panels",
        "layout rows is there twice"},
       {"slots 4 offset 0", "slots 0 offset 0", "1 to 64 slots"},
       {"offset 0 align 1024", "offset 0 align 2048", "a power of two of 16 to 1024"},
       {"offset 0 align 1024", "offset 0 align 48", "a power of two of 16 to 1024"},
       {"offset 65536", "offset 65552", "offset 65552 is not aligned to 1024"},
       {"f16[i: 128, k: 64] slots 4", "f16[i: 129, k: 64] slots 4",
        "the placement holds 128 of 129 along i"},
       {"f16[i: 128, k: 64] slots 4", "f16[k: 64, i: 128] slots 4",
        "axes are not sorted or not unique"},
       {"f16[i: 128, k: 64] slots 4", "f16[i: 0, k: 64] slots 4", "axis i has extent 0"},
       {"f16[i: 128, k: 64] slots 4", "f16[j: 128, k: 64] slots 4",
        "the placement has axis i, which the tile lacks"},
       {"layout rows {offset: k=1 k=2", "layout rows {offset: k=1 k=1",
        "does not reach every element of its block"},
       {"layout rows {offset: k=1", "layout rows {offset: k=1 k=1",
        "two offsets hold the same element"},
       {"layout rows {offset:", "layout rows {lane:", "a shared tile's input is offset, not lane"},
       {"offset 131072", "offset 229376", "bytes of shared memory, sm_90a has 232448"},
       {"mbarrier full slots 4 arrivals 1", "mbarrier full slots 4 arrivals 0",
        "slots or arrivals out of range"},
       {"named consumers id 1", "named consumers id 16", "its number is not one of 1 to 15"},
       {"named consumers id 1 warps 8", "named consumers id 1 warps 13",
        "named barrier consumers: 13 warps"}});
  const std::string small =
      changed(sample_text("ampere_product"),
              "{offset: k=1 k=2 k=4 k=8 k=16 i=1 k=8+i=2 k=16+i=4 i=8 i=16 i=32}",
              "{offset: k=1 k=2 k=4 k=8 k=16 i=1 k=8+i=2 k=16+i=4 i=8 i=16 i=32 -> k: 32, i: 64}");
  EXPECT_EQ(why_not(small), "");
  expect_refusals(small, {{"f16[i: 64, k: 32] slots 3 offset 0 align 128 in rows",
                           "f16[i: 2, k: 2] slots 3 offset 0 align 128 in {offset: i=1 k=1}",
                           "slots of 8 bytes are not aligned to 128"}});
}

TEST(MemoryVerify, ValuesAndScopes) {
  expect_refusals(
      sample_text("causal_attention"),
      {{"max %10, %18", "max %10, %30", "%30 is used where it is not defined"},
       {"yield %30, %19, %26", "yield %30, %19",
        "initial values, arguments, yields and results differ in number"},
       {"yield %30, %19, %26", "yield %30, %19, %17", "%17 is used where it is not defined"},
       {"yield %30, %19, %26", "yield %30, %19, %9", "%9 has another type than %11"},
       {"= %2, %11", "= %1, %11", "%1 has another type than %10"},
       {"for t in [0, i0 + 1) step 1", "for t in [0, i0 + 1) step 0", "the step must be positive"},
       {"for t in [0, i0 + 1)", "for i0 in [0, i0 + 1)", "loop variable i0 is bound twice"},
       {"for t in [0, i0 + 1)", "for t in [0, u + 1)", "unknown name u in u + 1"},
       {"if (t = i0)", "if (j = i0)", "unknown name j"},
       {"          yield %15", "          yield %15, %15", "yields and results differ in number"},
       {"          yield %15", "          yield %9", "%9 has another type than %16"},
       {"layout row {register: i=8;", "layout row {register: i=8 i=8;",
        "registers hold copies of each other"},
       {"layout row {register: i=8; lane: 0 0", "layout row {register: i=8; lane: 0",
        "a fragment has 5 bits of lanes"},
       {"layout row {register:", "layout row {vector:",
        "a fragment has registers, lanes and warps, not vector"},
       {"%2: f32[i: 64] in row", "%2: f32[i: 80] in row", "the placement holds 64 of 80 along i"},
       {"%2: f32[i: 64] in row", "%2: f32[t: 64] in row",
        "the placement has axis i, which the tile lacks"},
       {"%4: f32 = const", "%4: f32 in row = const", "a single value has no placement"},
       {"%2: f32[i: 64] in row",
        "%2: f32[i: 64] in {repeat (i: 8192) register: i=1; lane: 0 0 0 0 0}",
        "more than 1024 registers a thread"}});
  expect_refusals(changed(sample_text("ampere_product"), "copy_wait 0",
                          "%7: i32[q: 2] in {register: q=1; lane: 0 0 0 0 0} = iota q + 2*i0"),
                  {{"%7: i32[q: 2] in {register: q=1; lane: 0 0 0 0 0}",
                    "%7: i32[i0: 2] in {register: i0=1; lane: 0 0 0 0 0}",
                    "axis i0 has the name of a loop variable or size"},
                   {"iota q + 2*i0", "iota q + 2*i1", "unknown name i1 in 2*i1 + q"},
                   {"%7: i32[q", "%7: f32[q", "the element type should be i32"}});
}

TEST(MemoryVerify, Registers) {
  expect_refusals(
      sample_text("causal_attention"),
      {{"= mul %14, %5", "= mul %14", "1 operands instead of 2"},
       {"= sub %16, %19", "= sub %16, %9", "an operand has axis d of 64, which the result lacks"},
       {"%22: f32[i: 64] in row",
        "%22: f32[i: 64] in {register: i=32; lane: 0 0 i=1 i=2 i=4; warp: i=8 i=16}",
        "an operand lies as"},
       {"%15: f32[i: 64, j: 64]", "%15: f16[i: 64, j: 64]", "the element type should be f32"},
       {"mask %15, %4 where (j <= i)", "mask %15, %4 where (j <= k)", "unknown name k"},
       {"mask %15, %4", "mask %15, %28", "%28 is used where it is not defined"},
       {"%4: f32 = const -inf", "%4: f16 = const -inf",
        "operands and result have different element types"},
       {"reduce max %16 over (j)", "reduce max %16 over (d)", "the operand has no axis d"},
       {"reduce max %16 over (j)", "reduce max %16 over (j, j)",
        "axes are not there or not unique"},
       {"reduce max %16 over (j)", "reduce max %16 over (i)",
        "axis i is spread over warps: a reduction stays inside a warp"},
       {"reduce max %16 over (j)", "reduce any %16 over (j)", "the element type should be bool"},
       {"reduce max %16 over (j)", "reduce user %16 over (j)",
        "a user reduction needs combine and identity"},
       {"reduce max %16 over (j)", "reduce user %16 over (j) combine \"max(a, c)\" identity \"0\"",
        "combine may only use a and b"},
       {"reduce max %16 over (j)", "reduce user %16 over (j) combine \"max(a, b)\" identity \"b\"",
        "identity must be a constant"},
       {"%18: f32[i: 64] in row",
        "%18: f32[i: 64] in {register: i=8; lane: i=1 0 0 i=2 i=4; warp: i=16 i=32}",
        "the result lies as"},
       {"%28: f16[i: 64, j: 64] in acc", "%28: f16[d: 64, i: 64] in out",
        "the result has other axes"},
       {"%28: f16[i: 64, j: 64] in acc",
        "%28: f16[i: 64, j: 64] in {register: i=8 j=1 j=8 j=16 j=32; lane: j=2 j=4 i=1 i=2 i=4; "
        "warp: i=16 i=32}",
        "the result has another placement"}});
  const std::string exchanged = changed(sample_text("causal_attention"), "copy_wait 0\n      %31",
                                        "%33: f32[i: 64] in {register: i=4; lane: 0 0 i=1 i=2 i=8; "
                                        "warp: i=16 i=32} = exchange %7\n      "
                                        "%34: f32[q: 64] in {register: q=8; lane: 0 0 q=1 q=2 q=4; "
                                        "warp: q=16 q=32} = rename %7 (i -> q)\n      %31");
  expect_refusals(
      changed(exchanged, "values 33", "values 35"),
      {{"lane: 0 0 i=1 i=2 i=8; warp: i=16 i=32", "lane: 0 0 i=1 i=2 i=16; warp: i=8 i=32",
        "data would move between warps"},
       {"%33: f32", "%33: f16", "the result has another element type"},
       {"(i -> q)", "(j -> q)", "the operand has no axis j"},
       {"(i -> q)", "(i -> q, i -> q)", "axis i is renamed twice"},
       {"(i -> q)", "()", "the result has another type"},
       {"lane: 0 0 q=1 q=2 q=4", "lane: 0 0 q=1 q=4 q=2", "the result has another placement"},
       {"rename %7 (i -> q)", "rename %6 (i -> d)", "two axes would be named d"}});
}

TEST(MemoryVerify, GlobalMemory) {
  const char* store = "store_global O[h, 64*i0 + i, d] = %32 where (64*i0 + i <= N - 1) vector 4";
  expect_refusals(
      sample_text("causal_attention"),
      {{store, "store_global P[h, 64*i0 + i, d] = %32", "unknown tensor P"},
       {store, "store_global O[64*i0 + i, d] = %32", "O has 3 dimensions, not 2"},
       {store, "store_global Q[h, 64*i0 + i, d] = %32", "a write to input Q"},
       {store, "store_global O[h, 64*i0 + i, d] = %31",
        "the value must have the tensor's element type"},
       {store, "store_global O[h, 64*i0 + j, d] = %32", "unknown name j"},
       {store, "store_global O[h, 64*i0 + i, d] = %32 where (j <= N)", "unknown name j"},
       {store, "store_global O[h, %7, d] = %32", "a gathered index must be an integer"},
       {store, "store_global O[h, 64*i0 + i, d] = %32 vector 3", "an access of 3 bytes"},
       {store, "store_global O[h, 64*i0 + i, d] = %32 vector 8",
        "a lane has no 4 consecutive elements along d"},
       {store, "store_global O[h, d, i] = %32 vector 4",
        "a lane has no 2 consecutive elements along i"},
       {store, "store_global O[h, 64*i0 + i, d + 1] = %32 vector 4",
        "accesses start at 1, no multiple of 2 elements"},
       {store, "store_global O[h, 64*i0 + i, 2*d] = %32 vector 4",
        "the last dimension is not contiguous along an axis"},
       {store, "store_global O[d, 64*i0 + i, d] = %32 vector 4", "axis d runs over two dimensions"},
       {store, "%32: f16 = atomic_add O[h, i, d] += %31", "%32 is defined twice"},
       {store, "atomic_add O[h, 64*i0 + i, d] += %32", "an atomic sum is in f32 or i32"}});
  EXPECT_EQ(
      why_not(changed(sample_text("causal_attention"), store, "store_global O[h, d, i] = %32")),
      "");
  const std::string gathered =
      changed(sample_text("causal_attention"), store,
              "%33: i32[i: 64] in row = iota i\n      %34: f16[d: 64, i: 64] in out = load_global "
              "Q[h, %33, d] fill 1 vector 4\n      store_global O[h, %33, d] = %34");
  expect_refusals(
      changed(gathered, "values 33", "values 35"),
      {{"%33: i32[i: 64] in row",
        "%33: i32[i: 64] in {register: i=4; lane: 0 0 i=1 i=2 i=8; warp: i=16 i=32}",
        "an operand lies as"},
       {"Q[h, %33, d] fill", "Q[h, %33, %33] fill", "the last dimension is not contiguous"},
       {"%34: f16[", "%34: f32[", "the value must have the tensor's element type"},
       {"load_global Q[h, %33, d] fill 1 vector 4", "load_global Q[h, d, %33] fill 1 vector 4",
        "the last dimension is not contiguous"}});
  expect_refusals(sample_text("ampere_product"),
                  {{"= %6 where (64*i0 + i <= M - 1 and 64*j0 + j <= N - 1)", "= %6 vector 4",
                    "rows of N elements are no multiple of 2"}});
}

TEST(MemoryVerify, SharedMemory) {
  expect_refusals(
      sample_text("ampere_product"),
      {{"load_shared As[mod(t, 3)](i, k) matrix", "load_shared Ds[mod(t, 3)](i, k) matrix",
        "unknown buffer Ds"},
       {"load_shared As[mod(t, 3)]", "load_shared As[mod(t, 4)]",
        "slot mod(t, 4) of As, which has 3"},
       {"load_shared As[mod(t, 3)]", "load_shared As[3]", "slot 3 of As, which has 3"},
       {"load_shared As[mod(t, 3)]", "load_shared As[-1]", "slot -1 of As"},
       {"load_shared As[mod(t, 3)]", "load_shared As[u]", "unknown name u in u"},
       {"As[mod(t, 3)](i, k) matrix", "As[mod(t, 3)](i) matrix", "As has 2 axes, not 1"},
       {"As[mod(t, 3)](i, k) matrix", "As[mod(t, 3)](i, q) matrix", "unknown name q"},
       {"As[mod(t, 3)](i, k) matrix", "As[mod(t, 3)](i, k) matrix transposed",
        "rows of 16 bytes do not lie together in As"},
       {"As[mod(t, 3)](i, k) matrix", "As[mod(t, 3)](i, k) transposed",
        "only ldmatrix and stmatrix transpose"},
       {"As[mod(t, 3)](i, k) matrix", "As[mod(t, 3)](i, 2*k) matrix",
        "the index of a wide access is an axis plus what is uniform"},
       {"As[mod(t, 3)](i, k) matrix", "As[mod(t, 3)](i, k + 4) matrix",
        "accesses start at 4 along k"},
       {"As[mod(t, 3)](i, k) matrix", "As[mod(t, 3)](i, k) vector 8",
        "a vector does not lie together in As"},
       {"As[mod(t, 3)](i, k) matrix", "As[mod(t, 3)](i, k) vector 1", "an access of 1 bytes"},
       {"%3: f16[i: 64, k: 32]", "%3: f32[i: 64, k: 32]",
        "the value must have the buffer's element type"},
       {"layout a {register: k=1 i=8", "layout a {register: i=8 k=1",
        "rows of 16 bytes do not lie together in As"},
       {"      copy_wait 0\n", "      store_shared As[0](i, j) = %1\n",
        "the value must have the buffer's element type"}});
  EXPECT_EQ(why_not(changed(sample_text("ampere_product"), "As[mod(t, 3)](i, k) matrix",
                            "As[mod(t, 3)](i, k) vector 4")),
            "");
  const std::string hopper = changed(sample_text("hopper_product"), "sm_90a", "sm_89");
  EXPECT_NE(why_not(hopper).find("mbarriers with phases need sm_90"), std::string::npos);
  const std::string stored =
      changed(sample_text("ampere_product"), "      store_global C",
              "      store_shared Es[0](i, j) = %6 matrix\n      store_global C");
  const std::string with_buffer =
      changed(stored, "    values 8",
              "    buffer Es: f16[i: 64, j: 64] slots 1 offset 24576 align 128 in {offset: j=1 j=2 "
              "j=4 j=8 j=16 j=32 j=8+i=1 j=16+i=2 j=32+i=4 i=8 i=16 i=32}\n    values 8");
  EXPECT_EQ(why_not(with_buffer), "stmatrix needs sm_90");
  EXPECT_EQ(why_not(changed(with_buffer, "sm_80", "sm_90")), "");
}

TEST(MemoryVerify, Copies) {
  const char* copy =
      "copy_async As[p] = A[64*i0 + i, 32*p + k] where (64*i0 + i <= M - 1 and 32*p + k <= 8*K8 - "
      "1) vector 16";
  expect_refusals(
      sample_text("ampere_product"),
      {{copy, "copy_async As[p] = A[64*i0 + i, 32*p + k]",
        "cp.async moves 4, 8 or 16 bytes, not 0"},
       {copy, "copy_async As[p] = A[64*i0 + i, 32*p + k] vector 2",
        "cp.async moves 4, 8 or 16 bytes, not 2"},
       {copy, "copy_async As[p] = A[64*i0 + i, 33*p + k] vector 16",
        "accesses start at 33*p, no multiple of 8 elements"},
       {copy, "copy_async As[p] = A[32*p + k, 64*i0 + i] vector 16",
        "16 bytes of As do not run along i"},
       {copy, "copy_async As[p] = C[64*i0 + i, 32*p + k] vector 16",
        "rows of N elements are no multiple of 8"},
       {copy, "copy_async As[p] = A[64*i0 + i, 32*p + q] vector 16", "unknown name q"},
       {copy, "copy_async As[p] = A[64*i0 + i] vector 16", "A has 2 dimensions, not 1"},
       {copy, "copy_async Xs[p] = A[64*i0 + i, k] vector 16", "unknown buffer Xs"},
       {copy, "copy_async As[3] = A[64*i0 + i, k] vector 16", "slot 3 of As, which has 3"},
       {copy, "if (warp = 0) {\n copy_plain As[p] = A[64*i0 + i, 32*p + k]\n } else {\n }",
        "a copy is work of all warps of the role, which part here"},
       {copy, "for w in [0, warp) step 1 {\n copy_plain As[p] = A[64*i0 + i, 32*p + k]\n }",
        "a copy is work of all warps of the role, which part here"},
       {"copy_wait 1", "copy_wait -1", "a negative number of groups"},
       {"copy_wait 1", "bulk_commit", "bulk groups need sm_90"},
       {"tensor A: f16[", "tensor A: bf16[", "the buffer must have the tensor's element type"}});
  EXPECT_EQ(why_not(changed(sample_text("ampere_product"), copy,
                            "copy_plain As[p] = A[64*i0 + i, 32*p + k]")),
            "");
  const char* bulk = "copy_bulk As[mod(t, 4)] = A[128*i0 + i, 64*t + k] signal full[mod(t, 4)]";
  const char* out = "bulk_store C[128*i0 + i, 128*j0 + j] = Cs[0]";
  expect_refusals(
      sample_text("hopper_product"),
      {{bulk, "copy_bulk As[mod(t, 4)] = A[128*i0 + i, 64*t + k] where (i <= 3) signal full[0]",
        "a bulk copy has no condition"},
       {bulk, "copy_bulk As[mod(t, 4)] = A[128*i0 + i, 64*t + k] signal done[0]",
        "unknown mbarrier done"},
       {bulk, "copy_bulk As[mod(t, 4)] = A[128*i0 + i, 64*t + k] signal full[4]",
        "slot 4 of full, which has 4"},
       {bulk, "copy_bulk As[0] = A[128*i0 + 2*i, 64*t + k] signal full[0]",
        "each axis of the buffer must stand alone in one dimension: i"},
       {bulk, "copy_bulk As[0] = A[k, 64*t + k] signal full[0]",
        "each axis of the buffer must stand alone in one dimension: k"},
       {bulk, "copy_bulk As[0] = A[128*i0, 64*t + k] signal full[0]",
        "axis i is not in the tensor"},
       {bulk, "copy_bulk As[0] = A[64*t + k, 128*i0 + i] signal full[0]",
        "no swizzle of the hardware lays As out along i"},
       {"slots 4 offset 0 align 1024", "slots 4 offset 0 align 512",
        "As must be aligned to 1024 bytes for its swizzle"},
       {"f16[i: 128, k: 64] slots 4", "f16[i: 120, k: 64] slots 4", "As has padding along i"},
       {"tensor A: f16[M, 8*K8]", "tensor A: f16[M, 4*K8]",
        "rows of 4*K8 elements are no multiple of 16 bytes"},
       {out, "bulk_store A[128*i0 + i, 128*j0 + j] = Cs[0]", "a write to input A"},
       {"bulk_wait 0 read", "bulk_wait -2", "a negative number of groups"}});
}

TEST(MemoryVerify, WarpProducts) {
  const char* mma = "mma m16n8k16 %2, %3, %4 over (k)";
  expect_refusals(
      sample_text("ampere_product"),
      {{mma, "mma m64nxk16 %2, %3, %4 over (k)", "mma has no shape m64nxk16"},
       {mma, "mma m16n8k16 %2, %3 over (k)", "needs three operands, one result"},
       {mma, "mma m16n8k8 %2, %3, %4 over (k)", "no product of f16 and f16 in f32 has this shape"},
       {mma, "mma m16n8k16 %2, %3, %4 over (q)",
        "axis k is neither in the accumulator nor contracted"},
       {mma, "mma m16n8k16 %2, %3, %4 over (k, q)", "a contracted axis is not in the operands"},
       {mma, "mma m16n8k16 %2, %4, %3 over (k)", "the accumulator is not the instruction's"},
       {mma, "mma m16n8k16 %2, %3, %3 over (k)",
        "of the accumulator must be in one of the operands"},
       {"layout acc {register: j=1 i=8 j=8 j=16 i=16; lane: j=2 j=4 i=1 i=2 i=4; warp: i=32 j=32}",
        "layout acc {register: j=1 j=8 i=8 j=16 i=16; lane: j=2 j=4 i=1 i=2 i=4; warp: i=32 j=32}",
        "the accumulator is not the instruction's"},
       {"layout b {register: k=1 k=8 k=16", "layout b {register: k=1 k=16 k=8",
        "contracted in another order than the first"},
       {"layout a {register: k=1 i=8 k=8", "layout a {register: k=1 i=16 k=8",
        "the placement does not reach every element of its block"},
       {"warp: i=32 0}", "warp: 0 i=32}", "the first operand is not the instruction's"},
       {"warp: 0 j=32}", "warp: j=32 0}", "spread over other warps"},
       {"%3: f16[i: 64, k: 32]", "%3: f16[i: 64, k: 30]",
        "axis k is neither in the accumulator nor contracted in both operands"}});
  std::string padded =
      changed(sample_text("ampere_product"), "%3: f16[i: 64, k: 32]", "%3: f16[i: 64, k: 30]");
  padded = changed(padded, "%4: f16[j: 64, k: 32]", "%4: f16[j: 64, k: 30]");
  EXPECT_NE(why_not(padded).find("padding along contracted axis k"), std::string::npos)
      << why_not(padded);
}

TEST(MemoryVerify, WarpgroupProducts) {
  const char* product = "wgmma m64nxk16 %2, As[mod(t, 4)](i, k), Bs[mod(t, 4)](j, k) over (k: 64)";
  expect_refusals(
      sample_text("hopper_product"),
      {{"sm_90a", "sm_90", "needs sm_90a"},
       {product, "wgmma m16n8k16 %2, As[0](i, k), Bs[0](j, k) over (k: 64)",
        "wgmma has no shape m16n8k16"},
       {product, "wgmma m64nxk16 %2, Xs[0](i, k), Bs[0](j, k) over (k: 64)", "unknown buffer Xs"},
       {product, "wgmma m64nxk16 %2, As[4](i, k), Bs[0](j, k) over (k: 64)",
        "slot 4 of As, which has 4"},
       {product, "wgmma m64nxk16 %2, As[0](i, k), Bs[0](j, k) over (k: 40)",
        "contracted axis k is no multiple of 16"},
       {product, "wgmma m64nxk16 %2, As[0](i), Bs[0](j, k) over (k: 64)", "As has 2 axes, not 1"},
       {product, "wgmma m64nxk16 %2, As[0](i, i + k), Bs[0](j, k) over (k: 64)",
        "an index of As is one axis of the product plus what is uniform"},
       {product, "wgmma m64nxk16 %2, As[0](i + 4, k), Bs[0](j, k) over (k: 64)",
        "As is read from 4 on, no multiple of 8 rows or 32 bytes"},
       {product, "wgmma m64nxk16 %2, As[0](i, k), Bs[0](i, k) over (k: 64)",
        "Bs has its rows in another order than the accumulator"},
       {product, "wgmma m64nxk8 %2, As[0](i, k), Bs[0](j, k) over (k: 64)",
        "no product of f16 and f16 in f32 has this shape"},
       {product, "wgmma m64nxk16 %2, Bs[0](j, k) over (k: 64)",
        "the first operand is in registers or in shared memory"},
       {"layout rows {offset: k=1 k=2 k=4 k=8 k=16 k=32 k=8+i=1 k=16+i=2 k=32+i=4",
        "layout rows {offset: k=1 k=2 k=4 k=8 k=16 k=32 k=8+i=1 k=16+i=2 i=4",
        "As does not lie as a descriptor says"},
       {"k=32+i=4 i=8 i=16 i=32", "k=32+i=4 i=16 i=8 i=32",
        "As has its rows in another order than the accumulator"},
       {"layout acc {register: j=1 i=8", "layout acc {register: j=8 i=8",
        "the placement does not reach every element of its block"},
       {"warp: i=16 i=32 i=64}", "warp: i=64 i=32 i=16}",
        "As has its rows in another order than the accumulator"},
       {"mma_wait 1", "mma_wait -1", "a negative number of batches"},
       {"%4: f32[i: 128, j: 128] in acc = mma_wait 0 (%1)",
        "%4: f16[i: 128, j: 128] in acc = mma_wait 0 (%1)",
        "a result has another type than its operand"},
       {"        mma_commit", "        if (warp = 0) {\n mma_commit\n } else {\n }",
        "wgmma is work of a warpgroup, whose warps part here"}});
  EXPECT_EQ(
      why_not(changed(sample_text("hopper_product"), "        mma_commit",
                      "        if (floor(warp/4) = 0) {\n mma_commit\n } else {\n mma_commit\n }")),
      "");
}

TEST(MemoryVerify, Synchronization) {
  expect_refusals(
      sample_text("hopper_product"),
      {{"arrive empty[mod(t + 3, 4)] count 1", "arrive hollow[0] count 1",
        "unknown mbarrier hollow"},
       {"arrive empty[mod(t + 3, 4)] count 1", "arrive empty[4] count 1",
        "slot 4 of empty, which has 4"},
       {"arrive empty[mod(t + 3, 4)] count 1", "arrive empty[0] count 0", "nothing arrives"},
       {"wait full[mod(t, 4)] parity mod(floor(t/4), 2)", "wait full[mod(t, 4)] parity 2",
        "a parity is 0 or 1"},
       {"wait full[mod(t, 4)] parity mod(floor(t/4), 2)", "wait full[mod(t, 4)] parity q",
        "unknown name q in q"},
       {"named_sync consumers", "named_sync producers", "unknown named barrier producers"},
       {"set_registers 232", "set_registers 230", "registers a thread are 24 to 256"},
       {"      set_registers 40\n      if (warp = 0) {",
        "      if (warp = 0) {\n      set_registers 40",
        "setmaxnreg is executed by whole warpgroups"},
       {"first 8 warps 4 {", "first 8 warps 3 {", "setmaxnreg is executed by whole warpgroups"},
       {"bulk_commit", "block_sync", "a block barrier where warps of the role part"}});
  const std::string ampere = sample_text("ampere_product");
  expect_refusals(ampere,
                  {{"block_sync", "proxy_fence", "proxies need sm_90"},
                   {"block_sync", "set_registers 40", "setmaxnreg needs sm_90a"},
                   {"block_sync", "mma_fence", "wgmma needs sm_90a"},
                   {"block_sync", "arrive x[0] count 1", "mbarriers with phases need sm_90"}});
}

}  // namespace
}  // namespace nautilus::memory
