// CPU back end: tile IR to C++, compiled in process by Clang's JIT, vectorized and multi-threaded.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/tile/ir.h"
#include "compiler/tile/rewrite.h"

namespace nautilus::cpu {

struct EmitOptions {
  tile::Numerics numerics = tile::Numerics::Reassociate;  // Strict: no contraction or reassociation
};
// Readable C++ for a module: one function a kernel, `extern "C" void <module>_run(void** tensors,
// int threads)`; tensors in the module's order. Sizes are bound (constants).
Expected<std::string> emit(const tile::Module& m, const EmitOptions& options = {});
std::string entry_name(const tile::Module& m);  // "<module>_run", as a C identifier

// A compiled function, alive as long as the object.
class Compiled {
 public:
  virtual ~Compiled() = default;
  // tensors: row-major, in their element types, also the module's temps. threads 0: all cores.
  // Throws std::bad_alloc if a thread's scratch memory cannot be had.
  virtual void run(void** tensors, int threads) const = 0;
};
Expected<std::shared_ptr<Compiled>> compile(const std::string& source, const std::string& entry,
                                            tile::Numerics numerics = tile::Numerics::Reassociate);

}  // namespace nautilus::cpu
