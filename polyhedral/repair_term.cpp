// Terms seen from the target: pointwise statements inlined, accesses composed, one name a distinct
// value.
#include <algorithm>

#include "polyhedral/repair_internal.h"

namespace nautilus::poly::algebra {
namespace {

bool contains(const std::vector<std::string>& v, const std::string& s) {
  return std::find(v.begin(), v.end(), s) != v.end();
}

class Inliner {
 public:
  Inliner(const Program& p, const Statement& target, const std::vector<std::string>& sources,
          const std::vector<std::string>& via, std::vector<Leaf> leaves)
      : p_(p), target_(target), via_(via), leaves_(std::move(leaves)) {
    for (Leaf& l : leaves_)
      l.map = l.map.set_domain_tuple(target.name);  // another statement over the same domain
    for (const std::string& s : sources)
      if (const Statement* st = p.statement(s)) source_tensors_.push_back(st->write.tensor);
  }

  Expected<InlinedTerm> run() {
    const isl::map here = target_.domain.identity();
    Expr g = inline_expr(target_, target_.expr, here, 0);
    if (!failed_ && target_.guard) add_guard(inline_expr(target_, target_.guard, here, 0));
    if (failed_) return refusal_;
    return InlinedTerm{g, guard_, leaves_};
  }

 private:
  const Program& p_;
  const Statement& target_;
  const std::vector<std::string>& via_;
  std::vector<std::string> source_tensors_;
  std::vector<Leaf> leaves_;
  Expr guard_;
  bool failed_ = false;
  Refusal refusal_;

  Expr fail(std::string why, std::string suggest = "") {
    if (!failed_)
      refusal_ = {"inline what " + target_.name + " reads", target_.name, std::move(why),
                  std::move(suggest)};
    failed_ = true;
    return Expr::constant(0);
  }

  void add_guard(const Expr& g) {
    if (failed_ || guard_ == g) return;
    guard_ = guard_ ? Expr::make(Op::And, {guard_, g}) : g;
  }

  // The expression of statement s at the instance that `to` relates the target's instance to.
  Expr inline_expr(const Statement& s, const Expr& e, const isl::map& to, int depth) {
    if (depth > 64) return fail("its chain of pointwise statements is longer than 64");
    return substitute(e, [&](const Expr& x) -> std::optional<Expr> {
      if (failed_) return x;
      if (x->op == Op::Read) return inline_read(s, static_cast<size_t>(x->index), to, depth);
      if (x->op == Op::Index) return leaf_expr(index_leaf(s, static_cast<size_t>(x->index), to));
      return std::nullopt;
    });
  }

  Expr inline_read(const Statement& s, size_t k, const isl::map& to, int depth) {
    const Access& a = s.reads.at(k);
    const Statement* writer = a.gathers.empty() ? via_writer(a.tensor) : nullptr;
    if (!writer) return leaf_expr(access_leaf(s, k, to));
    const isl::map element = to.apply_range(a.map);
    const isl::map at =
        element.apply_range(writer->write.map.reverse()).intersect_range(writer->domain);
    if (!at.is_single_valued())
      return fail(writer->name + " writes an element of " + a.tensor + " more than once");
    Expr v = inline_expr(*writer, writer->expr, at, depth + 1);
    if (!failed_ && writer->guard) add_guard(inline_expr(*writer, writer->guard, at, depth + 1));
    const Tensor* t = p_.tensor(a.tensor);
    if (!failed_ && t && t->type != v->type)
      v = Expr::cast(v, t->type);  // what storing and reading back does
    return v;
  }

  // The pointwise statement on the way that writes this tensor, if it is the only writer.
  const Statement* via_writer(const std::string& tensor) const {
    const Statement* found = nullptr;
    int writers = 0;
    for (const Statement& s : p_.statements) {
      if (s.write.tensor != tensor) continue;
      ++writers;
      if (!s.reduction && contains(via_, s.name)) found = &s;
    }
    return writers == 1 ? found : nullptr;
  }

