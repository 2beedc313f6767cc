// Helpers for sm_90 and newer: mbarriers, bulk tensor copies, fences, stmatrix, wgmma.
#include "compiler/backend/cuda/preamble_texts.h"

namespace nautilus::cuda {

const std::vector<Helper>& hopper_helpers() {
  static const std::vector<Helper> all{
      {"tensor_map", "", {}, R"(// A CUtensorMap, made on the host.
struct alignas(64) TensorMap {
  char bytes[128];
};
)"},
      {"mbarrier_init",
       "",
       {},
       R"(// A phase ends when `count` have arrived and the bytes expected have come.
DEVICE void mbarrier_init(uint32_t barrier, uint32_t count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory"); }
// Makes them known to the copy engine.
DEVICE void mbarrier_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
)"},
      {"mbarrier_arrive",
       "",
       {},
       R"(DEVICE void mbarrier_arrive(uint32_t barrier, uint32_t count = 1) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(count) : "memory"); }
)"},
      {"mbarrier_expect", "", {}, R"(// An arrival that announces bytes.
DEVICE void mbarrier_expect(uint32_t barrier, uint32_t bytes) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory"); }
)"},
      {"mbarrier_wait",
       "",
       {},
       R"(// Until the phase of this parity has ended; of a fresh barrier that of parity 1 has.
DEVICE void mbarrier_wait(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  do asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}\n" : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
  while (!done);
}
)"},
      {"bulk_load_1d",
       "",
       {"tensor_map"},
       R"(// A box of a tensor to shared memory, coordinates innermost first; zeros outside the tensor.
DEVICE void bulk_load_1d(uint32_t to, const TensorMap* m, uint32_t barrier, int c0) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(to), "l"(m), "r"(barrier), "r"(c0) : "memory");
}
)"},
      {"bulk_load_2d",
       "",
       {"tensor_map"},
       R"(DEVICE void bulk_load_2d(uint32_t to, const TensorMap* m, uint32_t barrier, int c0, int c1) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(m), "r"(barrier), "r"(c0), "r"(c1) : "memory");
}
)"},
      {"bulk_load_3d",
       "",
       {"tensor_map"},
       R"(DEVICE void bulk_load_3d(uint32_t to, const TensorMap* m, uint32_t barrier, int c0, int c1, int c2) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to), "l"(m), "r"(barrier), "r"(c0), "r"(c1), "r"(c2) : "memory");
}
)"},
      {"bulk_load_4d",
       "",
       {"tensor_map"},
       R"(DEVICE void bulk_load_4d(uint32_t to, const TensorMap* m, uint32_t barrier, int c0, int c1, int c2, int c3) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to), "l"(m), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}
)"},
      {"bulk_load_5d",
       "",
       {"tensor_map"},
       R"(DEVICE void bulk_load_5d(uint32_t to, const TensorMap* m, uint32_t barrier, int c0, int c1, int c2, int c3, int c4) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to), "l"(m), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}
)"},
      {"bulk_store_1d",
       "",
       {"tensor_map"},
       R"(// Shared memory to a box of a tensor; parts outside are not written.
DEVICE void bulk_store_1d(const TensorMap* m, uint32_t from, int c0) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%2}], [%1];" ::"l"(m), "r"(from), "r"(c0) : "memory");
}
)"},
      {"bulk_store_2d",
       "",
       {"tensor_map"},
       R"(DEVICE void bulk_store_2d(const TensorMap* m, uint32_t from, int c0, int c1) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(m), "r"(from), "r"(c0), "r"(c1) : "memory");
}
)"},
      {"bulk_store_3d",
       "",
       {"tensor_map"},
       R"(DEVICE void bulk_store_3d(const TensorMap* m, uint32_t from, int c0, int c1, int c2) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(m), "r"(from), "r"(c0), "r"(c1), "r"(c2) : "memory");
}
)"},
      {"bulk_store_4d",
       "",
       {"tensor_map"},
       R"(DEVICE void bulk_store_4d(const TensorMap* m, uint32_t from, int c0, int c1, int c2, int c3) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(m), "r"(from), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}
)"},
      {"bulk_store_5d",
       "",
       {"tensor_map"},
       R"(DEVICE void bulk_store_5d(const TensorMap* m, uint32_t from, int c0, int c1, int c2, int c3, int c4) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(m), "r"(from), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}
)"},
      {"bulk_commit",
       "",
       {},
       R"(DEVICE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
)"},
      {"bulk_wait", "", {}, R"(template <int pending>
DEVICE void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory"); }
)"},
      {"bulk_wait_read", "", {}, R"(template <int pending>
DEVICE void bulk_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory"); }
)"},
      {"proxy_fence",
       "",
       {},
       R"(// Writes to shared memory before it are seen by the copy engine and the matrix unit after it.
DEVICE void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
)"},
      {"more_registers", "", {}, R"(template <int registers>
DEVICE void more_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers)); }
)"},
      {"fewer_registers", "", {}, R"(template <int registers>
DEVICE void fewer_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers)); }
)"},
      {"store_matrix",
       "",
       {"word"},
       R"(// `n` 8x8 matrices of 16-bit elements: lane i gives the address of row i % 8 of matrix i / 8.
template <int n, bool transposed, class T>
DEVICE void store_matrix(uint32_t at, const T* x) {
  if constexpr (n == 4 && transposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(word(x[0])), "r"(word(x[1])), "r"(word(x[2])), "r"(word(x[3])) : "memory");
  else if constexpr (n == 4)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(word(x[0])), "r"(word(x[1])), "r"(word(x[2])), "r"(word(x[3])) : "memory");
  else if constexpr (n == 2 && transposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(at), "r"(word(x[0])), "r"(word(x[1])) : "memory");
  else if constexpr (n == 2)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(at), "r"(word(x[0])), "r"(word(x[1])) : "memory");
  else if constexpr (transposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(at), "r"(word(x[0])) : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(at), "r"(word(x[0])) : "memory");
}
)"},
      {"matrix_descriptor",
       "",
       {},
       R"(// A tile in shared memory for wgmma: bytes between its panels and between groups of eight rows; swizzle
// 0: none, 1: 128, 2: 64, 3: 32 bytes. A sixteenth of the bytes added to it moves its start.
template <int swizzle, int panel_stride, int group_stride>
DEVICE uint64_t matrix_descriptor(uint32_t at) {
  return uint64_t((at & 0x3ffff) >> 4) | uint64_t(panel_stride >> 4 & 0x3fff) << 16 | uint64_t(group_stride >> 4 & 0x3fff) << 32 | uint64_t(swizzle) << 62;
}
)"},
      {"mma_fence",
       "",
       {},
       R"(DEVICE void mma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
)"},
      {"mma_commit",
       "",
       {},
       R"(DEVICE void mma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
)"},
      {"mma_wait", "", {}, R"(template <int pending>
DEVICE void mma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory"); }
)"},
      {"pin", "", {}, R"(// Accumulators are read after this point, not before.
template <int n>
DEVICE void pin(float (&x)[n]) {
#pragma unroll
  for (int r = 0; r < n; ++r) asm volatile("" : "+f"(x[r])::"memory");
}
)"},
  };
  return all;
}

