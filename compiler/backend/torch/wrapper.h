// A PyTorch wrapper of compiled kernels: one Python file beside the cubin, which loads it through
// the CUDA driver by ctypes. It checks number, types, devices, shapes (sizes are found from shapes
// and must agree), strides and facts of the arguments before anything is touched, uses the current
// stream, and allocates nothing but outputs, and scratch once a stream.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/backend/cuda/cuda.h"
#include "polyhedral/program.h"

namespace nautilus::torch {

// What callers must know of sizes, as Python expressions over a dict `s` of them: "s['N'] % 8 ==
// 0".
struct Fact {
  std::string words, python;
};
// The facts of these sizes of a program, the others being bound. Refused: one that no arithmetic of
// the sizes decides.
Expected<std::vector<Fact>> facts_of(const poly::Program& p, const std::vector<std::string>& sizes);
std::vector<Fact> facts_of(const Cond& facts);  // of a source as it stands

// The file's text; `cubin`: the name of the file beside it. A size that no tensor's shape tells is
// an argument of the function, by its name.
std::string wrapper(const cuda::Source& s, const std::vector<Fact>& facts,
                    const std::string& cubin);
std::string python(const IndexExpr& e);  // over the dict `s`

}  // namespace nautilus::torch
