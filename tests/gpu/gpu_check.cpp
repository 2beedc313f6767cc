// Writes a folder that checks emitted kernels on a GPU: sources, cubins, launchers, random inputs,
// what memory::interpret makes of them, and a program that runs all and prints a table.
//   nautilus_gpu_check FOLDER [--target sm_90] [--sizes M=65,N=17] [FILE.mtile...]
// Without files: the samples of the tests at sizes of their own. Then, where the GPU is:
//   sh FOLDER/run.sh
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

#include "compiler/backend/cuda/cuda.h"
#include "compiler/backend/cuda/scalar.h"
#include "compiler/backend/cuda/text.h"

namespace nautilus::cuda {
namespace {
namespace fs = std::filesystem;

struct Case {
  std::string file;  // .mtile
  std::vector<poly::Sizes> sizes;
};

void write(const fs::path& p, const std::string& text) {
  std::ofstream(p, std::ios::binary) << text;
}

// Elements as they lie in memory.
std::string bytes_of(const std::vector<double>& values, Type t) {
  std::string out(values.size() * size_t(type_bytes(t)), '\0');
  char* at = out.data();
  for (double v : values) {
    auto put = [&](auto x) { std::memcpy(at, &x, sizeof x); };
    switch (t) {
      case Type::Bool:
        put(uint8_t(v != 0));
        break;
      case Type::I32:
        put(int32_t(v));
        break;
      case Type::F32:
        put(float(v));
        break;
      case Type::F64:
        put(v);
        break;
      default:
        if (type_bytes(t) == 2)
          put(uint16_t(element_bits(v, t)));
        else
          put(uint8_t(element_bits(v, t)));
    }
    at += type_bytes(t);
  }
  return out;
}

// Normal numbers, and small integers (indices), from the tensor's name and sizes.
std::vector<double> random_values(const tile::TensorDecl& t, int64_t n) {
  std::seed_seq seed(t.name.begin(), t.name.end());
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  std::vector<double> v;
  for (; n > 0; --n)
    v.push_back(is_float(t.type) ? round_to_type(normal(rng), t.type)
                                 : double(rng() % (t.type == Type::Bool ? 2 : 4)));
  return v;
}

const char* const kProgram = R"(
struct Tensor { std::string name, type; int kind; size_t count, bytes; };  // kind 0: input, 1: output, 2: scratch
struct Case { std::string name, sizes, cubin; std::vector<int64_t> values; std::vector<Tensor> tensors;
              int (*load)(const void*, size_t); int (*launch)(void**, const int64_t*, void*); const char* (*error)(); };
extern const std::vector<Case> cases;

std::string folder;
std::string read(const std::string& name) {
  std::ifstream in(folder + "/" + name, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}
double small_float(uint32_t w, int mantissa, int exponent, bool no_infinity) {
  const uint32_t m = w & ((1u << mantissa) - 1), e = w >> mantissa & ((1u << exponent) - 1), all = (1u << exponent) - 1;
  const double sign = w >> (mantissa + exponent) & 1 ? -1 : 1;
  const int bias = (1 << (exponent - 1)) - 1;
  if (no_infinity ? e == all && m == (1u << mantissa) - 1 : e == all && m) return NAN;
  if (!no_infinity && e == all) return sign * INFINITY;
  return sign * (e ? ldexp(double(m | 1u << mantissa), int(e) - bias - mantissa) : ldexp(double(m), 1 - bias - mantissa));
}
double element(const Tensor& t, const std::string& bytes, size_t n) {
  const char* p = bytes.data() + n * t.bytes;
  auto as = [&](auto x) { memcpy(&x, p, sizeof x); return x; };
  if (t.type == "f32") return as(float());
  if (t.type == "f64") return as(double());
  if (t.type == "i32") return as(int32_t());
  if (t.type == "i8") return as(int8_t());
  if (t.type == "bool") return as(uint8_t()) != 0;
  if (t.type == "f16") return small_float(as(uint16_t()), 10, 5, false);
  if (t.type == "bf16") return small_float(as(uint16_t()), 7, 8, false);
  return t.type == "e4m3" ? small_float(as(uint8_t()), 3, 4, true) : small_float(as(uint8_t()), 2, 5, false);
}
// A unit of the type, in which differences of few roundings are counted.
double unit(const std::string& type) {
  return type == "f64" ? 1e-12 : type == "f32" ? 2e-5 : type == "f16" ? 1e-3 : type == "bf16" ? 8e-3 : type == "e4m3" ? 0.07 : type == "e5m2" ? 0.13 : 0;
}

int main(int, char** argv) {
  folder = argv[0];
  folder = folder.find('/') == std::string::npos ? "." : folder.substr(0, folder.rfind('/'));
  CUdevice device;
  CUcontext context;
  if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context)) { printf("no GPU\n"); return 2; }
  int bad = 0;
  printf("%-22s %-26s %-14s %10s %10s %12s\n", "module", "sizes", "output", "elements", "wrong", "worst");
  for (const Case& c : cases) {
    const std::string cubin = read(c.cubin);
    c.load(cubin.data(), cubin.size());
    std::vector<void*> pointers;
    for (const Tensor& t : c.tensors) {
      CUdeviceptr p = 0;
      cuMemAlloc(&p, t.count * t.bytes + 256);
      cuMemsetD8(p, 0xff, t.count * t.bytes + 256);
      if (t.kind == 0) { const std::string in = read(c.name + "." + t.name + ".in"); cuMemcpyHtoD(p, in.data(), in.size()); }
      pointers.push_back(reinterpret_cast<void*>(p));
    }
    if (c.launch(pointers.data(), c.values.data(), nullptr)) { printf("%-22s %-26s %s\n", c.name.c_str(), c.sizes.c_str(), c.error()); ++bad; continue; }
    if (CUresult r = cuCtxSynchronize()) { const char* w = ""; cuGetErrorString(r, &w); printf("%-22s %-26s %s\n", c.name.c_str(), c.sizes.c_str(), w); return 1; }
    for (size_t n = 0; n < c.tensors.size(); ++n) {
      const Tensor& t = c.tensors[n];
      std::string out(t.count * t.bytes + 256, 0);
      cuMemcpyDtoH(out.data(), reinterpret_cast<CUdeviceptr>(pointers[n]), out.size());
      for (size_t b = t.count * t.bytes; b < out.size(); ++b)
        if (uint8_t(out[b]) != 0xff) { printf("%s writes beyond %s\n", c.name.c_str(), t.name.c_str()); ++bad; break; }
      if (t.kind != 1) continue;
      const std::string expected = read(c.name + "." + t.name + ".expected");
      double scale = 0, worst = 0;
      size_t wrong = 0;
      for (size_t e = 0; e < t.count; ++e) { const double x = element(t, expected, e); if (std::isfinite(x)) scale += x * x; }
      scale = sqrt(scale / std::max<size_t>(1, t.count));
      for (size_t e = 0; e < t.count; ++e) {
        const double x = element(t, out, e), y = element(t, expected, e);
        if (std::isnan(x) && std::isnan(y)) continue;
        if (x == y) continue;
        const double d = fabs(x - y) / (fabs(y) + scale);
        worst = std::isnan(d) ? INFINITY : std::max(worst, d);
        if (!(d <= 2 * unit(t.type))) ++wrong;
      }
      printf("%-22s %-26s %-14s %10zu %10zu %12.3g%s\n", c.name.c_str(), c.sizes.c_str(), t.name.c_str(), t.count, wrong, worst, wrong ? "  WRONG" : "");
      bad += wrong != 0;
    }
    for (void* p : pointers) cuMemFree(reinterpret_cast<CUdeviceptr>(p));
  }
  printf("%s\n", bad ? "FAILED" : "all right");
  return bad != 0;
}
)";

