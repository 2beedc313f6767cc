// What emitted sources look like, and that they compile without spills.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <regex>

#include "compiler/backend/cuda/emitter.h"
#include "compiler/memory/lower.h"
#include "tests/cuda/helpers.h"

namespace nautilus::cuda {
namespace {

std::vector<std::string> own_samples() {
  std::vector<std::string> files;
  for (const auto& f : std::filesystem::directory_iterator(std::string(NAUTILUS_SOURCE_DIR) +
                                                           "/tests/cuda/samples"))
    files.push_back(f.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

memory::Module module_of(const std::string& file) {
  std::ifstream in(file);
  std::stringstream s;
  s << in.rdbuf();
  auto m = memory::parse(s.str(), file);
  if (!m) {
    ADD_FAILURE() << m.error().text();
    return {};
  }
  return *m;
}

TEST(CudaEmit, AmpereProduct) {
  const Source s = source_of(sample("ampere_product"));
  EXPECT_EQ(s.launches.size(), 1u);
  EXPECT_EQ(s.launches[0].threads, 128);
  EXPECT_EQ(s.launches[0].shared_bytes, 24576);
  // Matrices by ldmatrix, copies by 16 bytes with zeros where the tile ends, sums in place.
  EXPECT_NE(s.text.find("load_matrix<4, false>("), std::string::npos);
  EXPECT_NE(s.text.find("copy_async<16>("), std::string::npos);
  EXPECT_NE(s.text.find("mma_f16(&C_tile["), std::string::npos);
  EXPECT_NE(s.text.find("// The first two tiles of the ring."), std::string::npos);
  // The accumulator is one array: what the loop carries is not copied.
  EXPECT_EQ(count(s.text, "float C_tile"), 1);
  EXPECT_EQ(s.text.find("saved"), std::string::npos);
}

// Eight of sixteen heads start together at each row block, the last row block first.
TEST(CudaEmit, BlocksOfASectionStartTogether) {
  memory::Module m = sample("causal_attention");
  ASSERT_EQ(m.kernels.size(), 1u);
  std::vector<tile::GridDim>& grid = m.kernels[0].grid;
  ASSERT_EQ(grid.size(), 2u);
  grid[0].extent = 16;
  grid[1].extent = 32;
  grid[1].descending = true;
  grid[1].together = 8;
  const auto s = emit(m);
  ASSERT_TRUE(s) << s.error().text();
  for (const char* line :
       {"const unsigned in_section = blockIdx.x % 8u;", "const unsigned block = blockIdx.x / 8u;",
        "const int i0 = int(32u) - 1 - int(block % 32u);", "const unsigned block_2 = block / 32u;",
        "const int h = int(block_2 * 8u + in_section);"})
    EXPECT_NE(s->text.find(line), std::string::npos) << line << "\n" << s->text;
}

TEST(CudaEmit, AttentionKeepsItsSumsInPlace) {
  const Source s = source_of(sample("causal_attention"));
  EXPECT_EQ(count(s.text, "float O_tile"), 1);
  EXPECT_NE(s.text.find("load_matrix<4, true>("), std::string::npos);
  EXPECT_NE(s.text.find("exp2_approx("), std::string::npos);
  EXPECT_NE(s.text.find("__shfl_xor_sync("), std::string::npos);
  // Heads are in range by the grid: only the rows of the last tile are tested.
  EXPECT_EQ(s.text.find("H - h"), std::string::npos);
}

TEST(CudaEmit, VectorsWhereTheyAreProvable) {
  const Source s = source_of(sample("gather_sums"));
  EXPECT_NE(s.text.find("load_global<16>("), std::string::npos);  // rows of 64 floats
  EXPECT_NE(s.text.find("load_shared<16>("), std::string::npos);
  EXPECT_NE(s.text.find("store_shared<16>("), std::string::npos);
  EXPECT_EQ(s.zeroed, std::vector<std::string>{"S"});
}

// Without contraction every product of floats is an intrinsic, which no compiler makes part of a
// sum: x*c - m*c of equal x and m is 0.
TEST(CudaEmit, ProductsByThemselvesWithoutContraction) {
  const memory::Module m = sample("causal_attention");
  const auto alone = emit(m, {.contract = false});
  ASSERT_TRUE(alone) << alone.error().text();
  std::istringstream a(source_of(m).text), b(alone->text);
  int products = 0;
  for (std::string plain, strict; std::getline(a, plain) && std::getline(b, strict);) {
    EXPECT_EQ(count(plain, "__fmul_rn("), 0) << plain;
    if (plain == strict) continue;
    ++products;
    EXPECT_GT(count(strict, "__fmul_rn("), 0) << strict;
    EXPECT_GT(count(plain, " * "), count(strict, " * ")) << plain << "\n" << strict;
  }
  EXPECT_GE(products, 3);  // the scaled scores, the sums and the accumulator that are corrected
}

TEST(CudaEmit, SameTextTwice) {
  for (const char* name : {"ampere_product", "gather_sums", "causal_attention", "hopper_product"})
    EXPECT_EQ(source_of(sample(name)).text, source_of(sample(name)).text) << name;
}

// A coordinate that is a shared address as well has a signed name of its own: differences of
// coordinates are compared with 0.
TEST(CudaEmit, CoordinatesAreSigned) {
  std::vector<memory::Module> all;
  for (const std::string& f : own_samples()) all.push_back(module_of(f));
  for (const char* name : {"ampere_product", "gather_sums", "causal_attention", "hopper_product"})
    all.push_back(sample(name));
  int tests = 0;
  for (const memory::Module& m : all) {
    std::istringstream in(source_of(m).text);
    std::vector<std::regex> names;
    static const std::regex declared("const uint32_t (\\w+) =");
    for (std::string l; std::getline(in, l);) {
      if (std::smatch found; std::regex_search(l, found, declared))
        names.emplace_back("\\b" + found[1].str() + "\\b");
      if (l.find(") >= 0") == std::string::npos) continue;
      ++tests;
      for (const std::regex& n : names)
        EXPECT_FALSE(std::regex_search(l, n)) << m.name << ": " << l;
    }
  }
  EXPECT_GT(tests, 0);
  const Source s =
      source_of(module_of(std::string(NAUTILUS_SOURCE_DIR) + "/tests/cuda/samples/signs.mtile"));
  EXPECT_NE(s.text.find("const int t_i = warp * 8 + (lane >> 2);"), std::string::npos) << s.text;
}

// What other threads write must be read again after a barrier.
TEST(CudaEmit, PointersToWhatIsWrittenAndReadAreNotRestricted) {
  const Source s = source_of(
      module_of(std::string(NAUTILUS_SOURCE_DIR) + "/tests/cuda/samples/written_and_read.mtile"));
  for (const char* p : {"const float* __restrict__ X", " float* T,", " float* __restrict__ Y"})
    EXPECT_NE(s.text.find(p), std::string::npos) << p << "\n" << s.text;
}

TEST(CudaEmit, SourceMap) {
  const Source s = source_of(
      module_of(std::string(NAUTILUS_SOURCE_DIR) + "/tests/cuda/samples/three_warps.mtile"));
  ASSERT_FALSE(s.map.empty());
  std::vector<std::string> lines;
  std::istringstream in(s.text);
  for (std::string l; std::getline(in, l);) lines.push_back(l);
  bool product = false;
  for (auto [line, node] : s.map) {
    EXPECT_EQ(node, 7);
    ASSERT_LE(line, int(lines.size()));
    product = product || lines[size_t(line - 1)].find("mma_bf16(") != std::string::npos;
  }
  EXPECT_TRUE(product);
}

TEST(CudaEmit, RefusesWhatDoesNotVerify) {
  memory::Module m = sample("ampere_product");
  m.target = "sm_70";
  EXPECT_FALSE(emit(m));
}

TEST(CudaEmit, HopperInstructions) {
  const Source s = source_of(sample("hopper_product"));
  for (const char* what :
       {"mbarrier_init(", "mbarrier_wait(", "bulk_load_2d(", "bulk_store_2d(", "wgmma_m64n128_f16(",
        "mma_wait<1>()", "store_matrix<4, false>(", "more_registers<232>()",
        "fewer_registers<40>()", "proxy_fence()", "named_sync<1, 256>()"})
    EXPECT_NE(s.text.find(what), std::string::npos) << what;
  ASSERT_EQ(s.launches[0].maps.size(), 3u);
  for (const TensorMap& m : s.launches[0].maps) EXPECT_EQ(m.swizzle, 3);
  EXPECT_EQ(count(s.text, "float C_tile"), 1);
}

// Two blocks of 64 rows a warpgroup and 80 columns, which are 5 panels of 16: the registers of a
// row's columns are apart, its instruction is one. Sums begin without zeros in registers.
Source wide_product() {
  const auto t = tile::parse(R"(module wide {
  tensor A: f16[256, 64] input global
  tensor B: f16[64, 80] input global
  tensor C: f32[256, 80] output global
  kernel wide {
    values 3
    %0: f16[i: 256, k: 64] = load A[i, k]
    %1: f16[j: 80, k: 64] = load B[k, j]
    %2: f32[i: 256, j: 80] = dot %0, %1 over (k)
    store C[i, j] = %2
  }
}
)");
  EXPECT_TRUE(t) << t.error().text();
  memory::LowerOptions o;
  o.target = "sm_90a";
  const auto m = memory::lower(*t, o);
  EXPECT_TRUE(m) << m.error().text();
  return source_of(*m);
}
TEST(CudaEmit, ColumnsOfARowAreOneInstruction) {
  const Source s = wide_product();
  std::set<std::string> called;
  const std::regex call("(wgmma_m64n\\w+)\\(&");
  for (std::sregex_iterator at(s.text.begin(), s.text.end(), call), end; at != end; ++at)
    called.insert((*at)[1]);
  ASSERT_FALSE(called.empty()) << s.text;
  for (const std::string& f : called) EXPECT_EQ(f.find("wgmma_m64n80_f16_8_every_16"), 0u) << f;
  EXPECT_TRUE(std::any_of(called.begin(), called.end(), [](const std::string& f) {
    return f.ends_with("_first");
  })) << s.text;
  EXPECT_EQ(s.text.find(" = 0.0f;"), std::string::npos) << s.text;
}
TEST(CudaCompile, ColumnsOfARowAreOneInstruction) {
  if (!find_compiler()) GTEST_SKIP() << "no nvcc here";
  const auto c = compile(wide_product());
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_TRUE(c->warnings.empty()) << c->warnings[0];
}

TEST(CudaLauncher, ChecksBeforeItLaunches) {
  const Source s = source_of(sample("hopper_product"));
  EXPECT_NE(emit_header(s).find("int hopper_product_launch(const void* A, const void* B, void* C, "
                                "int64_t M, int64_t N8, int64_t K8, void* stream);"),
            std::string::npos)
      << emit_header(s);
  const std::string l = emit_launcher(s);
  EXPECT_NE(l.find("is not aligned to 16 bytes"), std::string::npos);
  EXPECT_NE(l.find("CU_TENSOR_MAP_SWIZZLE_128B"), std::string::npos);
  EXPECT_NE(l.find("more than 2^31 - 1 blocks"), std::string::npos);
}

// What divides a size is a fact of the source, and makes accesses along it wide.
TEST(CudaLauncher, ChecksFacts) {
  memory::Module m = sample("ampere_product");
  m.multiples = {{"N", 8}};
  const Source s = source_of(m);
  EXPECT_FALSE(s.facts.evaluate({{"M", 1}, {"N", 12}, {"K8", 1}}));
  EXPECT_TRUE(s.facts.evaluate({{"M", 1}, {"N", 16}, {"K8", 1}}));
  const std::string l = emit_launcher(s);
  EXPECT_NE(l.find("floor_div(N, 8)"), std::string::npos) << l;
  EXPECT_NE(l.find("the sizes must satisfy "), std::string::npos);
  EXPECT_TRUE(source_of(sample("ampere_product")).facts.is_always());
}

TEST(CudaOccupancy, Limits) {
  const memory::Target a100 = *memory::parse_target("sm_80"),
                       h200 = *memory::parse_target("sm_90a");
  EXPECT_DOUBLE_EQ(occupancy(a100, 1024, 32, 0), 1.0);
  EXPECT_DOUBLE_EQ(occupancy(a100, 128, 255, 0), 8.0 / 64);  // two blocks of 4 warps by registers
  EXPECT_DOUBLE_EQ(occupancy(a100, 128, 64, 100000), 4.0 / 64);  // one block by shared memory
  EXPECT_DOUBLE_EQ(occupancy(h200, 128, 64, 100000), 8.0 / 64);
}

void expect_compiles(const memory::Module& m) {
  const Source s = source_of(m);
  const auto c = compile(s);
  ASSERT_TRUE(c) << c.error().text();
  ASSERT_EQ(c->kernels.size(), m.kernels.size());
  EXPECT_FALSE(c->cubin.empty());
  for (const Resources& r : c->kernels) {
    EXPECT_GT(r.registers, 0) << r.kernel;
    EXPECT_EQ(r.spill_bytes, 0) << r.kernel;
    EXPECT_EQ(r.local_bytes, 0) << r.kernel << ": tiles in local memory";
    EXPECT_GT(r.occupancy, 0) << r.kernel;
  }
  EXPECT_TRUE(c->warnings.empty()) << c->warnings[0];
}

TEST(CudaCompile, SamplesWithoutSpills) {
  if (!find_compiler()) GTEST_SKIP() << "no nvcc here";
  for (const char* name : {"ampere_product", "gather_sums", "causal_attention"})
    expect_compiles(sample(name));
  memory::Module m = sample("causal_attention");
  m.target = "sm_90";
  expect_compiles(m);
}
// How often nvcc's PTX of the source multiplies and adds at once.
int fused_operations(const Source& s) {
  const std::string base = testing::TempDir() + "fused_" + std::to_string(::getpid());
  std::ofstream(base + ".cu") << s.text;
  const std::string command = *find_compiler() + " -std=c++17 -O3 -ptx -arch=" + s.target + " -o " +
                              base + ".ptx " + base + ".cu";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream in(base + ".ptx");
  std::stringstream ptx;
  ptx << in.rdbuf();
  for (const char* kind : {".cu", ".ptx"}) std::filesystem::remove(base + kind);
  return count(ptx.str(), "fma.rn.f32") + count(ptx.str(), "fma.rn.ftz.f32");
}

TEST(CudaCompile, FusesOnlyWhereItMay) {
  if (!find_compiler()) GTEST_SKIP() << "no nvcc here";
  const memory::Module m = sample("causal_attention");
  const auto alone = emit(m, {.contract = false});
  ASSERT_TRUE(alone) << alone.error().text();
  EXPECT_GT(fused_operations(source_of(m)), 0);
  EXPECT_EQ(fused_operations(*alone), 0);
}

TEST(CudaCompile, Hopper) {
  if (!find_compiler()) GTEST_SKIP() << "no nvcc here";
  expect_compiles(sample("hopper_product"));
}
// A condition that a type decides is no warning.
TEST(CudaCompile, LostComparisonsAreRefused) {
  if (!find_compiler()) GTEST_SKIP() << "no nvcc here";
  Source s = source_of(sample("gather_sums"));
  const size_t at = s.text.find("const int lane");
  ASSERT_NE(at, std::string::npos);
  s.text.insert(at, "if (threadIdx.x - 7u >= 0) __syncthreads();\n  ");
  const auto c = compile(s);
  ASSERT_FALSE(c);
  EXPECT_NE(c.error().why.find("comparison"), std::string::npos) << c.error().text();
}
TEST(CudaCompile, EveryInstruction) {
  if (!find_compiler()) GTEST_SKIP() << "no nvcc here";
  for (const std::string& f : own_samples()) expect_compiles(module_of(f));
}

}  // namespace
}  // namespace nautilus::cuda
