// Clang and LLVM in process: C++ text in, callable symbols out. Only jit.cpp includes their
// headers.
#pragma once

#include <memory>
#include <string>

#include "polyhedral/expected.h"

namespace nautilus::cpu {

struct JitOptions {
  bool contract = true;   // a*b+c may become one fused operation
  int level = 3;          // optimization level, 0..3
  int vector_bits = 512;  // widest vectors the optimizer should use, where the host has them
};

// Machine code of one translation unit, alive as long as the object. Besides its own symbols the
// text may call libm, memcpy and memset, and  extern "C" void nautilus_parallel_for(long n, int
// threads, long scratch_bytes, void (*body)(void* context, long i, char* scratch), void* context).
class Library {
 public:
  virtual ~Library() = default;
  virtual void* symbol(const std::string& name) const = 0;  // extern "C" name; nullptr if absent
};

// Compiles self-contained C++20 (no headers are on the search path) for this host. A Refusal
// carries Clang's diagnostics; it means a bug in whoever wrote the text.
Expected<std::shared_ptr<Library>> load(const std::string& source, const JitOptions& options = {});

}  // namespace nautilus::cpu
