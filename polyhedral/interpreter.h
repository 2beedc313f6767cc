// Executes single instances of a program's statements on buffers: what interpret() and the
// executors of schedules are made of.
#pragma once

#include <memory>
#include <span>

#include "polyhedral/program.h"

namespace nautilus::poly {

// Holds every tensor of a program without parameters as a row-major buffer of doubles. Tensors
// written by reductions start at the identity, others at NaN (0 for integers).
class Interpreter {
 public:
  // `bound` has no parameters (see instantiate) and outlives the interpreter.
  static Expected<std::unique_ptr<Interpreter>> make(const Program& bound, const Buffers& inputs,
                                                     const InterpretOptions& options = {});
  ~Interpreter();

  // One instance: guard, operands, value, store (or update). False after an error: see error().
  bool execute(const std::string& statement, std::span<const int64_t> dims);
  std::optional<Refusal> error() const;

  // The element's address; null if there is no such tensor or element.
  double* element(const std::string& tensor, std::span<const int64_t> index);
  Buffers results();  // outputs, and temporaries if asked for; empties the interpreter

 private:
  struct State;
  explicit Interpreter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nautilus::poly