std::string quoted_list(const std::vector<std::string>& items) {
  std::string s;
  for (const std::string& i : items) s += (s.empty() ? "" : ", ") + i;
  return "{" + s + "}";
}

int generate(const fs::path& folder, const std::string& target, const std::vector<Case>& cases) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  std::string includes, adapters, table, build;
  int refused = 0;
  for (const Case& c : cases) {
    std::ifstream in(c.file);
    std::stringstream text;
    text << in.rdbuf();
    auto m = memory::parse(text.str(), c.file);
    if (!m) {
      std::cerr << m.error().text() << "\n";
      ++refused;
      continue;
    }
    if (!target.empty() && !m->target.ends_with("a")) m->target = target;
    const auto s = emit(*m, {.contract = false});
    if (!s) {
      std::cerr << s.error().text() << "\n";
      ++refused;
      continue;
    }
    const std::string id = identifier(s->name);
    write(folder / (s->name + ".cu"), s->text);
    write(folder / (s->name + ".h"), emit_header(*s));
    write(folder / (s->name + "_launch.cpp"), emit_launcher(*s));
    build += "[ -s " + s->name + ".cubin ] || nvcc -std=c++17 -O3 -cubin -arch=" + s->target +
             " -o " + s->name + ".cubin " + s->name + ".cu\n";
    if (find_compiler()) {
      const auto compiled = compile(*s);
      if (!compiled) {
        std::cerr << compiled.error().text() << "\n";
        ++refused;
        continue;
      }
      write(folder / (s->name + ".cubin"), compiled->cubin);
      for (const Resources& r : compiled->kernels)
        std::cout << r.kernel << ": " << r.registers << " registers, " << r.spill_bytes
                  << " bytes spilled, " << r.shared_bytes << " shared, occupancy " << r.occupancy
                  << "\n";
    }
    includes += "#include \"" + s->name + ".h\"\n";
    std::string call;
    for (size_t n = 0; n < s->tensors.size(); ++n) call += "t[" + std::to_string(n) + "], ";
    for (size_t n = 0; n < s->sizes.size(); ++n) call += "s[" + std::to_string(n) + "], ";
    adapters += "int run_" + id +
                "(void** t, const int64_t* s, void* stream) { (void)t, (void)s; return " + id +
                "_launch(" + call + "stream); }\n";
    for (size_t k = 0; k < c.sizes.size(); ++k) {
      const poly::Sizes& sizes = c.sizes[k];
      const std::string name = s->name + "-" + std::to_string(k);
      poly::Buffers inputs;
      std::vector<std::string> tensors, values;
      std::string size_text;
      for (const std::string& n : s->sizes) {
        values.push_back(std::to_string(sizes.at(n)));
        size_text += (size_text.empty() ? "" : " ") + n + "=" + std::to_string(sizes.at(n));
      }
      for (const tile::TensorDecl& t : s->tensors) {
        int64_t count = 1;
        for (const IndexExpr& e : t.extents) count *= e.evaluate(sizes);
        const int kind = t.kind == poly::TensorKind::Input    ? 0
                         : t.kind == poly::TensorKind::Output ? 1
                                                              : 2;
        tensors.push_back("{\"" + t.name + "\", \"" + std::string(type_name(t.type)) + "\", " +
                          std::to_string(kind) + ", " + std::to_string(count) + ", " +
                          std::to_string(type_bytes(t.type)) + "}");
        if (kind != 0) continue;
        inputs[t.name] = random_values(t, count);
        write(folder / (name + "." + t.name + ".in"), bytes_of(inputs[t.name], t.type));
      }
      const auto r = memory::interpret(*m, sizes, inputs);
      if (!r || !r->faults.empty()) {
        std::cerr << name << ": " << (r ? r->faults[0].text : r.error().text()) << "\n";
        ++refused;
        continue;
      }
      for (const tile::TensorDecl& t : s->tensors)
        if (t.kind == poly::TensorKind::Output)
          write(folder / (name + "." + t.name + ".expected"),
                bytes_of(r->outputs.at(t.name), t.type));
      table += "    {\"" + name + "\", \"" + size_text + "\", \"" + s->name + ".cubin\", " +
               quoted_list(values) + ", " + quoted_list(tensors) + ", " + id + "_load, run_" + id +
               ", " + id + "_error},\n";
    }
  }
  write(folder / "main.cpp",
        "// Runs the kernels of this folder and compares them with what is expected.\n#include "
        "<cuda.h>\n#include <math.h>\n#include <stdio.h>\n#include <string.h>\n\n"
        "#include <algorithm>\n#include <cmath>\n#include <fstream>\n#include <sstream>\n#include "
        "<string>\n#include <vector>\n\n" +
            includes + kProgram + adapters + "const std::vector<Case> cases = {\n" + table +
            "};\n");
  write(folder / "run.sh",
        "#!/bin/sh\n# Builds and runs the check.\nset -e\ncd \"$(dirname \"$0\")\"\nexport "
        "PATH=\"$PATH:/usr/local/cuda/bin\"\n" +
            build + "nvcc -std=c++17 -o check main.cpp *_launch.cpp -lcuda\n./check\n");
  std::cout << "sh " << (folder / "run.sh").string() << "\n";
  return refused ? 1 : 0;
}

