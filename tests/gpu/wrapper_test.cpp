// The PyTorch wrapper: its text, and the file itself used by a Python program against stand-ins for
// torch and for the driver.
#include "compiler/backend/torch/wrapper.h"

#include <sys/wait.h>

#include "helpers.h"

namespace nautilus::gpu {
namespace {

namespace fs = std::filesystem;

const IndexExpr N = IndexExpr::var("N"), M = IndexExpr::var("M");

// Y = 2 X + 1.5 by two kernels that the stand-in carries out; the second takes a tensor map.
cuda::Source sample() {
  cuda::Source s;
  s.name = "scaling";
  s.target = "sm_90";
  s.sizes = {"M", "N"};
  const auto global = poly::Scope::Global;
  s.tensors = {{"X", Type::F32, poly::TensorKind::Input, global, {N * 8, M}},
               {"W", Type::F32, poly::TensorKind::Input, global, {M}},
               {"Y", Type::F32, poly::TensorKind::Output, global, {N * 8, M}},
               {"T", Type::F32, poly::TensorKind::Temp, global, {M * 3 * 2}}};
  cuda::TensorMap map{"map_X", "X", Type::F32, {M, N * 8}, {64, 2}, 3};
  s.zeroed = {"T"};
  s.launches = {{"scale_x", {N * 4, IndexExpr(1)}, 64, 60000, 1, {}},
                {"add_y", {IndexExpr::min(N, 1)}, 32, 0, 1, {map}}};
  return s;
}

// What a shell command prints, and its status.
std::pair<int, std::string> printed(const std::string& command) {
  std::string out;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return {-1, ""};
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out};
}
// Runs python3 with these arguments in `folder`'s stand-ins.
std::pair<int, std::string> python3(const std::string& arguments, const std::string& folder) {
  return printed("cd " + folder + " && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" +
                 NAUTILUS_SOURCE_DIR "/tests/gpu/stand_in/python python3 " + arguments + " 2>&1");
}
bool have_python() { return std::system("python3 -c '' >/dev/null 2>&1") == 0; }

class Folder {
 public:
  Folder() {
    path_ = (fs::temp_directory_path() / "nautilus-wrapper-XXXXXX").string();
    if (!mkdtemp(path_.data())) ADD_FAILURE() << "no temporary directory";
  }
  ~Folder() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
  }

 private:
  std::string path_;
};

TEST_F(FakeCuda, WrapperChecksAndLaunches) {
  if (!have_python()) GTEST_SKIP() << "python3 is not there";
  const Folder folder;
  folder.write("scaling.py", torch::wrapper(sample(), {{"-M + 100 >= 0", "(-s[\"M\"] + 100 >= 0)"}},
                                            "scaling.cubin"));
  // The tensor map is the second kernel's parameter after four tensors and two sizes.
  folder.write("scaling.cubin",
               "kernel scale_x scale 2 0 =64 2\nkernel add_y map+add 6 2 =64 1.5\n");
  const auto [status, out] =
      python3(NAUTILUS_SOURCE_DIR "/tests/gpu/stand_in/python/check_scaling.py " + folder.path(),
              folder.path());
  EXPECT_EQ(status, 0) << out;
  EXPECT_NE(out.find("all checks passed"), std::string::npos) << out;
}