Helper wgmma_helper(const std::string& name, const WgmmaKind& w) {
  const bool tf32 = w.type == "tf32";
  const int floats = w.columns / 2;
  const std::string n = std::to_string(w.columns);
  auto list = [](int from, int count) {
    std::string s;
    for (int k = 0; k < count; ++k) s += (k ? ", %" : "%") + std::to_string(from + k);
    return s;
  };
  std::string t = "// c[64, " + n + "] " + (w.first ? "=" : "+=") +
                  " a b, one batch of the matrix unit's asynchronous products.\nDEVICE void " +
                  name + "(float* c, " + (w.registers ? "const uint32_t* a" : "uint64_t a") +
                  ", uint64_t b) {\n  asm volatile(\n      \"wgmma.mma_async.sync.aligned.m64n" +
                  n + (tf32 ? "k8" : "k16") + ".f32." + w.type + "." + w.type + " {" +
                  list(0, floats) + "}, ";
  t += w.registers ? "{" + list(floats, 4) + "}, %" + std::to_string(floats + 4) : list(floats, 2);
  t += std::string(w.first ? ", 0" : ", 1") + ", 1, 1";
  if (!tf32)
    t += (w.registers      ? ""
          : w.transposed_a ? ", 1"
                           : ", 0") +
         std::string(w.transposed_b ? ", 1" : ", 0");
  t += ";\"\n      : ";
  for (int k = 0; k < floats; ++k)
    t += std::string(k ? ", " : "") + (w.first ? "\"=f\"(c[" : "\"+f\"(c[") +
         std::to_string(w.c.at(k)) + "])";
  t += "\n      : ";
  if (w.registers)
    t += "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])";
  else
    t += "\"l\"(a)";
  return {name, "", {}, t + ", \"l\"(b)\n      : \"memory\");\n}\n"};
}

}  // namespace nautilus::cuda
