// What the cost model sees of a schedule: for each statement the loops around it and the tile it
// computes, with tile sizes as free numbers, so that thousands of size choices are costed without
// rebuilding a tree.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autosched/cost.h"

namespace nautilus::sched {

// Affine in a statement's dims: sum coef[k]*x_k + constant (floors are replaced by their slope).
struct Affine {
  std::vector<double> coef;
  double constant = 0;
  int single_dim() const;  // k if it is exactly x_k, else -1
  bool operator<(const Affine& o) const {
    return std::tie(coef, constant) < std::tie(o.coef, o.constant);
  }
  bool operator==(const Affine& o) const = default;
};

// One loop around a statement (grid dimensions too): it visits floor(e / step).
struct LoopDim {
  std::string member, axis;
  poly::Mapping mapping = poly::Mapping::Serial;
  Affine e;
  int64_t step = 1;  // 1: not a tile loop
};
struct TileDim {
  std::string member, axis;
  Affine e;
};
// An element access in terms of the statement's dims: one Affine a tensor dim.
struct AccessModel {
  const poly::Tensor* tensor = nullptr;
  std::vector<Affine> index;
  std::vector<bool> gathered;  // any element along this dim
  std::vector<bool> depends;   // by statement dim
  bool write = false;
  int read = -1;
};
struct StmtModel {
  const poly::Statement* stmt = nullptr;
  int kernel = 0;
  isl::set domain;                // parameters substituted
  std::vector<int64_t> lo, hi;    // bounding box of domain
  bool box = false;               // domain is its bounding box
  std::vector<bool> independent;  // by dim: its range is the same whatever the others are
  double instances = 0;
  std::vector<LoopDim> loops;  // outermost first
  std::vector<TileDim> tile;
  std::vector<bool> reduced;          // by dim
  std::vector<AccessModel> accesses;  // reads in order, then the write
  bool empty() const { return instances == 0; }
  int64_t extent(int dim) const { return hi[dim] - lo[dim] + 1; }
};
struct KernelModel {
  std::vector<int> stmts;  // in order of execution
};
// Facts of one statement that no schedule changes (accesses, box, instances); computed once a
// program.
struct ProgramFacts {
  poly::ProgramPtr program;
  poly::Sizes sizes;
  std::map<std::string, StmtModel> stmts;
  std::map<std::string, int64_t> elements;
  double compulsory_bytes = 0, useful_flops = 0;
};
struct StructureModel {
  poly::ProgramPtr program;  // first: holds the context
  std::shared_ptr<const ProgramFacts> facts;
  std::vector<StmtModel> stmts;
  std::vector<KernelModel> kernels;
  std::map<std::string, poly::Scope> scopes;
  std::vector<poly::Repair> repairs;
  poly::Scope scope(const std::string& tensor) const;
  int kernel_of_writer(const std::string& tensor) const;  // -1: an input
  int64_t elements(const poly::Tensor& t) const;          // its extents multiplied
};

// A Refusal if a size is not bound or a domain cannot be counted.
Expected<std::shared_ptr<const ProgramFacts>> program_facts(poly::ProgramPtr program);
Expected<StructureModel> structure_model(const poly::Schedule& s,
                                         std::shared_ptr<const ProgramFacts> facts);

// Work of the mathematics that no schedule avoids, by statement.
struct StatementWork {
  double flops = 0;         // all operations
  double matrix_flops = 0;  // sums of products (a matrix unit may take them)
  double special = 0;       // exponentials, logarithms and the like
  Type matrix_type = Type::F32;
};
StatementWork statement_work(const StmtModel& s);
// Sum of a product of two reads. The operands' type is the narrower of the two tensors'; `mixed` if
// they differ (the wide operand then is split into halves of the narrow type: two products).
bool is_product_sum(const StmtModel& s, Type* operand_type, bool* mixed = nullptr);

}  // namespace nautilus::sched