// The C launcher, built and run: strides are what the extents make them, and what cannot be is
// refused before anything is touched.
TEST_F(FakeCuda, LauncherMakesStrides) {
  const Folder folder;
  cuda::Source s = sample();
  s.launches[1].maps[0].extents = {M, N, 8};  // the strides are M and M N floats
  s.launches[1].maps[0].box = {64, 2, 1};
  folder.write("scaling.h", cuda::emit_header(s));
  folder.write("launch.cpp", cuda::emit_launcher(s));
  folder.write("main.cpp", R"(
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "scaling.h"
alignas(16) static float x[512], w[64], y[512], t[512];
int main(int, char** v) {
  const char* image = "kernel scale_x scale 2 0 =64 2\nkernel add_y map+add 6 2 =64 1.5\n";
  for (int k = 0; k < 64; ++k) x[k] = float(k);
  scaling_load(image, strlen(image) + 1);
  const int status = scaling_launch(x, w, y, t, atoll(v[1]), atoll(v[2]), nullptr);
  printf("%d %g %s", status, double(y[3]), status ? scaling_error() : "");
}
)");
  const std::string build = std::string(NAUTILUS_CXX) +
                            " -std=c++17 -I" NAUTILUS_SOURCE_DIR "/tests/gpu/stand_in -o " +
                            folder.path() + "/main " + folder.path() + "/main.cpp " +
                            folder.path() + "/launch.cpp " NAUTILUS_FAKE_CUDA;
  ASSERT_EQ(std::system(build.c_str()), 0);
  const auto launch = [&](const std::string& sizes) {
    return printed(folder.path() + "/main " + sizes).second;
  };
  EXPECT_EQ(launch("4 2"), "0 7.5 ");
  EXPECT_EQ(log("cuTensorMapEncodeTiled"),
            std::vector<std::string>{
                "cuTensorMapEncodeTiled type 7 rank 3 4/64/1 2/2/1/16 8/1/1/32 modes 0320"});
  EXPECT_EQ(log("cuLaunchKernel").size(), 2u);
  // 5 floats are 20 bytes.
  EXPECT_EQ(launch("5 2"), "1 0 a stride of X is 20 bytes, which is no multiple of 16 below 2^40");
  // 1.2e12 bytes a matrix.
  EXPECT_NE(launch("300000000 1000").find("below 2^40"), std::string::npos);
  EXPECT_EQ(log("cuLaunchKernel").size(), 2u) << "launched, although a map cannot be made";
  EXPECT_EQ(log("cuMemsetD8Async").size(), 1u);
  // Empty: no map, nothing to do.
  EXPECT_EQ(launch("0 2").substr(0, 2), "0 ");
  EXPECT_EQ(log("cuTensorMapEncodeTiled").size(), 1u);
}

TEST(Wrapper, IndexExpressionsInPython) {
  EXPECT_EQ(torch::python(IndexExpr::floordiv(N + 63, 64)), "((s[\"N\"] + 63) // 64)");
  EXPECT_EQ(torch::python(IndexExpr::max(N, IndexExpr::mod(M, 3))),
            "max(s[\"N\"], (s[\"M\"] % 3))");
}

// Names that Python keeps for itself, or that are none there.
TEST(Wrapper, NamesAreMadePythons) {
  if (!have_python()) GTEST_SKIP() << "python3 is not there";
  cuda::Source s = sample();
  s.name = "2d-conv";
  s.tensors[0].name = "lambda";
  s.tensors[1].name = "b.c\"d";
  const Folder folder;
  folder.write("w.py", torch::wrapper(s, {}, "x.cubin"));
  const auto [status, out] =
      python3("-c 'import w; print(w._2d_conv.__code__.co_varnames)'", folder.path());
  EXPECT_EQ(status, 0) << out;
  EXPECT_EQ(out, "('lambda_', 'b_c_d', 'out')\n");
}

TEST(Wrapper, NoInputsAtAll) {
  if (!have_python()) GTEST_SKIP() << "python3 is not there";
  cuda::Source s = sample();
  s.sizes = {};
  s.tensors = {{"Y", Type::F32, poly::TensorKind::Output, poly::Scope::Global, {IndexExpr(4)}}};
  s.zeroed = {};
  s.launches = {{"fill", {1}, 32, 0, 1, {}}};
  const Folder folder;
  folder.write("w.py", torch::wrapper(s, {}, "x.cubin"));
  const auto [status, out] = python3("-c 'import w; print(w.scaling.__doc__)'", folder.path());
  EXPECT_EQ(status, 0) << out;
  EXPECT_EQ(out, " -> Y: f32[4]\n");
}

