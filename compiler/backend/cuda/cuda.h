// CUDA back end: memory IR to CUDA C++ that a person would want to read, to a cubin with nvcc, and
// the C header and launcher of the result. Includes no CUDA header and links no CUDA library.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/memory/ir.h"

namespace nautilus::cuda {

// A tensor map (CUtensorMap) that a kernel takes by value, made on the host by
// cuTensorMapEncodeTiled: element strides 1, no interleave, 128-byte promotion to L2, zeros
// outside. The tensor is row-major: the stride of dimension d is the bytes of an element times the
// extents before d, which the host multiplies where it knows the sizes. It refuses strides that are
// no multiple of 16 or 2^40 bytes and more; a tensor with an extent of 0 has no map, and no copy
// reads one.
struct TensorMap {
  std::string parameter;  // its name in the source
  std::string tensor;     // whose address it holds
  Type elem = Type::F16;
  std::vector<IndexExpr> extents;  // elements, innermost first; 1 to 5
  std::vector<int> box;            // elements a dimension, innermost first
  int swizzle = 0;  // 0: none, 1: 32, 2: 64, 3: 128 bytes (CUtensorMapSwizzle's values)
};

int tensor_map_type(Type t);  // CUtensorMapDataType; bytes where it has no type of that name

// One kernel, in order. Its arguments: a pointer a tensor (Source::tensors), an int64_t a size
// (Source::sizes), a CUtensorMap each of `maps`. One linear grid of the product of `grid` blocks;
// none where that is 0.
struct Launch {
  std::string kernel;           // symbol in the source
  std::vector<IndexExpr> grid;  // extents over sizes
  int threads = 128;
  int64_t shared_bytes = 0;  // dynamic; above 48 KB the function's attribute must be raised to it
  int blocks_per_sm = 1;
  std::vector<TensorMap> maps;
};

struct Source {
  std::string name, target, text;         // CUDA C++
  std::vector<std::string> sizes;         // int64_t parameters, after the tensors
  Cond facts = Cond::always();            // what kernels take for granted of the sizes
  std::vector<tile::TensorDecl> tensors;  // pointer parameters in order: inputs, outputs, temps
  std::vector<std::string> zeroed;        // tensors that must be zero before the first kernel
  std::vector<Launch> launches;
  std::vector<std::pair<int, int>> map;  // line of the text (from 1) -> schedule tree node
};

struct EmitOptions {
  // Whether a product and the sum it goes into may become one operation with one rounding (nvcc
  // does that wherever it can). Without it every product is rounded by itself: x*c - m*c is then 0
  // where x is m, however large both are.
  bool contract = true;
};
// Source of a module. Verifies it first. Index arithmetic is in 32 bits a dimension (the launcher
// refuses extents of 2^31 - 2^16 and more), offsets in 64 bits where the extents do not bound them.
// Refused, naming the instruction: what has no translation.
Expected<Source> emit(const memory::Module& m, const EmitOptions& options = {});

struct Resources {
  std::string kernel;
  int registers = 0;
  int64_t spill_bytes = 0;   // stores and loads of a thread
  int64_t local_bytes = 0;   // stack frame of a thread
  int64_t shared_bytes = 0;  // static and dynamic, of a block
  double occupancy = 0;      // resident warps over the most that a multiprocessor holds
};
struct Compiled {
  std::string cubin;
  std::vector<Resources> kernels;     // in order of the launches
  std::vector<std::string> warnings;  // ptxas' words (C75xx: products are serialized)
};
// Compiles with nvcc, found as $NAUTILUS_NVCC, on PATH, in $CUDA_HOME/bin, /usr/local/cuda/bin or
// build/cuda/bin. Absent, or the source refused by it: a Refusal with its words.
Expected<Compiled> compile(const Source& s);
// Path of that compiler; nullopt where there is none.
std::optional<std::string> find_compiler();

// Threads, registers and shared memory of one multiprocessor and what they leave of occupancy.
double occupancy(const memory::Target& t, int threads, int registers, int64_t shared_bytes);

// C header and C++ source of `int NAME_launch(const void* in, ..., void* out, ..., void* scratch,
// ..., int64_t size, ..., CUstream stream)` (0, or what went wrong: NAME_error gives the words).
// The launcher uses the driver API alone; it loads NAME.cubin's bytes, given at build time as
// `NAME_cubin` or at run time by NAME_load(bytes).
std::string emit_header(const Source& s);
std::string emit_launcher(const Source& s);

std::string_view c_type(Type t);  // as the source's parameters have it: "half", "float", "int32_t"

}  // namespace nautilus::cuda
