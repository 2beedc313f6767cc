// Instructions of the memory IR for a tile kernel whose values have their placements. Loads that
// products take are copies to shared buffers of one slot; nothing waits for anything yet.
#pragma once

#include "compiler/memory/builder.h"
#include "compiler/memory/checks.h"
#include "compiler/memory/lower/layouts.h"

namespace nautilus::memory::lowering {

class Emitter {
 public:
  // `tensors`: the module whose tensors are meant (and its target).
  Emitter(const Module& tensors, const tile::Kernel& t, const Layouts& layouts)
      : m_(tensors), t_(t), l_(layouts) {}
  Expected<Kernel> run();

 private:
  // What is known of a tile value at a nesting of regions.
  struct Level {
    std::map<TileId, std::vector<ValueId>> values;  // in registers, one a placement
    std::map<TileId, std::string> buffers;          // all of it in shared memory
  };
  // What regions further inside want of a value: made where it is defined.
  struct Demand {
    std::vector<Placement> places;
    bool shared = false;
  };
  struct Sum {  // a product and what it is added to
    const tile::Instr* dot = nullptr;
    TileId onto = -1;
  };

  const Module& m_;
  const tile::Kernel& t_;
  const Layouts& l_;
  Kernel k_;
  Builder* b_ = nullptr;
  std::vector<Level> levels_;
  std::map<TileId, Demand> demands_;
  std::set<const tile::Instr*> selects_;  // branches on data that both sides compute
  bool again_ = false;
  const tile::Instr* divergent_ = nullptr;  // branch on data around what is emitted
  std::optional<Refusal> error_;
  std::map<std::string, int64_t> uniform_;  // names in scope -> divisor
  std::set<std::string> names_;             // taken
  std::map<TileId, double> constants_;
  std::map<std::pair<std::string, std::string>, Exchange> moves_;
  std::map<TileId, const tile::Instr*> loads_, defs_;
  std::map<TileId, Sum> sums_;     // by the result of the addition
  std::set<TileId> left_out_;      // products that are part of a sum, votes of branches
  std::set<TileId> staged_;        // loads that products take
  std::set<std::string> written_;  // tensors that the kernel stores to
  std::map<std::string, std::string> shared_tensors_;  // tile buffer -> memory buffer

  // emit.cpp: the walk
  void analyze();
  void clear_partial();
  void analyze(const tile::Region& r, const std::map<TileId, int>& uses);
  void region(const tile::Region& r);
  void instr(const tile::Instr& i);
  void map(const tile::Instr& i);
  void mask(const tile::Instr& i);
  void reduce(const tile::Instr& i);
  void rename(const tile::Instr& i);
  void loop(const tile::Instr& i);
  void branch(const tile::Instr& i);
  void branch_on_data(const tile::Instr& i);
  std::vector<ValueId> inside(Builder& b, const tile::Region& r, const std::vector<ValueId>& args,
                              const std::vector<TileId>& results);

  // emit_values.cpp: values where they are wanted
  const tile::TileType& type(TileId v) const { return t_.types.at(v); }
  FragmentType fragment(TileId v) const;                      // as inferred
  FragmentType fragment(TileId v, const Placement& p) const;  // elsewhere
  void define(TileId v, ValueId is);
  void defined_in_shared(TileId v, const std::string& buffer);
  ValueId get(TileId v, const Placement& p);
  ValueId get_as(TileId v, const FragmentType& t);  // cast and broadcast
  ValueId broadcast(ValueId v, const FragmentType& t);
  ValueId convert(TileId v, const Placement& p);
  bool registers_reach(TileId v, const Placement& p);         // without a trip
  Exchange move(const Placement& from, const Placement& to);  // exchange(), remembered
  std::string in_shared(TileId v);
  std::string trip(TileId of, ValueId v);  // a value of the tile's shape, stored
  std::optional<std::pair<ValueId, size_t>> known(TileId v) const;
  std::optional<std::pair<std::string, size_t>> known_buffer(TileId v) const;
  std::string fresh(const std::string& base);
  void refuse(const tile::Instr& i, std::string why, std::string suggest);

  // emit_memory.cpp: loads, stores, copies
  void load(const tile::Instr& i);
  ValueId load_as(const tile::Instr& i, const Placement& p);
  void stage(const tile::Instr& i);
  void stage_bulk(const tile::Instr& i);
  void store(const tile::Instr& i);
  std::string buffer_for(const std::string& base, Type elem, const std::vector<Axis>& axes,
                         const std::string& inner, const std::map<std::string, int64_t>& needed);
  std::map<std::string, int64_t> needed_extents(TileId v) const;
  const std::string& shared_tensor(const std::string& name);
  Scope scope() const { return Scope{m_, k_, nullptr, {80, false, 0}, uniform_, {}}; }
  void widen_global(Instr& i, const FragmentType& t);
  void widen_shared(Instr& i, const FragmentType& t);  // vectors, not matrices
  ValueId load_buffer(const std::string& buffer, std::vector<IndexExpr> index, FragmentType t,
                      bool matrix);

  // emit_products.cpp
  void product(const tile::Instr& dot, TileId result, TileId onto);
  void matrix_product(const Product& p, const tile::Instr& dot, TileId result, TileId onto);
  void warpgroup_product(const Product& p, TileId result, TileId onto);
  void lane_product(const tile::Instr& dot, TileId result, TileId onto);
  std::vector<ValueId> factors(ValueId v, Type narrow, bool split);
};

}  // namespace nautilus::memory::lowering