  size_t access_leaf(const Statement& s, size_t k, const isl::map& to) {
    const Access& a = s.reads.at(k);
    Leaf leaf;
    leaf.tensor = a.tensor;
    leaf.map = to.apply_range(a.map).coalesce();
    for (const Access::Gather& g : a.gathers)
      leaf.gathers.emplace_back(g.dim,
                                static_cast<int>(access_leaf(s, static_cast<size_t>(g.read), to)));
    const Tensor* t = p_.tensor(a.tensor);
    leaf.type = t ? t->type : Type::F32;
    return find_or_add(std::move(leaf));
  }

  size_t index_leaf(const Statement& s, size_t k, const isl::map& to) {
    Leaf leaf;
    leaf.type = Type::I32;
    const isl::pw_multi_aff there = to.as_pw_multi_aff();
    const isl::pw_aff value = isl::pw_aff(s.indices.at(k)).pullback(there);
    leaf.map = value.as_map().coalesce();
    const isl::pw_aff anywhere = value.gist(value.domain());  // an aff holds for all instances
    if (anywhere.n_piece() == 1) {
      leaf.index = anywhere.as_aff();
    } else {
      fail("an index value is piecewise after inlining");
    }
    return find_or_add(std::move(leaf));
  }

  size_t find_or_add(Leaf leaf) {
    for (size_t i = 0; i < leaves_.size(); ++i) {
      const Leaf& l = leaves_[i];
      if (l.tensor == leaf.tensor && l.gathers == leaf.gathers &&
          l.index.has_value() == leaf.index.has_value() && l.map.is_equal(leaf.map))
        return i;
    }
    if (contains(source_tensors_, leaf.tensor)) {
      name_source(leaf);
    } else {
      int n = 0;
      for (const Leaf& l : leaves_) n += l.name[0] == 'c' && l.key == "c";
      leaf.name = "c" + std::to_string(n);
      leaf.key = "c";
    }
    leaves_.push_back(std::move(leaf));
    return leaves_.size() - 1;
  }

  // One element of the source must serve the whole accumulation of one element of the target.
  void name_source(Leaf& leaf) {
    leaf.name = leaf.tensor;
    leaf.key = "source";
    for (const Leaf& l : leaves_)
      if (l.tensor == leaf.tensor)
        fail(target_.name + " reads two different elements of " + leaf.tensor +
                 ", which is still being accumulated",
             "keep " + leaf.tensor + " in a loop of its own");
    if (!leaf.gathers.empty())
      fail(leaf.tensor + " is read at an index that is itself read from memory");
    else if (!target_.write.map.reverse().apply_range(leaf.map).is_single_valued())
      fail("the element of " + leaf.tensor + " that is read changes while one element of " +
               target_.write.tensor + " is accumulated",
           "keep " + leaf.tensor + " in a loop of its own");
  }

