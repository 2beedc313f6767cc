// One kernel: walks its loops and builds the tile program. Split over walk.cpp (loops, branches,
// carried values), statements.cpp, expressions.cpp, repairs.cpp and lazy.cpp.
#pragma once

#include "compiler/lower/analysis.h"
#include "compiler/lower/environment.h"
#include "compiler/lower/lower.h"

namespace nautilus::lower {

// What went wrong; `demote`: a memory-scoped reduction that may be tried without keeping it in a
// value.
struct Failure {
  Refusal refusal;
  std::string demote;
};

class KernelLowering {
 public:
  KernelLowering(const Analysis& a, const KernelPlan& plan, const tile::Module& m,
                 const LowerOptions& options, tile::Kernel& k)
      : a_(a), plan_(plan), module_(m), options_(options), kernel_(k) {}
  // Fills the kernel's grid and body.
  std::optional<Failure> run(const LoopPtr& root);
  const std::set<std::string>& notes() const { return notes_; }  // see Module::notes

 private:
  using ValueId = tile::ValueId;
  using Loop = poly::Loop;

  // --- walk.cpp
  void walk(const LoopPtr& l);
  void walk_for(const Loop& f);
  void walk_body(const Loop& f);  // with the residents of its depth entered
  void walk_if(const Loop& i);
  std::vector<std::string> enter(size_t depth, const std::vector<LoopPtr>& children);
  void leave(const std::vector<std::string>& keys);
  std::optional<Shape> entry_shape(const Resident& r, const std::vector<LoopPtr>& children);
  std::set<std::string> modified(const LoopPtr& l) const;  // keys of the environment
  ValueId defined(const std::string& key);  // its value; zeros if nothing was written yet
  void merge_branches(tile::Instr branch, const std::set<std::string>& keys,
                      const std::vector<Env>& after);
  bool carry(const Loop& f, const std::vector<std::vector<std::string>>& groups,
             std::vector<std::vector<std::string>>& finer);

  // --- statements.cpp
  // A statement at one place of the loops: its dims, accesses and axes in terms of loop variables.
  struct At {
    const Loop* loop = nullptr;
    const StatementInfo* info = nullptr;
    std::map<std::string, IndexExpr> dims;  // dim name -> base + axis
    std::map<std::string, int64_t> axes;    // name -> extent
    Cond mask = Cond::always();
    std::map<Expr, ValueId> values;  // of the statement's expressions
    ValueId guard = -1;
    std::vector<IndexExpr> index(const std::vector<IndexExpr>& over_dims) const;
  };
  At locate(const Loop& l) const;
  void statement(const Loop& l);
  void pointwise(At& at);
  void reduction(At& at);
  ValueId reduced_term(At& at, const std::set<std::string>& axes, Type acc);
  ValueId product(At& at, const std::set<std::string>& axes, const Cond& before, Type acc);
  void write_pointwise(At& at, ValueId v);
  void fold(At& at, ValueId term, const Cond& after);
  ValueId read(At& at, int k);
  ValueId load(At& at, const std::string& tensor, const std::vector<IndexExpr>& index,
               const poly::Access* access, const Cond& mask);
  void store(const std::string& tensor, const std::vector<IndexExpr>& index, ValueId v, Cond cond,
             const std::map<std::string, int64_t>& axes);
  Cond in_bounds(const std::string& tensor, const std::vector<IndexExpr>& index,
                 const std::map<std::string, int64_t>& axes) const;
  ValueId as_shape(const Entry& e, const Shape& to, const std::string& tensor);  // renamed value
  Ranges ranges_with(const std::map<std::string, int64_t>& axes) const;

  // --- expressions.cpp
  ValueId lower(At& at, const Expr& e);
  ValueId lower_with(const Expr& e,
                     const std::map<std::string, ValueId>& vars);  // free variables only
  ValueId operation(nautilus::Op op, Type type, std::vector<ValueId> args);
  ValueId combine(const poly::Reduction& r, ValueId acc, ValueId value, Type type);
  ValueId constant(double v, Type t);
  bool is_symbolic(const std::string& size) const;
  ValueId size_value(const std::string& size, Type t);  // of one that stays symbolic
  ValueId cast(ValueId v, Type t);
  Type elem(ValueId v) const { return kernel_.types.at(v).elem; }

  // --- repairs.cpp
  static std::string reference(size_t repair, const std::string& source);
  bool is_target(size_t repair, const std::string& tensor) const;
  void enter_references(const std::vector<std::string>& entered);
  void synchronize(const std::string& tensor);  // applies pending corrections of a target
  void correct(size_t repair);
  bool pending(size_t repair, const std::string& source) const;
  bool begun(size_t repair) const;
  ValueId evaluated(size_t repair, size_t target, const Expr& e);
  ValueId at_rest(const poly::Statement& reader, const std::string& source,
                  ValueId value);  // see Repair::rest

  // --- lazy.cpp
  bool refers(const poly::Statement& reader, const std::string& tensor) const;
  bool is_lazy(size_t repair, const std::string& source) const;
  std::set<std::string> lazy_keys(const std::string& source) const;
  void settle(const std::string& source);    // moves its reference if that is too far from it
  void move(const std::string& source);      // moves it, with all that follows
  void complete(const std::string& tensor);  // an accumulator, for who reads it from outside

  tile::Builder& builder() { return *builder_; }
  // Runs fn with a builder on a new region.
  template <class Fn>
  tile::Region in_region(Fn&& fn) {
    tile::Region r;
    tile::Builder b(kernel_, r);
    b.module = &module_;
    tile::Builder* outer = builder_;
    if (outer) {
      b.origin = outer->origin;
      b.node = outer->node;
    }
    builder_ = &b;
    fn(r);
    builder_ = outer;
    return r;
  }
  void fail(const std::string& where, const std::string& why, const std::string& demote = "",
            const std::string& suggest = "") {
    if (!failure_) failure_ = Failure{{"lower the schedule", where, why, suggest}, demote};
  }
  bool can_demote(const std::string& tensor) const {
    auto it = plan_.residents.find(tensor);
    return it != plan_.residents.end() && it->second.store;
  }

  const Analysis& a_;
  const KernelPlan& plan_;
  const tile::Module& module_;
  const LowerOptions& options_;
  tile::Kernel& kernel_;
  tile::Builder* builder_ = nullptr;
  Env env_;
  Ranges ranges_;                           // loop variables in scope
  std::map<std::string, IndexExpr> subst_;  // loops with one iteration, shifted grid loops
  std::map<ValueId, Cond> zero_filled_;     // loads: lanes outside are 0
  std::optional<Failure> failure_;
  std::set<std::string> notes_;
  std::set<std::string> settling_;  // lazy sources whose reference is being looked after
};

}  // namespace nautilus::lower
