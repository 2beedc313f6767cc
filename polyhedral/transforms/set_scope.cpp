#include "polyhedral/transforms/set_scope.h"

#include <algorithm>
#include <set>

#include "polyhedral/context_hash.h"
#include "polyhedral/transforms/edit.h"

namespace nautilus::poly {

namespace {

// One access to the tensor at one leaf: the statement, the way down to it, the map.
struct Use {
  const Statement* statement;
  const Access* access;
  bool write;
  std::vector<const Node*> path;  // root .. leaf
};

void leaves_of(const Node& n, const std::string& stmt, std::vector<const Node*> path,
               std::vector<std::vector<const Node*>>& out) {
  if (n.kind == NodeKind::Filter && !n.parts.count(stmt)) return;
  path.push_back(&n);
  if (n.children.empty()) out.push_back(path);
  for (const NodePtr& c : n.children) leaves_of(*c, stmt, path, out);
}

std::vector<Use> uses_of(const Schedule& s, const std::string& tensor) {
  std::vector<Use> out;
  for (const Statement& st : s.program->statements) {
    std::vector<std::pair<const Access*, bool>> accesses;
    if (st.write.tensor == tensor) accesses.push_back({&st.write, true});
    for (const Access& a : st.reads)
      if (a.tensor == tensor) accesses.push_back({&a, false});
    if (accesses.empty()) continue;
    std::vector<std::vector<const Node*>> leaves;
    leaves_of(*s.root, st.name, {}, leaves);
    for (const auto& [a, write] : accesses)
      for (const auto& path : leaves) out.push_back({&st, a, write, path});
  }
  return out;
}

// Dims of the statement that a function uses (through divisions too).
std::set<size_t> dims_in(const isl::aff& a) {
  const LinearAff f = linear_form(a);
  std::set<size_t> out;
  auto add = [&](const std::vector<int64_t>& v) {
    for (size_t k = 0; k < v.size(); ++k)
      if (v[k] != 0) out.insert(k);
  };
  add(f.dims);
  for (const LinearDiv& d : f.div_defs) add(d.dims);
  return out;
}

// Dims of the statement that choose the element.
std::set<size_t> dims_of_element(const Use& u) {
  std::set<size_t> out;
  u.access->map.as_pw_multi_aff().foreach_piece([&](isl::set, isl::multi_aff ma) {
    for (unsigned k = 0; k < ma.size(); ++k)
      for (size_t d : dims_in(ma.at(static_cast<int>(k)))) out.insert(d);
  });
  return out;
}

bool disjoint(const std::set<size_t>& a, const std::set<size_t>& b) {
  return std::none_of(a.begin(), a.end(), [&](size_t d) { return b.count(d) != 0; });
}

// Nodes that all uses share, root first.
size_t common_depth(const std::vector<Use>& uses) {
  size_t depth = 0;
  while (std::all_of(uses.begin(), uses.end(), [&](const Use& u) {
    return depth < u.path.size() && u.path[depth] == uses[0].path[depth];
  }))
    ++depth;
  return depth;
}

// { T[..] -> [member's value at the accesses] }
isl::map element_to_loop(const Use& u, const isl::aff& f) {
  return u.access->map.intersect_domain(u.statement->domain).reverse().apply_range(f.as_map());
}

// A loop around all uses must run over the element itself, or over the reduced dims of its
// reduction: it then carries the accumulator.
std::optional<std::string> common_loop_problem(const std::vector<Use>& uses, const BandMember& m) {
  isl::map all;
  for (const Use& u : uses) {
    const isl::aff& f = m.schedule.at(u.statement->name);
    if (u.write && u.statement->reduction && disjoint(dims_in(f), dims_of_element(u)) &&
        !f.is_cst())
      return std::nullopt;
    isl::map one = element_to_loop(u, f);
    all = all.is_null() ? one : all.unite(one);
  }
  if (all.is_single_valued()) return std::nullopt;
  return "loop " + m.name +
         " is around all accesses, but an element is used in several of its iterations and only a "
         "reduction's "
         "accumulator may be carried";
}

// A loop around one use only must leave the element tile alone.
std::optional<std::string> own_loop_problem(const Use& u, const BandMember& m) {
  if (m.mapping == Mapping::Tile) return std::nullopt;
  const isl::aff& f = m.schedule.at(u.statement->name);
  if (disjoint(dims_in(f), dims_of_element(u))) return std::nullopt;
  // A loop with one iteration for each iteration around it would also do, but then it is better
  // removed.
  return "loop " + m.name + " around " + u.statement->name +
         " selects the element, and the other accesses are outside it";
}

std::optional<std::string> not_in_registers(const std::vector<Use>& uses) {
  for (const Use& u : uses)
    if (!u.access->gathers.empty()) return u.statement->name + " gathers its elements by index";
  const size_t shared = common_depth(uses);
  for (size_t d = 0; d < shared; ++d)
    for (const BandMember& m : uses[0].path[d]->members)
      if (auto why = m.mapping == Mapping::Tile ? std::nullopt : common_loop_problem(uses, m))
        return why;
  for (const Use& u : uses)
    for (size_t d = shared; d < u.path.size(); ++d)
      for (const BandMember& m : u.path[d]->members)
        if (auto why = own_loop_problem(u, m)) return why;
  return std::nullopt;
}

}  // namespace

namespace {

std::string words(const std::string& tensor, Scope scope) {
  return "put " + tensor + " in " + std::string(scope_name(scope)) + " scope";
}

// The scope noted, if the tensor may have one at all.
Expected<Schedule> noted(const Schedule& s, const std::string& tensor, Scope scope) {
  const std::string what = words(tensor, scope);
  const Tensor* t = s.program->tensor(tensor);
  if (!t) {
    std::string temps;
    for (const Tensor& u : s.program->tensors)
      if (u.kind == TensorKind::Temp) temps += (temps.empty() ? "" : ", ") + u.name;
    return edit::refused(what, "", "there is no tensor of that name", "temporaries: " + temps);
  }
  Schedule out = s;
  if (scope == Scope::Global) {
    out.scopes.erase(tensor);
    return out;
  }
  if (t->kind != TensorKind::Temp)
    return edit::refused(what, "tensor " + tensor,
                         std::string("it is an ") +
                             (t->kind == TensorKind::Input ? "input" : "output") +
                             ", which lives in memory",
                         "only temporaries have a scope");
  out.scopes[tensor] = scope;
  return out;
}

// What both forms of the transform take.
std::pair<std::string, Scope> asked_for(const nlohmann::json& p) {
  const nlohmann::json& name = p.at("tensor");
  return {name.is_string() ? name.get<std::string>() : name.dump(),
          *scope_from_name(p.at("scope").get<std::string>())};
}

}  // namespace

Expected<Schedule> set_scope(const Schedule& s, const std::string& tensor, Scope scope) {
  const std::string what = words(tensor, scope);
  const Expected<Schedule> out = noted(s, tensor, scope);
  if (!out || scope == Scope::Global) return out;
  const std::vector<Use> uses = uses_of(s, tensor);
  std::set<const Node*> kernels;
  std::string names;
  for (const Use& u : uses)
    if (u.path.size() > 1 && kernels.insert(u.path[1]).second)
      names += (names.empty() ? "" : ", ") + std::to_string(u.path[1]->id);
  if (kernels.size() > 1)
    return edit::refused(what, "tensor " + tensor,
                         "it is used in several kernels (top-level nodes " + names + ")",
                         "fuse them first, or leave it global");
  if (scope == Scope::Register && !uses.empty())
    if (auto why = not_in_registers(uses))
      return edit::refused(what, "tensor " + tensor, *why,
                           "fuse its accesses into common loops, and map the loops inside to tile");
  return out;
}

TransformInfo info_set_scope() {
  TransformInfo t;
  t.name = "set_scope";
  t.summary = "choose where a temporary lives: global, shared, register";
  t.doc =
      "global: memory. shared: a scratch buffer of the block; all uses in one kernel. register: a "
      "tile value that never touches memory; "
      "the loops around each access must determine which elements it holds: loops around all "
      "accesses run over the element, or over the "
      "reduced dims of its reduction (an accumulator, carried), loops around one access do not "
      "touch the element. The order of execution "
      "does not change.";
  t.before = "1: sequence ...";
  t.after = "1: sequence ...\nscope S: register";
  ParamInfo tensor{"tensor", ParamKind::Name, "a temporary", 0, 0, {}, false, ParamRole::Temporary};
  t.params = {tensor,
              {"scope",
               ParamKind::Choice,
               "where it lives",
               0,
               0,
               {"global", "shared", "register"},
               false,
               ParamRole::Value,
               "register"}};
  t = edit::with_edit(std::move(t), [](const Schedule& s, const nlohmann::json& p) {
    const auto [tensor, scope] = asked_for(p);
    return set_scope(s, tensor, scope);
  });
  t.edit = [](const Schedule& s, const nlohmann::json& p) {
    const auto [tensor, scope] = asked_for(p);
    return noted(s, tensor, scope);
  };
  return t;
}

}  // namespace nautilus::poly