poly::Program with_facts(const std::string& facts) {
  auto p = poly::parse_naut(poly::make_context(), "naut 1\nprogram p\nsizes N M\nwhere " + facts +
                                                      R"(
tensor X input f32
  extent [N, M] -> { [(N)] }
tensor Y output f32
  extent [N, M] -> { [(N)] }
statement S_Y(i)
  domain [N, M] -> { S_Y[i] : 0 <= i < N }
  write Y [N, M] -> { S_Y[i] -> Y[i] }
  read X [N, M] -> { S_Y[i] -> X[i] }
  expr $0
)");
  EXPECT_TRUE(p) << p.error().text();
  return *p;
}

// Facts hold in Python exactly where they hold in the program.
TEST(Wrapper, FactsAreThePrograms) {
  if (!have_python()) GTEST_SKIP() << "python3 is not there";
  const poly::Program p =
      with_facts("[N, M] -> {  : N >= 0 and M >= 0 and N mod 8 = 0 and (M <= 3 or 2M > N + 5) }");
  const auto facts = torch::facts_of(p, {"N", "M"});
  ASSERT_TRUE(facts) << facts.error().text();
  ASSERT_EQ(facts->size(), 1u);
  const Folder folder;
  folder.write("f.py", "holds = lambda s: " + facts->at(0).python +
                           "\nfor n in range(-3, 40):\n    for m in range(-3, 30):\n"
                           "        want = n >= 0 and m >= 0 and n % 8 == 0 and "
                           "(m <= 3 or 2*m > n + 5)\n"
                           "        assert bool(holds({'N': n, 'M': m})) == want, (n, m)\n");
  const auto [status, out] = python3("f.py", folder.path());
  EXPECT_EQ(status, 0) << out << facts->at(0).python;
}

// Of a program whose other sizes are bound; and of a source as it stands.
TEST(Wrapper, FactsOfOpenSizes) {
  const auto facts =
      torch::facts_of(with_facts("[N, M] -> {  : N mod 8 = 0 and N >= M and M = 3 }"), {"N"});
  ASSERT_TRUE(facts) << facts.error().text();
  ASSERT_EQ(facts->size(), 1u);
  EXPECT_EQ(facts->at(0).python.find("\"M\""), std::string::npos) << facts->at(0).python;
  const auto stated =
      torch::facts_of(Cond{{{Cond::Atom{IndexExpr::mod(N, 8), true}, Cond::Atom{N - M, false}}}});
  ASSERT_EQ(stated.size(), 1u);
  EXPECT_NE(stated[0].python.find("(s[\"N\"] % 8) == 0 and "), std::string::npos)
      << stated[0].python;
  EXPECT_TRUE(torch::facts_of(Cond::always()).empty());
}

// A window's width is in no shape.
TEST(Wrapper, SizesInNoShapeAreArguments) {
  if (!have_python()) GTEST_SKIP() << "python3 is not there";
  cuda::Source s = sample();
  s.sizes.push_back("R");
  const Folder folder;
  folder.write("w.py", torch::wrapper(s, {}, "x.cubin"));
  folder.write("check.py",
               "import w, torch\nprint(w.scaling.__kwdefaults__, w.scaling.__code__.co_varnames)\n"
               "print(w._find_sizes({'X': (16, 4), 'W': (4,)}, {'R': 5}))\n"
               "try:\n    w._find_sizes({'X': (16, 4), 'W': (4,)}, {'R': -1})\n"
               "except ValueError as e:\n    print(e)\n");
  const auto [status, out] = python3("check.py", folder.path());
  EXPECT_EQ(status, 0) << out;
  EXPECT_EQ(out,
            "{'out': None} ('X', 'W', 'R', 'out')\n{'R': 5, 'N': 2, 'M': 4}\n"
            "scaling: R must be a size, not -1\n");
}

TEST(Wrapper, NoFactsWhereThereAreNoSizes) {
  const auto facts = torch::facts_of(with_facts("[N, M] -> {  : N = 8 and M = 3 }"), {});
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->empty());
}

}  // namespace
}  // namespace nautilus::gpu
