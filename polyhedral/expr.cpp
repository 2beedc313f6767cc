// Hash-consed expression nodes: interning, typing, traversal, substitution.
#include "polyhedral/expr.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

namespace nautilus {
namespace {

uint64_t mix(uint64_t h, uint64_t v) {  // splitmix64's finalizer over a running state
  uint64_t x = h + 0x9e3779b97f4a7c15ULL + v;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

uint64_t hash_of(const ExprNode& n) {
  uint64_t h = mix(static_cast<uint64_t>(n.op) + 1, static_cast<uint64_t>(n.type));
  h = mix(h, std::bit_cast<uint64_t>(n.value));
  h = mix(h, static_cast<uint64_t>(n.index));
  for (char c : n.name) h = mix(h, static_cast<unsigned char>(c));
  for (const Expr& a : n.args) h = mix(h, a->hash);
  return h;
}

bool same_node(const ExprNode& a, const ExprNode& b) {
  return a.hash == b.hash && a.op == b.op && a.type == b.type && a.index == b.index &&
         std::bit_cast<uint64_t>(a.value) == std::bit_cast<uint64_t>(b.value) && a.name == b.name &&
         a.args == b.args;
}

// Frees a node without recursing into its arguments, so that dropping a deep expression takes no
// stack.
void destroy(const ExprNode* n) {
  thread_local std::vector<Expr>* pending = nullptr;
  auto* node = const_cast<ExprNode*>(n);
  if (pending) {
    for (Expr& a : node->args) pending->push_back(std::move(a));
    delete node;
    return;
  }
  std::vector<Expr> work = std::move(node->args);
  pending = &work;
  delete node;
  while (!work.empty()) {
    Expr e = std::move(work.back());
    work.pop_back();
  }
  pending = nullptr;
}

}  // namespace

// The table of live nodes: weak references in shards by hash; a shard sweeps out the dead ones
// whenever it has doubled since the last sweep, so it stays within twice the number of live nodes.
class ExprInterner {
 public:
  static ExprInterner& get() {
    static auto& table =
        *new ExprInterner;  // never destroyed: expressions may live in other statics
    return table;
  }
  Expr intern(ExprNode n) {
    n.hash = hash_of(n);
    for (const Expr& a : n.args) {
      n.depth = std::max(n.depth, a->depth + 1);
      const uint64_t size = static_cast<uint64_t>(n.size) + a->size;
      n.size =
          static_cast<uint32_t>(std::min<uint64_t>(size, std::numeric_limits<uint32_t>::max()));
    }
    Shard& shard = shards_[n.hash % shards_.size()];
    std::vector<std::shared_ptr<const ExprNode>> keep;  // released after the lock
    std::lock_guard lock(shard.mutex);
    auto [first, last] = shard.nodes.equal_range(n.hash);
    for (; first != last; ++first) {
      auto found = first->second.lock();
      if (!found) continue;
      if (same_node(*found, n)) return Expr(std::move(found));
      keep.push_back(std::move(found));
    }
    if (shard.nodes.size() >= shard.sweep_at) {
      std::erase_if(shard.nodes, [](const auto& kv) { return kv.second.expired(); });
      shard.sweep_at = std::max<size_t>(1024, 2 * shard.nodes.size());
    }
    const uint64_t hash = n.hash;
    std::shared_ptr<const ExprNode> fresh(new ExprNode(std::move(n)), destroy);
    shard.nodes.emplace(hash, fresh);
    return Expr(std::move(fresh));
  }

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_multimap<uint64_t, std::weak_ptr<const ExprNode>> nodes;
    size_t sweep_at = 1024;
  };
  std::array<Shard, 16> shards_;
};

namespace {

ExprNode blank(Op op, Type type) {
  ExprNode n;
  n.op = op;
  n.type = type;
  return n;
}

Type result_type(Op op, const std::vector<Expr>& a) {
  const auto real = [](Type t) { return t == Type::F64 ? Type::F64 : Type::F32; };
  switch (op) {
    case Op::Neg:
    case Op::Abs:
    case Op::Floor:
      return arithmetic_type(a[0]->type, a[0]->type);
    case Op::Exp:
    case Op::Exp2:
    case Op::Log:
    case Op::Log2:
    case Op::Sqrt:
    case Op::Rsqrt:
    case Op::Recip:
    case Op::Tanh:
    case Op::Erf:
    case Op::Sigmoid:
      return real(a[0]->type);
    case Op::Div:
    case Op::Pow:
      return real(arithmetic_type(a[0]->type, a[1]->type));
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Min:
    case Op::Max:
      return arithmetic_type(a[0]->type, a[1]->type);
    case Op::Select:
      return a[1]->type == a[2]->type ? a[1]->type : arithmetic_type(a[1]->type, a[2]->type);
    default:
      return Type::Bool;  // comparisons and logic
  }
}

// Total order by structure, for the rare equal hashes.
int compare(const ExprNode& a, const ExprNode& b) {
  if (&a == &b) return 0;
  if (a.hash != b.hash) return a.hash < b.hash ? -1 : 1;
  const auto key = [](const ExprNode& n) {
    return std::tuple(n.op, n.type, std::bit_cast<uint64_t>(n.value), n.index,
                      std::string_view(n.name), n.args.size());
  };
  if (key(a) != key(b)) return key(a) < key(b) ? -1 : 1;
  for (size_t i = 0; i < a.args.size(); ++i)
    if (int c = compare(*a.args[i], *b.args[i])) return c;
  return 0;
}

}  // namespace

Expr Expr::constant(double v, Type t) {
  ExprNode n = blank(Op::Const, t);
  if (std::isnan(v)) v = std::numeric_limits<double>::quiet_NaN();
  n.value = is_float(t) ? v : round_to_type(v, t);
  return ExprInterner::get().intern(std::move(n));
}

Expr Expr::var(std::string name, Type t) {
  ExprNode n = blank(Op::Var, t);
  n.name = std::move(name);
  return ExprInterner::get().intern(std::move(n));
}

Expr Expr::read(int k, Type t) {
  ExprNode n = blank(Op::Read, t);
  n.index = k;
  return ExprInterner::get().intern(std::move(n));
}

Expr Expr::index(int k) {
  ExprNode n = blank(Op::Index, Type::I32);
  n.index = k;
  return ExprInterner::get().intern(std::move(n));
}

Expr Expr::param(std::string name) {
  ExprNode n = blank(Op::Param, Type::I32);
  n.name = std::move(name);
  return ExprInterner::get().intern(std::move(n));
}

Expr Expr::make(Op op, std::vector<Expr> args) {
  const bool missing = std::any_of(args.begin(), args.end(), [](const Expr& a) { return !a; });
  if (op_arity(op) == 0 || op == Op::Cast || static_cast<int>(args.size()) != op_arity(op) ||
      missing)
    throw std::logic_error("Expr::make: " + std::string(op_name(op)) + " with " +
                           std::to_string(args.size()) + " arguments");
  ExprNode n = blank(op, result_type(op, args));
  n.args = std::move(args);
  return ExprInterner::get().intern(std::move(n));
}

Expr Expr::cast(Expr a, Type t) {
  if (!a) throw std::logic_error("Expr::cast of nothing");
  ExprNode n = blank(Op::Cast, t);
  n.args.push_back(std::move(a));
  return ExprInterner::get().intern(std::move(n));
}

bool Expr::operator<(const Expr& o) const {
  if (node_ == o.node_) return false;
  if (!node_ || !o.node_) return !node_;
  return compare(*node_, *o.node_) < 0;
}

Expr operator+(Expr a, Expr b) { return Expr::make(Op::Add, {std::move(a), std::move(b)}); }
Expr operator-(Expr a, Expr b) { return Expr::make(Op::Sub, {std::move(a), std::move(b)}); }
Expr operator*(Expr a, Expr b) { return Expr::make(Op::Mul, {std::move(a), std::move(b)}); }
Expr operator/(Expr a, Expr b) { return Expr::make(Op::Div, {std::move(a), std::move(b)}); }
Expr operator-(Expr a) { return Expr::make(Op::Neg, {std::move(a)}); }
Expr exp(Expr a) { return Expr::make(Op::Exp, {std::move(a)}); }

Expr rebuild(const Expr& e, std::vector<Expr> args) {
  if (args == e->args) return e;
  return e->op == Op::Cast ? Expr::cast(std::move(args.at(0)), e->type)
                           : Expr::make(e->op, std::move(args));
}

Expr substitute(const Expr& e, const std::function<std::optional<Expr>(const Expr&)>& f) {
  std::unordered_map<const ExprNode*, Expr> done;
  const std::function<Expr(const Expr&)> go = [&](const Expr& x) -> Expr {
    if (auto it = done.find(&*x); it != done.end()) return it->second;
    Expr out = x;
    if (auto by = f(x)) {
      out = *by;
    } else if (!x->args.empty()) {
      std::vector<Expr> args;
      for (const Expr& a : x->args) args.push_back(go(a));
      out = rebuild(x, std::move(args));
    }
    done.emplace(&*x, out);
    return out;
  };
  return go(e);
}

Expr substitute(const Expr& e, const std::map<std::string, Expr>& vars) {
  return substitute(e, [&](const Expr& x) -> std::optional<Expr> {
    if (x->op != Op::Var) return std::nullopt;
    auto it = vars.find(x->name);
    return it == vars.end() ? std::nullopt : std::optional<Expr>(it->second);
  });
}

void visit(const Expr& e, const std::function<void(const Expr&)>& f) {
  std::unordered_set<const ExprNode*> seen;
  const std::function<void(const Expr&)> go = [&](const Expr& x) {
    if (!seen.insert(&*x).second) return;
    for (const Expr& a : x->args) go(a);
    f(x);
  };
  go(e);
}

bool contains_var(const Expr& e, const std::string& name) {
  bool found = false;
  visit(e, [&](const Expr& x) { found = found || (x->op == Op::Var && x->name == name); });
  return found;
}

std::vector<std::string> free_vars(const Expr& e) {
  std::set<std::string> names;
  visit(e, [&](const Expr& x) {
    if (x->op == Op::Var) names.insert(x->name);
  });
  return {names.begin(), names.end()};
}

void conjuncts(const Expr& e, std::vector<Expr>& out) {
  if (!e) return;
  if (e->op != Op::And) return out.push_back(e);
  for (const Expr& a : e->args) conjuncts(a, out);
}

}  // namespace nautilus
