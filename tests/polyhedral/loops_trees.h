// Hand-made schedule trees for the tests of loops and lowering.
#pragma once

#include "polyhedral/loops.h"
#include "tests/polyhedral/schedule_programs.h"

namespace nautilus::poly::testing_trees {

// The program with these sizes fixed.
inline ProgramPtr fixed(const ProgramPtr& p, const Sizes& sizes) {
  Program q = *p;
  q.param_context = fix_params(q.param_context, sizes);
  return std::make_shared<const Program>(q);
}

// Writes trees as text: each call makes a node with a fresh id.
class Tree {
 public:
  explicit Tree(ProgramPtr p) : p_(std::move(p)) {}

  // A member "name": for each statement its affine text over the statement's dims, "floor(i/4)".
  BandMember member(const std::string& name, const std::map<std::string, std::string>& at,
                    Mapping mapping, int64_t step = 1) const {
    BandMember m;
    m.name = name;
    m.mapping = mapping;
    m.step = step;
    for (const auto& [stmt, text] : at) {
      std::string dims, params;
      for (const std::string& d : dim_names(p_->statement(stmt)->domain))
        dims += (dims.empty() ? "" : ",") + d;
      for (const std::string& q : p_->params) params += (params.empty() ? "" : ",") + q;
      m.schedule[stmt] = isl::aff(p_->context->get(), "[" + params + "] -> { " + stmt + "[" + dims +
                                                          "] -> [(" + text + ")] }");
    }
    return m;
  }
  // The same text for every statement.
  BandMember member(const std::string& name, const std::vector<std::string>& stmts,
                    const std::string& text, Mapping mapping = Mapping::Serial,
                    int64_t step = 1) const {
    std::map<std::string, std::string> at;
    for (const std::string& s : stmts) at[s] = text;
    return member(name, at, mapping, step);
  }
  NodePtr band(std::vector<BandMember> members, NodePtr child) {
    return make_band(std::move(members), std::move(child), next_++);
  }
  NodePtr leaf() { return make_leaf(next_++); }
  NodePtr filter(const std::vector<std::string>& stmts, NodePtr child) {
    isl::union_set u = p_->statement(stmts[0])->domain.to_union_set();
    for (size_t k = 1; k < stmts.size(); ++k)
      u = u.unite(p_->statement(stmts[k])->domain.to_union_set());
    return make_filter(u, std::move(child), next_++);
  }
  NodePtr sequence(std::vector<NodePtr> filters) {
    return make_sequence(std::move(filters), next_++);
  }
  // A Tile band of one statement over a leaf: {"i1", "i"} ...
  NodePtr tile(const std::string& stmt,
               const std::vector<std::pair<std::string, std::string>>& axes) {
    std::vector<BandMember> members;
    for (const auto& [name, text] : axes)
      members.push_back(member(name, std::vector<std::string>{stmt}, text, Mapping::Tile));
    return filter({stmt}, band(std::move(members), leaf()));
  }
  Schedule done(NodePtr root, std::map<std::string, Scope> scopes = {}) const {
    Schedule s;
    s.program = s.origin = p_;
    s.root = std::move(root);
    s.next_id = next_;
    s.scopes = std::move(scopes);
    return s;
  }
  NodeId last() const { return next_ - 1; }

 private:
  ProgramPtr p_;
  NodeId next_ = 1;
};

// FlashAttention over the statements of testing_programs::attention: one kernel, grid [h, i0], loop
// j0.
inline Schedule flash(const ProgramPtr& p, int64_t ti, int64_t tj, NodeId* band_id = nullptr) {
  Tree t(p);
  const std::vector<std::string> all{"S_S_sum", "S_S", "S_m", "S_P", "S_l", "S_Oa", "S_O"};
  const std::vector<std::string> in(all.begin(), all.end() - 1);
  auto floor_of = [](const std::string& x, int64_t n) {
    return "floor(" + x + "/" + std::to_string(n) + ")";
  };
  NodePtr body = t.sequence({
      t.tile("S_S_sum", {{"i1", "i"}, {"j1", "j"}, {"d1", "d"}}),
      t.tile("S_S", {{"i1_S", "i"}, {"j1_S", "j"}}),
      t.tile("S_m", {{"i1_m", "i"}, {"j1_m", "j"}}),
      t.tile("S_P", {{"i1_P", "i"}, {"j1_P", "j"}}),
      t.tile("S_l", {{"i1_l", "i"}, {"j1_l", "j"}}),
      t.tile("S_Oa", {{"i1_Oa", "i"}, {"j1_Oa", "j"}, {"d1_Oa", "d"}}),
  });
  NodePtr loop = t.band({t.member("j0", in, floor_of("j", tj), Mapping::Serial, tj)}, body);
  if (band_id) *band_id = t.last();
  NodePtr grid =
      t.band({t.member("h0", all, "h", Mapping::Grid),
              t.member("i0", all, floor_of("i", ti), Mapping::Grid, ti)},
             t.sequence({t.filter(in, loop), t.tile("S_O", {{"i1_O", "i"}, {"d1_O", "d"}})}));
  std::map<std::string, Scope> scopes;
  for (const char* r : {"S_sum", "S", "m", "P", "l", "Oa"}) scopes[r] = Scope::Register;
  return t.done(grid, scopes);
}

}  // namespace nautilus::poly::testing_trees
