// Which values share an array: loop-carried values are updated in place where nobody needs the old
// value, loops take over the array of an initial value that dies there, and point-wise results
// overwrite a dying operand.
#include "compiler/backend/cpu/storage.h"

#include <algorithm>

namespace nautilus::cpu {
namespace {

class Assigner {
 public:
  explicit Assigner(const KernelInfo& k) : k_(k) { region(k.kernel.body, {}); }
  Storage take() { return std::move(out_); }

 private:
  using Wanted = std::map<ValueId, ValueId>;  // yielded value -> array it should be computed in

  bool buffer(ValueId v) const { return k_.forms.at(v) == Form::Buffer; }
  ValueId array(ValueId v) const { return out_.at(v); }
  bool alike(ValueId a, ValueId b) const {
    return c_type(k_.type(a).elem) == c_type(k_.type(b).elem) &&
           k_.type(a).axes == k_.type(b).axes && k_.order.at(a) == k_.order.at(b);
  }

  // Nobody reads v after this position, in this or a later iteration.
  bool dead_after(const Region* r, int at, ValueId v) const {
    for (;;) {
      if (k_.read_after(r, at, v)) return false;
      if (k_.defs.at(v).region == r) return true;
      const Place& p = k_.places.at(r);
      if (!p.parent) return true;
      if (p.parent->code == Code::For)
        for (int q = 0; q <= static_cast<int>(r->body.size()); ++q)
          if (k_.reads(r, q).count(v)) return false;
      r = p.region;
      at = p.position;
    }
  }

  // Whether computing an element of v reads u at most at the same element.
  bool same_element(ValueId v, ValueId u) const {
    const Instr& i = *k_.defs.at(v).instr;
    if (i.code != Code::Map && i.code != Code::Cast && i.code != Code::Mask) {
      std::set<ValueId> read;
      for (const ValueId o : i.operands) k_.leaves(o, read);
      return !read.count(u);
    }
    for (const ValueId o : i.operands)
      if (!operand_same_element(o, u)) return false;
    return true;
  }
  bool operand_same_element(ValueId o, ValueId u) const {
    if (o == u) return true;
    const Form f = k_.forms.at(o);
    if (f != Form::Inline && f != Form::Fused) return true;
    const Instr& i = *k_.defs.at(o).instr;
    const bool elementwise =
        f == Form::Inline && (i.code == Code::Map || i.code == Code::Cast || i.code == Code::Mask);
    for (const ValueId x : i.operands) {
      if (elementwise ? operand_same_element(x, u) : !reads(x, u)) continue;
      return false;
    }
    return true;
  }
  bool reads(ValueId x, ValueId u) const {
    std::set<ValueId> s;
    k_.leaves(x, s);
    return s.count(u) > 0;
  }

  // v may be written into array a at its position: every other value there is dead, or read at the
  // same element.
  bool may_write(ValueId v, ValueId a) const {
    if (!alike(v, a)) return false;
    const Def& d = k_.defs.at(v);
    for (const auto& [u, where] : out_) {
      if (where != a || u == v) continue;
      if (!visible(d.region, d.position, u)) continue;
      if (!dead_after(d.region, d.position, u) || !same_element(v, u)) return false;
    }
    return true;
  }
  // u is defined before position `at` of r (a loop's results are not while its body runs).
  bool visible(const Region* r, int at, ValueId u) const {
    while (r) {
      const Def& d = k_.defs.at(u);
      if (d.region == r) return d.position < at;
      const Place& p = k_.places.at(r);
      r = p.region;
      at = p.position;
    }
    return false;
  }

  void region(const Region& r, const Wanted& wanted) {
    for (int at = 0; at < static_cast<int>(r.body.size()); ++at) {
      const Instr& i = r.body[at];
      if (i.code == Code::For)
        loop(i, r, at);
      else if (i.code == Code::If)
        branch(i, r, at, wanted);
      else if (!i.results.empty() && buffer(i.results[0]))
        value(i, r, at, wanted);
    }
  }

