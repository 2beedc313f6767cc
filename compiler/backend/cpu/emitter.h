// Writes one kernel: KernelInfo and Storage to C++.
#pragma once

#include "compiler/backend/cpu/kernel.h"
#include "compiler/backend/cpu/storage.h"
#include "compiler/backend/cpu/text.h"

namespace nautilus::cpu {

// Text of the body of a nest over tile elements while it is being written.
struct Element {
  Names names;         // axes in scope -> index text
  std::string before;  // statements before the nest (parts of masks that its axes do not change)
  std::string lets;    // statements in the body: subexpressions
  std::map<std::string, std::string> known;
};

struct KernelText {
  std::string text;           // functions
  std::string body_function;  // void (void* tensors, long block, char* scratch)
  int64_t blocks = 0;         // grid points
  int64_t scratch_bytes = 0;
};

class Emitter {
 public:
  Emitter(const tile::Module& m, const Kernel& k, const EmitOptions& options, int number);
  Expected<KernelText> emit();

 private:
  using Axes = std::vector<Axis>;  // outermost first
  using Body = std::function<std::string(Element&)>;

  // emit.cpp: regions
  void region(const Region& r);
  void instruction(const Instr& i);
  void loop(const Instr& i);
  void branch(const Instr& i);
  void yields(const std::vector<ValueId>& values, const std::vector<ValueId>& results);
  void scalar(const Instr& i);
  void store(const Instr& i);
  void materialize(ValueId v);
  void copy(ValueId from, const std::string& to, ValueId shape);

  // emit_values.cpp: elements
  std::string element(ValueId v, Element& e);
  std::string compute(ValueId v, Element& e);  // from its operands, whatever its form
  std::string array_at(const std::string& array, ValueId shape, const Names& names) const;
  std::string memory_at(const Instr& i, const std::vector<ValueId>& operands, Element& e);
  std::string mask(const Cond& c, Element& e);
  std::string atom(const Cond::Atom& a, Element& e);
  void nest(const Axes& axes, const Body& body);
  Axes axes_of(ValueId v) const;  // in memory order

  // emit_reduce.cpp
  void reduce(const Instr& i);
  struct Fold {
    ValueId result;
    poly::ReduceOp op;
    Expr combine;
    double identity;
    bool accumulate;
    Axes summed;
    std::string operand_inner;                  // contiguous axis of what is folded
    std::function<std::string(Element&)> term;  // of the result's element type
  };
  void fold(const Fold& f);
  std::string fold_step(const Fold& f, const std::string& acc, const std::string& x) const;

  // emit_dot.cpp
  void dot(const Instr& i, ValueId into, bool accumulate);
  struct Operand {
    std::string pointer;                     // with its offset
    std::map<std::string, int64_t> strides;  // by the product's axis names
  };
  Operand operand(ValueId v, const std::string& contiguous);
  bool direct(ValueId v, const std::string& contiguous) const;

  std::string variable(ValueId v) const;
  std::string declare(const std::string& name, Type t, int64_t elements);
  void line(const std::string& text);
  void block(const std::string& text);  // several lines, indented as they are nested
  std::string fresh(const char* prefix) { return prefix + std::to_string(counter_++); }

  const tile::Module& m_;
  KernelInfo k_;
  Storage storage_;
  int number_;
  Names ivs_;
  std::map<std::string, std::string> tensor_names_;
  std::string out_, origin_;
  int indent_ = 1, counter_ = 0;
  int64_t local_bytes_ = 0, scratch_ = 0;
};

}  // namespace nautilus::cpu