std::vector<Case> samples() {
  const std::string memory = std::string(NAUTILUS_SOURCE_DIR) + "/tests/memory/samples/",
                    own = std::string(NAUTILUS_SOURCE_DIR) + "/tests/cuda/samples/";
  std::vector<Case> cases{
      {memory + "ampere_product.mtile",
       {{{"M", 1}, {"N", 1}, {"K8", 1}},
        {{"M", 65}, {"N", 17}, {"K8", 21}},
        {{"M", 64}, {"N", 128}, {"K8", 16}}}},
      {memory + "causal_attention.mtile",
       {{{"H", 2}, {"N", 1}}, {{"H", 2}, {"N", 130}}, {{"H", 3}, {"N", 192}}}},
      {memory + "gather_sums.mtile", {{{"R", 1}, {"V", 4}}, {{"R", 77}, {"V", 5}}}},
      {memory + "hopper_product.mtile",
       {{{"M", 1}, {"N8", 1}, {"K8", 1}},
        {{"M", 130}, {"N8", 3}, {"K8", 50}},
        {{"M", 64}, {"N8", 17}, {"K8", 8}}}}};
  std::vector<fs::path> files;
  for (const auto& f : fs::directory_iterator(own))
    if (f.path().extension() == ".mtile") files.push_back(f.path());
  std::sort(files.begin(), files.end());
  // Their one size is N.
  for (const fs::path& f : files)
    cases.push_back({f.string(), {{{"N", 1}}, {{"N", 77}}, {{"N", 128}}}});
  return cases;
}

}  // namespace
}  // namespace nautilus::cuda

int main(int argc, char** argv) {
  using namespace nautilus;
  std::string folder, target;
  poly::Sizes sizes;
  std::vector<std::string> files;
  for (int n = 1; n < argc; ++n) {
    const std::string a = argv[n];
    if (a == "--target" && n + 1 < argc) {
      target = argv[++n];
    } else if (a == "--sizes" && n + 1 < argc) {
      std::istringstream in(argv[++n]);
      for (std::string part; std::getline(in, part, ',');)
        if (const size_t at = part.find('='); at != std::string::npos)
          sizes[part.substr(0, at)] = std::atoll(part.c_str() + at + 1);
    } else if (a.rfind("-", 0) == 0) {  // asked for help, or mistyped: no folder of that name
      folder.clear();
      break;
    } else if (folder.empty()) {
      folder = a;
    } else {
      files.push_back(a);
    }
  }
  if (folder.empty()) {
    std::cerr << "nautilus_gpu_check FOLDER [--target sm_90] [--sizes M=65,N=17] [FILE.mtile...]\n";
    return 2;
  }
  std::vector<cuda::Case> cases;
  for (const std::string& f : files) cases.push_back({f, {sizes}});
  return cuda::generate(folder, target, files.empty() ? cuda::samples() : cases);
}
