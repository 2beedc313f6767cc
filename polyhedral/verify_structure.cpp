#include "polyhedral/verify_structure.h"

#include <algorithm>

namespace nautilus::poly::verifying {

namespace {

isl::map writes(const Program& p, const Statement& s) {
  return s.write.map.intersect_domain(s.domain).intersect_params(p.param_context);
}
isl::map reads(const Program& p, const Statement& s, const Access& a) {
  return a.map.intersect_domain(s.domain).intersect_params(p.param_context);
}

void unite(Support::Relations& into, const std::string& key, const isl::map& m) {
  const auto [at, fresh] = into.emplace(key, m);
  if (!fresh) at->second = at->second.unite(m).coalesce();
}

// "O[0, 3] from X[1] (with N=2)": one pair of a relation.
std::string pair_text(const isl::map& m) {
  const auto at = lexmin_point(m.wrap().flatten());
  if (!at) return "";
  const auto part = [&](const std::string& name, size_t first, size_t n) {
    std::string out = name + "[";
    for (size_t k = 0; k < n; ++k) out += (k ? ", " : "") + std::to_string(at->dims[first + k]);
    return out + "]";
  };
  const unsigned cut = n_in(m);
  return part(tuple_name_in(m), 0, cut) + " from " + part(tuple_name_out(m), cut, n_out(m)) +
         with_sizes(at->params);
}

}  // namespace

Support::Relations Support::of_instances(const Statement& s) {
  Relations out;
  for (const Access& a : s.reads) {
    const isl::map here = reads(p_, s, a);
    const Tensor* t = p_.tensor(a.tensor);
    if (given_.count(a.tensor) || !t || t->kind == TensorKind::Input) {
      unite(out, a.tensor, here);
      continue;
    }
    for (const auto& [leaf, below] : of_tensor(a.tensor)) {
      const isl::map through = here.apply_range(below);
      if (!through.is_empty()) unite(out, leaf, through);
    }
  }
  return out;
}

Support::Relations Support::of_tensor(const std::string& tensor) {
  if (const auto at = known_.find(tensor); at != known_.end()) return at->second;
  Relations out;
  if (!open_.insert(tensor).second) {
    cyclic_ = true;
    return out;
  }
  for (const Statement* s : writers_of(p_, tensor))
    for (const auto& [leaf, below] : of_instances(*s))
      unite(out, leaf, writes(p_, *s).reverse().apply_range(below));
  open_.erase(tensor);
  return known_[tensor] = out;
}

std::optional<std::string> dropped(const Program& p, const Support::Relations& before,
                                   const Support::Relations& after) {
  for (const auto& [leaf, was] : before) {
    const auto is = after.find(leaf);
    const isl::map lost =
        (is == after.end() ? was : was.subtract(is->second)).intersect_params(p.param_context);
    if (!lost.is_empty()) return pair_text(lost);
  }
  return std::nullopt;
}

std::optional<std::string> written_otherwise(const Program& origin, const Program& now,
                                             const std::string& tensor) {
  const auto before = writers_of(origin, tensor), after = writers_of(now, tensor);
  const auto reduces = [](const std::vector<const Statement*>& v) {
    return std::any_of(v.begin(), v.end(), [](const Statement* s) { return s->reduction; });
  };
  const auto range = [&](const Program& p, const std::vector<const Statement*>& v) {
    isl::set out = isl::set::empty(p.elements(*p.tensor(tensor)).space());
    for (const Statement* s : v) out = out.unite(writes(p, *s).range());
    return out.coalesce();
  };
  if (after.empty()) return tensor + " is not written any more";
  // A reduction defines every element; what it writes beyond its terms is its identity.
  const isl::set all =
      origin.elements(*origin.tensor(tensor)).intersect_params(origin.param_context);
  const isl::set was = reduces(before) ? all : range(origin, before),
                 is = reduces(after) ? all : range(now, after);
  if (!was.is_equal(is)) return "other elements of " + tensor + " are defined than before";
  if (reduces(after) || after.size() > 1) {
    if (after.size() > 1) {
      isl::set seen = isl::set::empty(all.space());
      for (const Statement* s : after) {
        const isl::set mine = writes(now, *s).range();
        if (!mine.is_disjoint(seen)) return "elements of " + tensor + " are written more than once";
        seen = seen.unite(mine);
      }
    }
    if (reduces(after)) return std::nullopt;
  }
  for (const Statement* s : after)
    if (!writes(now, *s).is_injective())
      return "elements of " + tensor + " are written more than once by " + s->name;
  return std::nullopt;
}

namespace {

// The given elements that one instance reads, as one tuple in the order of the tensors' names;
// nothing if a tensor is read more than once.
struct Tuple {
  std::vector<std::string> tensors;
  isl::map map;  // { S[..] -> [X[..] -> [.. ]] }
};

void gather(const Program& p, const Names& given, const Statement& s, const isl::map& here,
            std::map<std::string, isl::map>& out, bool& twice, int depth) {
  for (const Access& a : s.reads) {
    const isl::map m = here.apply_range(reads(p, s, a));
    const Tensor* t = p.tensor(a.tensor);
    if (given.count(a.tensor) || !t || t->kind == TensorKind::Input) {
      twice = twice || !a.gathers.empty() || !out.emplace(a.tensor, m).second;
      continue;
    }
    const auto from = writers_of(p, a.tensor);
    if (from.size() == 1 && !from[0]->reduction && depth > 0)
      gather(p, given, *from[0], m.apply_range(writes(p, *from[0]).reverse()), out, twice,
             depth - 1);
  }
}

std::optional<Tuple> tuple_of(const Program& p, const Names& given, const Statement& s,
                              const std::vector<std::string>& only = {}) {
  std::map<std::string, isl::map> all;
  bool twice = false;
  gather(p, given, s, s.domain.identity(), all, twice, 16);
  if (twice) return std::nullopt;
  Tuple out;
  for (const auto& [tensor, map] : all) {
    if (!only.empty() && std::find(only.begin(), only.end(), tensor) == only.end()) continue;
    out.map = out.tensors.empty() ? map : out.map.range_product(map);
    out.tensors.push_back(tensor);
  }
  if (out.tensors.empty()) return std::nullopt;
  return out;
}

// Reductions that a reduction's instances read through point-wise statements: { R -> partial }.
void partials(const Program& p, const Names& given, const Statement& s, const isl::map& here,
              std::vector<std::pair<const Statement*, isl::map>>& out, int depth) {
  for (const Access& a : s.reads) {
    if (given.count(a.tensor) || depth == 0) continue;
    const auto from = writers_of(p, a.tensor);
    if (from.size() != 1) continue;
    const isl::map there =
        here.apply_range(reads(p, s, a)).apply_range(writes(p, *from[0]).reverse());
    if (from[0]->reduction)
      out.emplace_back(from[0], there);
    else
      partials(p, given, *from[0], there, out, depth - 1);
  }
}

// A combination reads no given element that varies along what it folds.
bool combines(const Program& p, const Statement& c, const Names& given) {
  const isl::map element = writes(p, c).reverse();
  return std::all_of(c.reads.begin(), c.reads.end(), [&](const Access& a) {
    const Tensor* t = p.tensor(a.tensor);
    const bool leaf = given.count(a.tensor) || (t && t->kind == TensorKind::Input);
    return !leaf || element.apply_range(reads(p, c, a)).is_single_valued();
  });
}

}  // namespace

std::optional<std::string> parts_differ(const Program& origin, const Program& now,
                                        const std::string& tensor, const Names& given) {
  const auto before = writers_of(origin, tensor), after = writers_of(now, tensor);
  if (before.size() != 1 || after.size() != 1 || !before[0]->reduction || !after[0]->reduction)
    return std::nullopt;
  const Statement &r = *before[0], &c = *after[0];
  if (!combines(now, c, given)) return std::nullopt;
  std::vector<std::pair<const Statement*, isl::map>> parts;
  partials(now, given, c, c.domain.identity(), parts, 16);
  for (const auto& [part, read] : parts) {
    if (part->reduction->op != r.reduction->op) continue;
    const auto mine = tuple_of(now, given, *part);
    const auto theirs = mine ? tuple_of(origin, given, r, mine->tensors) : std::nullopt;
    if (!theirs || theirs->tensors != mine->tensors) continue;
    const isl::map known = writes(origin, r).range_product(theirs->map);
    if (!known.is_injective()) continue;
    const isl::map element = read.reverse().apply_range(writes(now, c));  // { part -> element }
    if (!element.is_single_valued()) continue;
    const isl::map now_known = element.range_product(mine->map);
    if (!now_known.is_injective())
      return "parts of " + tensor + " overlap: " + part->name + " takes terms twice";
    if (!now_known.range().is_equal(known.range()))
      return "the parts of " + tensor + " by " + part->name + " do not cover " + r.name;
  }
  return std::nullopt;
}

std::vector<const Statement*> writers_of(const Program& p, const std::string& tensor) {
  std::vector<const Statement*> out;
  for (const Statement& s : p.statements)
    if (s.write.tensor == tensor) out.push_back(&s);
  return out;
}

}  // namespace nautilus::poly::verifying
