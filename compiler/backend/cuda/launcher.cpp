// C header and launcher of a source: what a C or C++ program includes and compiles beside the
// cubin. The launcher speaks to the driver alone.
#include <algorithm>
#include <set>

#include "compiler/backend/cuda/cuda.h"
#include "compiler/backend/cuda/text.h"

namespace nautilus::cuda {
namespace {

// Parameters of the launch function, the stream last.
std::string launch_parameters(const Source& s, Namer& names, std::vector<std::string>& tensors,
                              std::vector<std::string>& sizes) {
  std::string p;
  for (const tile::TensorDecl& t : s.tensors) {
    tensors.push_back(names.fresh(t.name));
    p += std::string(t.kind == poly::TensorKind::Input ? "const void* " : "void* ") +
         tensors.back() + ", ";
  }
  for (const std::string& n : s.sizes) {
    sizes.push_back(names.fresh(n));
    p += "int64_t " + sizes.back() + ", ";
  }
  return p + "void* stream";
}

std::string size_text(const IndexExpr& e, const std::map<std::string, std::string>& names) {
  using Kind = IndexExpr::Kind;
  auto inner = [&](size_t n) { return size_text(e.args()[n], names); };
  switch (e.kind()) {
    case Kind::Const:
      return "INT64_C(" + std::to_string(e.constant()) + ")";
    case Kind::Var: {
      auto it = names.find(e.name());
      return it == names.end() ? e.name() : it->second;
    }
    case Kind::Add: {
      std::string t;
      for (size_t n = 0; n < e.args().size(); ++n) t += (n ? " + " : "") + inner(n);
      return "(" + t + ")";
    }
    case Kind::Mul:
      return "(" + std::to_string(e.constant()) + " * " + inner(0) + ")";
    case Kind::FloorDiv:
      return "floor_div(" + inner(0) + ", " + std::to_string(e.constant()) + ")";
    case Kind::Mod:
      return "(" + inner(0) + " - " + std::to_string(e.constant()) + " * floor_div(" + inner(0) +
             ", " + std::to_string(e.constant()) + "))";
    case Kind::Min:
      return "std::min(" + inner(0) + ", " + inner(1) + ")";
    case Kind::Max:
      return "std::max(" + inner(0) + ", " + inner(1) + ")";
  }
  return "0";
}

std::string condition_text(const Cond& c, const std::map<std::string, std::string>& names) {
  std::string any;
  for (const Cond::Conj& conj : c.any) {
    std::string all;
    for (const Cond::Atom& a : conj)
      all +=
          (all.empty() ? "" : " && ") + size_text(a.expr, names) + (a.equality ? " == 0" : " >= 0");
    any += (any.empty() ? "(" : " || (") + (all.empty() ? "true" : all) + ")";
  }
  return any.empty() ? "false" : any;
}

std::string map_type(Type t) {
  switch (t) {
    case Type::I32:
      return "CU_TENSOR_MAP_DATA_TYPE_INT32";
    case Type::F16:
      return "CU_TENSOR_MAP_DATA_TYPE_FLOAT16";
    case Type::BF16:
      return "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16";
    case Type::F32:
      return "CU_TENSOR_MAP_DATA_TYPE_FLOAT32";
    case Type::F64:
      return "CU_TENSOR_MAP_DATA_TYPE_FLOAT64";
    default:
      return "CU_TENSOR_MAP_DATA_TYPE_UINT8";
  }
}

const char* const kFrame = R"(
namespace {

thread_local std::string words;

int failed(const std::string& what) {
  words = what;
  return 1;
}
int failed(const char* what, CUresult r) {
  const char* name = nullptr;
  cuGetErrorName(r, &name);
  return failed(std::string(what) + ": " + (name ? name : "an unknown error"));
}
int64_t floor_div(int64_t a, int64_t d) { return a / d - (a % d != 0 && a < 0); }
// Blocks of a grid; -1: too many for one.
int64_t blocks(std::initializer_list<int64_t> extents) {
  int64_t n = 1;
  for (int64_t e : extents)
    if (e <= 0) n = 0;
  for (int64_t e : extents)
    if (n && __builtin_mul_overflow(n, e, &n)) return -1;
  return n > 2147483647 ? -1 : n;
}

// A context's module, loaded when it is first needed.
struct Loaded {
  CUmodule module = nullptr;
  std::vector<CUfunction> kernels;
};
std::mutex guard;
std::map<CUcontext, Loaded> loaded;
std::string image;
)";

// Where a kernel takes tensor maps. Strides: cuda::TensorMap.
const char* const kEncode = R"(
int encode(CUtensorMap* map, const char* tensor, CUtensorMapDataType type, uint64_t stride, const void* data,
           std::initializer_list<uint64_t> extents, std::initializer_list<uint32_t> box, CUtensorMapSwizzle swizzle) {
  const uint32_t steps[] = {1, 1, 1, 1, 1};
  uint64_t strides[5] = {};
  size_t n = 0;
  for (const uint64_t e : extents)
    if (e == 0) return 0;
  for (const uint64_t e : extents) {
    if (n && (stride % 16 || stride >= uint64_t(1) << 40))
      return failed("a stride of " + std::string(tensor) + " is " + std::to_string(stride) +
                    " bytes, which is no multiple of 16 below 2^40");
    if (n) strides[n - 1] = stride;
    stride *= e, ++n;
  }
  const CUresult r = cuTensorMapEncodeTiled(
      map, type, uint32_t(n), const_cast<void*>(data), extents.begin(), strides, box.begin(), steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return r ? failed(("the tensor map of " + std::string(tensor)).c_str(), r) : 0;
}
)";

}  // namespace

int tensor_map_type(Type t) {
  switch (t) {
    case Type::F16:
      return 6;
    case Type::BF16:
      return 9;
    case Type::F32:
      return 7;
    case Type::F64:
      return 8;
    case Type::I32:
      return 3;
    default:
      return 0;
  }
}

std::string emit_header(const Source& s) {
  const std::string name = identifier(s.name);
  Namer names;
  std::vector<std::string> tensors, sizes;
  const std::string parameters = launch_parameters(s, names, tensors, sizes);
  std::string h = "// " + s.name + " for " + s.target +
                  ": row-major tensors on the device, aligned to 16 bytes.\n";
  for (size_t n = 0; n < s.tensors.size(); ++n) {
    const tile::TensorDecl& t = s.tensors[n];
    std::string extents;
    for (const IndexExpr& e : t.extents)
      extents += (extents.empty() ? "" : ", ") + nautilus::to_string(e);
    h += "//   " + tensors[n] + ": " + std::string(type_name(t.type)) + "[" + extents + "] " +
         (t.kind == poly::TensorKind::Input    ? "input"
          : t.kind == poly::TensorKind::Output ? "output"
                                               : "scratch") +
         "\n";
  }
  return h +
         "#pragma once\n\n#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern "
         "\"C\" {\n#endif\n\n"
         "// The cubin that launches take their kernels from; once, before the first launch. Its "
         "bytes are copied.\n"
         "int " +
         name +
         "_load(const void* cubin, size_t bytes);\n"
         "// Launches on a stream (CUstream, cudaStream_t) of the current context. 0, or not 0 "
         "where nothing was\n"
         "// launched: then " +
         name +
         "_error() says why.\n"
         "int " +
         name + "_launch(" + parameters +
         ");\n"
         "const char* " +
         name + "_error(void);\n\n#ifdef __cplusplus\n}\n#endif\n";
}

namespace {

size_t position(const Source& s, const std::string& tensor) {
  return size_t(std::find_if(s.tensors.begin(), s.tensors.end(),
                             [&](const auto& t) { return t.name == tensor; }) -
                s.tensors.begin());
}

// Makes the tensor map `map` of what lies at `data`.
std::string map_text(const TensorMap& m, const std::string& map, const std::string& data,
                     const std::map<std::string, std::string>& sizes) {
  static const char* const swizzles[] = {"NONE", "32B", "64B", "128B"};
  std::string extents, box;
  for (const IndexExpr& e : m.extents)
    extents += (extents.empty() ? "" : ", ") + ("uint64_t(" + size_text(e, sizes) + ")");
  for (const int b : m.box) box += (box.empty() ? "" : ", ") + std::to_string(b);
  return "  CUtensorMap " + map + " = {};\n  if (encode(&" + map + ", \"" + m.tensor + "\", " +
         map_type(m.elem) + ", " + std::to_string(type_bytes(m.elem)) + ", " + data + ", {" +
         extents + "}, {" + box + "}, CU_TENSOR_MAP_SWIZZLE_" + swizzles[m.swizzle] +
         ")) return 1;\n";
}

}  // namespace

std::string emit_launcher(const Source& s) {
  const std::string name = identifier(s.name);
  Namer names;
  std::vector<std::string> tensors, sizes;
  const std::string parameters = launch_parameters(s, names, tensors, sizes);
  std::map<std::string, std::string> text;
  for (size_t n = 0; n < sizes.size(); ++n) text[s.sizes[n]] = sizes[n];
  std::string c = "// Launcher of " + s.name + " for " + s.target +
                  ". Link with libcuda.\n#include \"" + s.name +
                  ".h\"\n\n#include <cuda.h>\n\n"
                  "#include <algorithm>\n#include <initializer_list>\n#include <map>\n#include "
                  "<mutex>\n#include <string>\n#include <vector>\n" +
                  std::string(kFrame);
  c += "const char* const kKernels[] = {";
  for (size_t n = 0; n < s.launches.size(); ++n)
    c += (n ? ", " : "") + ("\"" + s.launches[n].kernel + "\"");
  c += "};\nconst int kShared[] = {";
  for (size_t n = 0; n < s.launches.size(); ++n)
    c += (n ? ", " : "") + std::to_string(s.launches[n].shared_bytes);
  c += "};\n\n// Kernels of the current context; nullptr and the reason in `words` if there are "
       "none.\n"
       "const Loaded* kernels() {\n"
       "  CUcontext context = nullptr;\n"
       "  if (cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context) return failed(\"no CUDA "
       "context is current\"), nullptr;\n"
       "  const std::lock_guard<std::mutex> lock(guard);\n"
       "  if (auto it = loaded.find(context); it != loaded.end()) return &it->second;\n"
       "  if (image.empty()) return failed(\"" +
       name +
       "_load was not called\"), nullptr;\n"
       "  Loaded l;\n"
       "  if (CUresult r = cuModuleLoadData(&l.module, image.data())) return failed(\"loading the "
       "kernels\", r), nullptr;\n"
       "  for (size_t n = 0; n < sizeof kKernels / sizeof *kKernels; ++n) {\n"
       "    CUfunction f = nullptr;\n"
       "    if (CUresult r = cuModuleGetFunction(&f, l.module, kKernels[n])) return "
       "failed(kKernels[n], r), nullptr;\n"
       "    if (kShared[n] > 49152)\n"
       "      if (CUresult r = cuFuncSetAttribute(f, "
       "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kShared[n])) return failed(kKernels[n], "
       "r), nullptr;\n"
       "    l.kernels.push_back(f);\n"
       "  }\n"
       "  return &(loaded[context] = std::move(l));\n"
       "}\n";
  if (std::any_of(s.launches.begin(), s.launches.end(),
                  [](const Launch& l) { return !l.maps.empty(); }))
    c += kEncode;
  c += "\n}  // namespace\n\nextern \"C\" int " + name +
       "_load(const void* cubin, size_t bytes) {\n"
       "  const std::lock_guard<std::mutex> lock(guard);\n  image.assign(static_cast<const "
       "char*>(cubin), bytes);\n  return 0;\n}\n\n"
       "extern \"C\" const char* " +
       name +
       "_error(void) { return words.c_str(); }\n\n"
       "extern \"C\" int " +
       name + "_launch(" + parameters + ") {\n";
  for (const std::string& n : sizes)
    c += "  if (" + n + " < 0 || " + n + " > 2147418112) return failed(\"size " + n +
         " is negative, or 2^31 - 2^16 or more\");\n";
  if (!s.facts.is_always())
    c += "  if (!(" + condition_text(s.facts, text) + ")) return failed(\"the sizes must satisfy " +
         nautilus::to_string(s.facts) + "\");\n";
  std::set<std::string> checked;
  for (size_t n = 0; n < s.tensors.size(); ++n) {
    for (const IndexExpr& e : s.tensors[n].extents)
      if (!e.is_const() && checked.insert(nautilus::to_string(e)).second)
        c += "  if (" + size_text(e, text) + " > 2147418112) return failed(\"extent " +
             nautilus::to_string(e) + " of " + s.tensors[n].name + " is 2^31 - 2^16 or more\");\n";
    c += "  if (reinterpret_cast<uintptr_t>(" + tensors[n] + ") % 16) return failed(\"" +
         s.tensors[n].name + " is not aligned to 16 bytes\");\n";
  }
  // Everything that can be refused, before anything is touched.
  std::vector<std::string> grids, arguments;
  for (const Launch& l : s.launches) {
    std::string grid;
    for (const IndexExpr& e : l.grid) grid += (grid.empty() ? "" : ", ") + size_text(e, text);
    grids.push_back(names.fresh("grid"));
    c += "  const int64_t " + grids.back() + " = blocks({" + grid + "});\n  if (" + grids.back() +
         " < 0) return failed(\"" + l.kernel + ": more than 2^31 - 1 blocks\");\n";
    arguments.emplace_back();
    for (const std::string& t : tensors) arguments.back() += "&" + t + ", ";
    for (const std::string& t : sizes) arguments.back() += "&" + t + ", ";
    for (const TensorMap& m : l.maps) {
      const std::string map = names.fresh(m.parameter);
      c += map_text(m, map, tensors[position(s, m.tensor)], text);
      arguments.back() += "&" + map + ", ";
    }
  }
  c += "  const Loaded* l = kernels();\n  if (!l) return 1;\n";
  for (const std::string& z : s.zeroed)
    for (size_t n = 0; n < s.tensors.size(); ++n)
      if (s.tensors[n].name == z) {
        std::string bytes = std::to_string(type_bytes(s.tensors[n].type));
        for (const IndexExpr& e : s.tensors[n].extents) bytes += " * " + size_text(e, text);
        c += "  if (const size_t bytes = size_t(" + bytes +
             "))\n    if (CUresult r = cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(" +
             tensors[n] + "), 0, bytes, static_cast<CUstream>(stream))) return failed(\"clearing " +
             z + "\", r);\n";
      }
  for (size_t k = 0; k < s.launches.size(); ++k) {
    const Launch& l = s.launches[k];
    c += "  if (" + grids[k] + ") {\n    const void* arguments[] = {" + arguments[k] +
         "nullptr};\n    if (CUresult r = cuLaunchKernel(l->kernels[" + std::to_string(k) +
         "], unsigned(" + grids[k] + "), 1, 1, " + std::to_string(l.threads) + ", 1, 1, " +
         std::to_string(l.shared_bytes) +
         ", static_cast<CUstream>(stream), const_cast<void**>(arguments), nullptr)) return "
         "failed(\"" +
         l.kernel + "\", r);\n  }\n";
  }
  return c + "  return 0;\n}\n";
}

}  // namespace nautilus::cuda