  void value(const Instr& i, const Region& r, int at, const Wanted& wanted) {
    const ValueId v = i.results[0];
    out_[v] = v;
    if (const auto w = wanted.find(v); w != wanted.end() && may_write(v, w->second)) {
      out_[v] = w->second;
      return;
    }
    if (i.code != Code::Map && i.code != Code::Cast && i.code != Code::Mask) return;
    for (const ValueId u : k_.reads(&r, at)) {
      // A dying value of this region, in an array made for a value of this region that no loop
      // carries.
      if (!buffer(u) || k_.defs.at(u).region != &r) continue;
      const Def& d = k_.defs.at(array(u));
      if (d.region != &r || d.position < 0 || d.instr->code == Code::For ||
          d.instr->code == Code::If)
        continue;
      if (!alike(u, v) || !may_write(v, array(u))) continue;
      out_[v] = array(u);
      return;
    }
  }

  void loop(const Instr& i, const Region& r, int at) {
    const Region& body = i.regions[0];
    Wanted inner;
    for (size_t n = 0; n < i.results.size(); ++n) {
      const ValueId result = i.results[n], arg = body.args[n], init = i.operands[n],
                    yield = body.yields[n];
      if (!buffer(result)) continue;
      ValueId a = result;
      bool inside = false;  // the body reads the initial value itself
      for (int q = 0; q <= static_cast<int>(body.body.size()); ++q)
        inside |= k_.reads(&body, q).count(init) > 0;
      if (buffer(init) && k_.defs.at(init).region == &r && alike(init, result) &&
          k_.type(init) == k_.type(result) &&
          std::count(i.operands.begin(), i.operands.end(), init) == 1 && !inside &&
          dead_after(&r, at, init) && others_dead(init, &r, at))
        a = array(init);
      out_[result] = out_[arg] = a;
      if (std::count(body.yields.begin(), body.yields.end(), yield) == 1 && buffer(yield) &&
          k_.defs.at(yield).region == &body && k_.defs.at(yield).position >= 0 &&
          k_.type(yield) == k_.type(result))
        inner[yield] = a;
    }
    region(body, inner);
  }
  // No other value in init's array is read later.
  bool others_dead(ValueId init, const Region* r, int at) const {
    for (const auto& [u, where] : out_)
      if (where == array(init) && u != init && visible(r, at, u) && !dead_after(r, at, u))
        return false;
    return true;
  }

  // Result n of a branch may replace what lies in array a: after the branch nobody reads that, and
  // of the yields only the one that becomes the result.
  bool may_take(const Instr& i, const Region& r, int at, size_t n, ValueId a) const {
    for (const auto& [u, where] : out_) {
      if (where != a || u == i.results[n] || !visible(&r, at, u)) continue;
      if (!dead_after(&r, at, u)) return false;
      for (const Region& b : i.regions)
        for (size_t m = 0; m < b.yields.size(); ++m)
          if (reads(b.yields[m], u) && !(m == n && b.yields[m] == u)) return false;
    }
    // Another result of this branch may lie there already.
    for (size_t m = 0; m < n; ++m)
      if (buffer(i.results[m]) && array(i.results[m]) == a) return false;
    return true;
  }

  void branch(const Instr& i, const Region& r, int at, const Wanted& wanted) {
    std::vector<Wanted> inner(2);
    for (size_t n = 0; n < i.results.size(); ++n) {
      const ValueId result = i.results[n];
      if (!buffer(result)) continue;
      out_[result] = result;
      // The array that the enclosing loop wants it in, or that one side finds it in already.
      std::vector<ValueId> places;
      if (const auto w = wanted.find(result); w != wanted.end()) places.push_back(w->second);
      for (const Region& body : i.regions)
        if (const ValueId y = body.yields[n]; buffer(y) && visible(&r, at, y))
          places.push_back(array(y));
      for (const ValueId a : places)
        if (alike(result, a) && may_take(i, r, at, n, a)) {
          out_[result] = a;
          break;
        }
      for (size_t b = 0; b < 2; ++b) {
        const Region& body = i.regions[b];
        const ValueId y = body.yields[n];
        if (buffer(y) && k_.defs.at(y).region == &body && k_.type(y) == k_.type(result) &&
            std::count(body.yields.begin(), body.yields.end(), y) == 1)
          inner[b][y] = array(result);
      }
    }
    for (size_t b = 0; b < 2; ++b) region(i.regions[b], inner[b]);
  }

  const KernelInfo& k_;
  Storage out_;
};

}  // namespace

Storage assign_storage(const KernelInfo& k) { return Assigner(k).take(); }

}  // namespace nautilus::cpu
