// Runs the kernels of this folder and compares them with what is expected.
#include <cuda.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ampere_product.h"
#include "causal_attention.h"
#include "gather_sums.h"
#include "hopper_product.h"
#include "control.h"
#include "padded.h"
#include "roles.h"
#include "signs.h"
#include "tf32_product.h"
#include "three_warps.h"
#include "types.h"
#include "written_and_read.h"

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
int run_ampere_product(void** t, const int64_t* s, void* stream) { (void)t, (void)s; return ampere_product_launch(t[0], t[1], t[2], s[0], s[1], s[2], stream); }
int run_causal_attention(void** t, const int64_t* s, void* stream) { (void)t, (void)s; return causal_attention_launch(t[0], t[1], t[2], t[3], s[0], s[1], stream); }
int run_gather_sums(void** t, const int64_t* s, void* stream) { (void)t, (void)s; return gather_sums_launch(t[0], t[1], t[2], t[3], t[4], t[5], s[0], s[1], stream); }
int run_hopper_product(void** t, const int64_t* s, void* stream) { (void)t, (void)s; return hopper_product_launch(t[0], t[1], t[2], s[0], s[1], s[2], stream); }
int run_control(void** t, const int64_t* s, void* stream) { (void)t, (void)s; return control_launch(t[0], t[1], t[2], t[3], t[4], t[5], t[6], s[0], stream); }
int run_padded(void** t, const int64_t* s, void* stream) { (void)t, (void)s; return padded_launch(t[0], t[1], t[2], t[3], t[4], s[0], stream); }
int run_roles(void** t, const int64_t* s, void* stream) { (void)t, (void)s; return roles_launch(t[0], t[1], s[0], stream); }
int run_signs(void** t, const int64_t* s, void* stream) { (void)t, (void)s; return signs_launch(t[0], t[1], s[0], stream); }
int run_tf32_product(void** t, const int64_t* s, void* stream) { (void)t, (void)s; return tf32_product_launch(t[0], t[1], t[2], s[0], stream); }
int run_three_warps(void** t, const int64_t* s, void* stream) { (void)t, (void)s; return three_warps_launch(t[0], t[1], t[2], s[0], stream); }
int run_types(void** t, const int64_t* s, void* stream) { (void)t, (void)s; return types_launch(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13], t[14], s[0], stream); }
int run_written_and_read(void** t, const int64_t* s, void* stream) { (void)t, (void)s; return written_and_read_launch(t[0], t[1], t[2], s[0], stream); }
const std::vector<Case> cases = {
    {"ampere_product-0", "M=1 N=1 K8=1", "ampere_product.cubin", {1, 1, 1}, {{"A", "f16", 0, 8, 2}, {"B", "f16", 0, 8, 2}, {"C", "f16", 1, 1, 2}}, ampere_product_load, run_ampere_product, ampere_product_error},
    {"ampere_product-1", "M=65 N=17 K8=21", "ampere_product.cubin", {65, 17, 21}, {{"A", "f16", 0, 10920, 2}, {"B", "f16", 0, 2856, 2}, {"C", "f16", 1, 1105, 2}}, ampere_product_load, run_ampere_product, ampere_product_error},
    {"ampere_product-2", "M=64 N=128 K8=16", "ampere_product.cubin", {64, 128, 16}, {{"A", "f16", 0, 8192, 2}, {"B", "f16", 0, 16384, 2}, {"C", "f16", 1, 8192, 2}}, ampere_product_load, run_ampere_product, ampere_product_error},
    {"causal_attention-0", "H=2 N=1", "causal_attention.cubin", {2, 1}, {{"Q", "f16", 0, 128, 2}, {"K", "f16", 0, 128, 2}, {"V", "f16", 0, 128, 2}, {"O", "f16", 1, 128, 2}}, causal_attention_load, run_causal_attention, causal_attention_error},
    {"causal_attention-1", "H=2 N=130", "causal_attention.cubin", {2, 130}, {{"Q", "f16", 0, 16640, 2}, {"K", "f16", 0, 16640, 2}, {"V", "f16", 0, 16640, 2}, {"O", "f16", 1, 16640, 2}}, causal_attention_load, run_causal_attention, causal_attention_error},
    {"causal_attention-2", "H=3 N=192", "causal_attention.cubin", {3, 192}, {{"Q", "f16", 0, 36864, 2}, {"K", "f16", 0, 36864, 2}, {"V", "f16", 0, 36864, 2}, {"O", "f16", 1, 36864, 2}}, causal_attention_load, run_causal_attention, causal_attention_error},
    {"gather_sums-0", "R=1 V=4", "gather_sums.cubin", {1, 4}, {{"X", "i32", 0, 1, 4}, {"E", "f32", 0, 256, 4}, {"W", "f32", 0, 64, 4}, {"S", "f32", 1, 64, 4}, {"T", "f32", 1, 1, 4}, {"U", "f32", 1, 1, 4}}, gather_sums_load, run_gather_sums, gather_sums_error},
    {"gather_sums-1", "R=77 V=5", "gather_sums.cubin", {77, 5}, {{"X", "i32", 0, 77, 4}, {"E", "f32", 0, 320, 4}, {"W", "f32", 0, 64, 4}, {"S", "f32", 1, 64, 4}, {"T", "f32", 1, 77, 4}, {"U", "f32", 1, 77, 4}}, gather_sums_load, run_gather_sums, gather_sums_error},
    {"hopper_product-0", "M=1 N8=1 K8=1", "hopper_product.cubin", {1, 1, 1}, {{"A", "f16", 0, 8, 2}, {"B", "f16", 0, 64, 2}, {"C", "f16", 1, 8, 2}}, hopper_product_load, run_hopper_product, hopper_product_error},
    {"hopper_product-1", "M=130 N8=3 K8=50", "hopper_product.cubin", {130, 3, 50}, {{"A", "f16", 0, 52000, 2}, {"B", "f16", 0, 9600, 2}, {"C", "f16", 1, 3120, 2}}, hopper_product_load, run_hopper_product, hopper_product_error},
    {"hopper_product-2", "M=64 N8=17 K8=8", "hopper_product.cubin", {64, 17, 8}, {{"A", "f16", 0, 4096, 2}, {"B", "f16", 0, 8704, 2}, {"C", "f16", 1, 8704, 2}}, hopper_product_load, run_hopper_product, hopper_product_error},
    {"control-0", "N=1", "control.cubin", {1}, {{"X", "f32", 0, 64, 4}, {"P", "i32", 0, 1, 4}, {"Y", "f32", 1, 64, 4}, {"Z", "f32", 1, 1, 4}, {"U", "f32", 1, 32, 4}, {"Count", "i32", 1, 1, 4}, {"Last", "f32", 1, 64, 4}}, control_load, run_control, control_error},
    {"control-1", "N=77", "control.cubin", {77}, {{"X", "f32", 0, 4928, 4}, {"P", "i32", 0, 77, 4}, {"Y", "f32", 1, 4928, 4}, {"Z", "f32", 1, 77, 4}, {"U", "f32", 1, 2464, 4}, {"Count", "i32", 1, 1, 4}, {"Last", "f32", 1, 64, 4}}, control_load, run_control, control_error},
    {"control-2", "N=128", "control.cubin", {128}, {{"X", "f32", 0, 8192, 4}, {"P", "i32", 0, 128, 4}, {"Y", "f32", 1, 8192, 4}, {"Z", "f32", 1, 128, 4}, {"U", "f32", 1, 4096, 4}, {"Count", "i32", 1, 1, 4}, {"Last", "f32", 1, 64, 4}}, control_load, run_control, control_error},
    {"padded-0", "N=1", "padded.cubin", {1}, {{"X", "f16", 0, 50, 2}, {"G", "i32", 0, 1, 4}, {"W", "f32", 0, 200, 4}, {"Y", "f16", 1, 50, 2}, {"S", "f32", 1, 1, 4}}, padded_load, run_padded, padded_error},
    {"padded-1", "N=77", "padded.cubin", {77}, {{"X", "f16", 0, 3850, 2}, {"G", "i32", 0, 1, 4}, {"W", "f32", 0, 200, 4}, {"Y", "f16", 1, 3850, 2}, {"S", "f32", 1, 77, 4}}, padded_load, run_padded, padded_error},
    {"padded-2", "N=128", "padded.cubin", {128}, {{"X", "f16", 0, 6400, 2}, {"G", "i32", 0, 1, 4}, {"W", "f32", 0, 200, 4}, {"Y", "f16", 1, 6400, 2}, {"S", "f32", 1, 128, 4}}, padded_load, run_padded, padded_error},
    {"roles-0", "N=1", "roles.cubin", {1}, {{"X", "f16", 0, 64, 2}, {"Y", "f16", 1, 64, 2}}, roles_load, run_roles, roles_error},
    {"roles-1", "N=77", "roles.cubin", {77}, {{"X", "f16", 0, 4928, 2}, {"Y", "f16", 1, 4928, 2}}, roles_load, run_roles, roles_error},
    {"roles-2", "N=128", "roles.cubin", {128}, {{"X", "f16", 0, 8192, 2}, {"Y", "f16", 1, 8192, 2}}, roles_load, run_roles, roles_error},
    {"signs-0", "N=1", "signs.cubin", {1}, {{"X", "f32", 0, 32, 4}, {"Y", "f32", 1, 32, 4}}, signs_load, run_signs, signs_error},
    {"signs-1", "N=77", "signs.cubin", {77}, {{"X", "f32", 0, 2464, 4}, {"Y", "f32", 1, 2464, 4}}, signs_load, run_signs, signs_error},
    {"signs-2", "N=128", "signs.cubin", {128}, {{"X", "f32", 0, 4096, 4}, {"Y", "f32", 1, 4096, 4}}, signs_load, run_signs, signs_error},
    {"tf32_product-0", "N=1", "tf32_product.cubin", {1}, {{"A", "f32", 0, 32, 4}, {"B", "f32", 0, 2048, 4}, {"C", "f32", 1, 64, 4}}, tf32_product_load, run_tf32_product, tf32_product_error},
    {"tf32_product-1", "N=77", "tf32_product.cubin", {77}, {{"A", "f32", 0, 2464, 4}, {"B", "f32", 0, 2048, 4}, {"C", "f32", 1, 4928, 4}}, tf32_product_load, run_tf32_product, tf32_product_error},
    {"tf32_product-2", "N=128", "tf32_product.cubin", {128}, {{"A", "f32", 0, 4096, 4}, {"B", "f32", 0, 2048, 4}, {"C", "f32", 1, 8192, 4}}, tf32_product_load, run_tf32_product, tf32_product_error},
    {"three_warps-0", "N=1", "three_warps.cubin", {1}, {{"A", "bf16", 0, 16, 2}, {"B", "bf16", 0, 1536, 2}, {"C", "f32", 1, 96, 4}}, three_warps_load, run_three_warps, three_warps_error},
    {"three_warps-1", "N=77", "three_warps.cubin", {77}, {{"A", "bf16", 0, 1232, 2}, {"B", "bf16", 0, 1536, 2}, {"C", "f32", 1, 7392, 4}}, three_warps_load, run_three_warps, three_warps_error},
    {"three_warps-2", "N=128", "three_warps.cubin", {128}, {{"A", "bf16", 0, 2048, 2}, {"B", "bf16", 0, 1536, 2}, {"C", "f32", 1, 12288, 4}}, three_warps_load, run_three_warps, three_warps_error},
    {"types-0", "N=1", "types.cubin", {1}, {{"X", "f32", 0, 64, 4}, {"H", "f16", 0, 64, 2}, {"I", "i8", 0, 64, 1}, {"T_f16", "f16", 1, 64, 2}, {"T_bf16", "bf16", 1, 64, 2}, {"T_e4m3", "e4m3", 1, 64, 1}, {"T_e5m2", "e5m2", 1, 64, 1}, {"T_i8", "i8", 1, 64, 1}, {"T_i32", "i32", 1, 64, 4}, {"T_f64", "f64", 1, 64, 8}, {"T_bool", "bool", 1, 64, 1}, {"Back", "f32", 1, 64, 4}, {"Whole", "i32", 1, 64, 4}, {"Pick", "f16", 1, 64, 2}, {"Exp", "f64", 1, 64, 8}}, types_load, run_types, types_error},
    {"types-1", "N=77", "types.cubin", {77}, {{"X", "f32", 0, 4928, 4}, {"H", "f16", 0, 4928, 2}, {"I", "i8", 0, 4928, 1}, {"T_f16", "f16", 1, 4928, 2}, {"T_bf16", "bf16", 1, 4928, 2}, {"T_e4m3", "e4m3", 1, 4928, 1}, {"T_e5m2", "e5m2", 1, 4928, 1}, {"T_i8", "i8", 1, 4928, 1}, {"T_i32", "i32", 1, 4928, 4}, {"T_f64", "f64", 1, 4928, 8}, {"T_bool", "bool", 1, 4928, 1}, {"Back", "f32", 1, 4928, 4}, {"Whole", "i32", 1, 4928, 4}, {"Pick", "f16", 1, 4928, 2}, {"Exp", "f64", 1, 4928, 8}}, types_load, run_types, types_error},
    {"types-2", "N=128", "types.cubin", {128}, {{"X", "f32", 0, 8192, 4}, {"H", "f16", 0, 8192, 2}, {"I", "i8", 0, 8192, 1}, {"T_f16", "f16", 1, 8192, 2}, {"T_bf16", "bf16", 1, 8192, 2}, {"T_e4m3", "e4m3", 1, 8192, 1}, {"T_e5m2", "e5m2", 1, 8192, 1}, {"T_i8", "i8", 1, 8192, 1}, {"T_i32", "i32", 1, 8192, 4}, {"T_f64", "f64", 1, 8192, 8}, {"T_bool", "bool", 1, 8192, 1}, {"Back", "f32", 1, 8192, 4}, {"Whole", "i32", 1, 8192, 4}, {"Pick", "f16", 1, 8192, 2}, {"Exp", "f64", 1, 8192, 8}}, types_load, run_types, types_error},
    {"written_and_read-0", "N=1", "written_and_read.cubin", {1}, {{"X", "f32", 0, 64, 4}, {"Y", "f32", 1, 64, 4}, {"T", "f32", 2, 64, 4}}, written_and_read_load, run_written_and_read, written_and_read_error},
    {"written_and_read-1", "N=77", "written_and_read.cubin", {77}, {{"X", "f32", 0, 4928, 4}, {"Y", "f32", 1, 4928, 4}, {"T", "f32", 2, 4928, 4}}, written_and_read_load, run_written_and_read, written_and_read_error},
    {"written_and_read-2", "N=128", "written_and_read.cubin", {128}, {{"X", "f32", 0, 8192, 4}, {"Y", "f32", 1, 8192, 4}, {"T", "f32", 2, 8192, 4}}, written_and_read_load, run_written_and_read, written_and_read_error},
};
