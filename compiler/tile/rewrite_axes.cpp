#include "compiler/tile/rewrite_axes.h"

#include <algorithm>
#include <set>

namespace nautilus::tile::rw {
namespace {

class Unifier {
 public:
  explicit Unifier(const Kernel& k) : k_(k) {
    for (const GridDim& g : k.grid) ivs_.insert(g.iv);
    for (const auto& [v, t] : k.types) declare(t.axes);
    collect(k.body);
    meets_.assign(names_.size(), std::vector<char>(names_.size(), 0));
    for (const auto& [v, t] : k.types) together(t.axes);
    find_meetings(k.body);
    for (size_t n = 0; n < names_.size(); ++n) parent_.push_back(n);
    for (const auto* links : {&links_, &load_links_})
      for (const auto& [from, to] : *links) unite(index_.at(from), index_.at(to));
    for (const auto& [name, n] : index_)
      if (parent_[n] != n) to_[name] = names_[find(n)];
  }

  bool any() const { return !ambiguous_ && !to_.empty(); }
  bool keeps_order() const { return keeps_order(k_.body); }

  Kernel apply() {
    Kernel out = k_;
    for (const auto& [name, rep] : to_) by_[name] = IndexExpr::var(rep);
    for (auto& [v, t] : out.types) rename(t.axes);
    find_aliases(k_.body);
    apply(out.body);
    for (const auto& [v, of] : alias_) out.types.erase(v);
    return out;
  }

 private:
  const Kernel& k_;
  std::set<std::string> ivs_;
  std::vector<std::string> names_;
  std::map<std::string, size_t> index_;
  std::map<std::string, int64_t> extent_;
  bool ambiguous_ = false;                // one name with two extents
  std::vector<std::vector<char>> meets_;  // some value or instruction has both
  std::vector<size_t> parent_;
  std::vector<std::pair<std::string, std::string>> links_, load_links_;
  std::map<std::string, std::string> loads_;
  std::map<std::string, std::string> to_;
  std::map<std::string, IndexExpr> by_;
  std::map<ValueId, ValueId> alias_;

  void declare(const std::vector<Axis>& axes) {
    for (const Axis& a : axes) {
      if (index_.emplace(a.name, names_.size()).second) names_.push_back(a.name);
      if (auto [it, fresh] = extent_.emplace(a.name, a.extent); !fresh && it->second != a.extent)
        ambiguous_ = true;
    }
  }
  void collect(const Region& r) {
    for (const Instr& i : r.body) {
      declare(i.span);
      if (i.code == Code::For) ivs_.insert(i.iv);
      for (const Region& n : i.regions) collect(n);
      for (const auto& p : i.renames)
        if (index_.count(p.first) && index_.count(p.second) && p.first != p.second)
          links_.push_back(p);
      if (i.code == Code::Load) link_loads(i);
    }
  }
  // Loads that run over one dimension of a tensor in the same way: their axes may be one, and then
  // so are the loads.
  void link_loads(const Instr& i) {
    for (size_t d = 0; d < i.index.size(); ++d)
      for (const Axis& a : k_.types.at(i.results[0]).axes) {
        const int64_t c = i.index[d].coefficient(a.name);
        if (c == 0) continue;
        const std::string key = to_string(i.index[d] - IndexExpr::var(a.name) * c) + "|" +
                                std::to_string(c) + "|" + std::to_string(d) + "|" +
                                std::to_string(a.extent) + "|" + i.tensor;
        if (auto [it, fresh] = loads_.emplace(key, a.name); !fresh && it->second != a.name)
          load_links_.emplace_back(it->second, a.name);
      }
  }
  void together(const std::vector<Axis>& axes) {
    for (const Axis& a : axes)
      for (const Axis& b : axes) meets_[index_.at(a.name)][index_.at(b.name)] = 1;
  }
  void find_meetings(const Region& r) {
    for (const Instr& i : r.body) {
      for (const Region& n : i.regions) find_meetings(n);
      if (i.code == Code::Rename || i.code == Code::For || i.code == Code::If) continue;
      std::vector<Axis> all = i.span;
      for (const auto* values : {&i.operands, &i.results})
        for (ValueId v : *values)
          all.insert(all.end(), k_.types.at(v).axes.begin(), k_.types.at(v).axes.end());
      together(all);
    }
  }

  size_t find(size_t n) const {
    while (parent_[n] != n) n = parent_[n];
    return n;
  }
  // The class keeps the least of its names. Two classes stay apart if members of theirs meet.
  void unite(size_t a, size_t b) {
    a = find(a);
    b = find(b);
    if (a == b || ivs_.count(names_[a]) || ivs_.count(names_[b])) return;
    for (size_t x = 0; x < names_.size(); ++x)
      for (size_t y = 0; y < names_.size(); ++y)
        if (meets_[x][y] && find(x) == a && find(y) == b) return;
    if (names_[b] < names_[a]) std::swap(a, b);
    parent_[b] = a;
  }

  std::string name(const std::string& n) const {
    auto it = to_.find(n);
    return it == to_.end() ? n : it->second;
  }
  void rename(std::vector<Axis>& axes) const {
    for (Axis& a : axes) a.name = name(a.name);
    std::sort(axes.begin(), axes.end(),
              [](const Axis& a, const Axis& b) { return a.name < b.name; });
  }

  bool keeps_order(const Region& r) const {
    for (const Instr& i : r.body) {
      for (const Region& n : i.regions)
        if (!keeps_order(n)) return false;
      std::vector<std::string> before = i.axes, after;
      std::sort(before.begin(), before.end());
      for (const std::string& a : before) after.push_back(name(a));
      if (!std::is_sorted(after.begin(), after.end())) return false;
    }
    return true;
  }

  // Renames that change nothing any more stand for their operand.
  void find_aliases(const Region& r) {
    for (const Instr& i : r.body) {
      for (const Region& n : i.regions) find_aliases(n);
      if (i.code == Code::Rename &&
          std::all_of(i.renames.begin(), i.renames.end(),
                      [&](const auto& p) { return name(p.first) == name(p.second); }))
        alias_[i.results[0]] = i.operands[0];
    }
  }
  ValueId value(ValueId v) const {
    for (auto it = alias_.find(v); it != alias_.end(); it = alias_.find(v)) v = it->second;
    return v;
  }

  void apply(Region& r) const {
    std::erase_if(r.body, [&](const Instr& i) {
      return i.code == Code::Rename && alias_.count(i.results[0]);
    });
    for (Instr& i : r.body) {
      for (ValueId& v : i.operands) v = value(v);
      for (IndexExpr& e : i.index) e = e.substitute(by_);
      i.cond = i.cond.substitute(by_);
      for (std::string& a : i.axes) a = name(a);
      rename(i.span);
      for (auto& [from, to] : i.renames) {
        from = name(from);
        to = name(to);
      }
      for (Region& n : i.regions) apply(n);
    }
    for (ValueId& v : r.yields) v = value(v);
  }
};

}  // namespace

Kernel unify_axes(const Kernel& k, bool keep_order) {
  Unifier u(k);
  if (!u.any() || (keep_order && !u.keeps_order())) return k;
  return u.apply();
}

}  // namespace nautilus::tile::rw