  Expr leaf_expr(size_t i) { return Expr::var(leaves_[i].name, leaves_[i].type); }
};

}  // namespace

Expected<InlinedTerm> inline_term(const Program& p, const Statement& target,
                                  const std::vector<std::string>& sources,
                                  const std::vector<std::string>& via, std::vector<Leaf> leaves) {
  try {
    return Inliner(p, target, sources, via, std::move(leaves)).run();
  } catch (const isl::exception& e) {
    return Refusal{"inline what " + target.name + " reads", target.name, e.what(), ""};
  }
}

Statement statement_from(const Statement& like, const std::string& tensor, const Expr& e,
                         const Expr& guard, const std::vector<Leaf>& leaves) {
  Statement s = like;
  s.name = "S_" + tensor;
  s.domain = set_tuple_name(like.domain, s.name);
  s.write = {tensor, like.write.map.set_domain_tuple(s.name).set_range_tuple(tensor), {}};
  s.reads.clear();
  s.indices.clear();
  std::map<std::string, Expr> by_name;
  std::map<int, int> read_of_leaf;
  const std::function<int(int)> add_read = [&](int i) {
    if (auto it = read_of_leaf.find(i); it != read_of_leaf.end()) return it->second;
    const Leaf& l = leaves.at(static_cast<size_t>(i));
    Access a{l.tensor, l.map.set_domain_tuple(s.name), {}};
    for (const auto& [dim, leaf] : l.gathers) a.gathers.push_back({dim, add_read(leaf)});
    s.reads.push_back(std::move(a));
    const int k = static_cast<int>(s.reads.size()) - 1;
    read_of_leaf[i] = k;
    return k;
  };
  const auto uses = [&](const Expr& x, const std::string& name) {
    return x && contains_var(x, name);
  };
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Leaf& l = leaves[i];
    if (!uses(e, l.name) && !uses(guard, l.name)) continue;
    if (l.tensor.empty()) {
      const isl::multi_aff rename = isl::multi_aff(s.domain.space().identity_multi_aff_on_domain())
                                        .set_range_tuple(tuple_name(like.domain));
      s.indices.push_back(l.index->pullback(rename));
      by_name.emplace(l.name, Expr::index(static_cast<int>(s.indices.size()) - 1));
    } else {
      by_name.emplace(l.name, Expr::read(add_read(static_cast<int>(i)), l.type));
    }
  }
  s.expr = substitute(e, by_name);
  s.guard = guard ? substitute(guard, by_name) : Expr();
  return s;
}

Expected<Statement> inline_via(const Program& p, const Statement& target,
                               const std::vector<std::string>& via) {
  auto t = inline_term(p, target, {}, via);
  if (!t) return t.error();
  Statement s = statement_from(target, target.write.tensor, t->g, t->guard, t->leaves);
  s.name = target.name;
  s.domain = target.domain;
  s.write = target.write;
  for (Access& a : s.reads) a.map = a.map.set_domain_tuple(s.name);
  for (isl::aff& a : s.indices)
    a = a.pullback(isl::multi_aff(s.domain.space().identity_multi_aff_on_domain())
                       .set_range_tuple("S_" + target.write.tensor));
  return s;
}

// Compares { element -> number of terms } with the size at the first and by translation: the terms
// of every element must be exactly k = 0 .. size - 1 along one reduced dimension, up to an offset.
bool counts(const Program& p, const Statement& s, const Expr& size) {
  if (!s.reduction || s.reduction->dims.size() != 1 || s.guard) return false;
  try {
    const unsigned d = static_cast<unsigned>(s.reduction->dims[0]);
    const isl::set domain = s.domain.intersect_params(p.param_context);
    // Rows: instances with the reduced dimension projected out and put back as 0 .. size - 1.
    std::string dims, limit;
    for (unsigned i = 0; i < n_dim(domain); ++i) dims += (i ? ", i" : "i") + std::to_string(i);
    std::string params;
    for (const auto& n : param_names(domain)) params += (params.empty() ? "" : ", ") + n;
    if (size->op == Op::Param) {
      limit = size->name;
      if (("," + params + ",").find(limit) == std::string::npos) return false;
    } else if (size->op == Op::Const &&
               size->value == static_cast<double>(static_cast<int64_t>(size->value))) {
      limit = std::to_string(static_cast<int64_t>(size->value));
    } else {
      return false;
    }
    const std::string di = "i" + std::to_string(d);
    const isl::set box(p.context->get(), "[" + params + "] -> { " + tuple_name(domain) + "[" +
                                             dims + "] : 0 <= " + di + " < " + limit + " }");
    const isl::set rows = insert_dims(project_out(domain, d, 1), d, 1);
    return set_tuple_name(rows, tuple_name(domain)).intersect(box).is_equal(domain);
  } catch (const isl::exception&) {
    return false;
  }
}

}  // namespace nautilus::poly::algebra
