// What the matrix unit does while the lanes work: a product that only the next iteration needs is
// shifted by one iteration, so that it runs under the point-wise work of the next tile
// (FlashAttention-3's overlap inside a warpgroup; pipelining-and-synchronization.md).
#include <algorithm>

#include "compiler/memory/lower/passes.h"
#include "compiler/memory/lower/rewriting.h"

namespace nautilus::memory::lowering {

namespace {

// Instructions with new names for what they define.
class Cloning {
 public:
  explicit Cloning(Kernel& k) : k_(k) {}
  void becomes(ValueId v, ValueId other) { now_[v] = other; }
  ValueId now(ValueId v) const {
    auto it = now_.find(v);
    return it == now_.end() ? v : it->second;
  }
  Instr operator()(const Instr& i, const std::map<std::string, IndexExpr>& by) {
    Instr o = i;
    clone(o);
    substitute(o, by);
    return o;
  }

 private:
  Kernel& k_;
  std::map<ValueId, ValueId> now_;
  void define(ValueId& v) {
    const ValueId fresh = k_.next_value++;
    k_.types[fresh] = k_.types.at(v);
    now_[v] = fresh;
    v = fresh;
  }
  void clone(Instr& i) {
    for (ValueId& v : i.operands) v = now(v);
    for (Region& r : i.regions) {
      for (ValueId& v : r.args) define(v);
      for (Instr& inner : r.body) clone(inner);
      for (ValueId& v : r.yields) v = now(v);
    }
    for (ValueId& v : i.results) define(v);
  }
};

class Shifting {
 public:
  explicit Shifting(Kernel& k) : k_(k) {}
  void run(Region& r) {
    for (size_t n = 0; n < r.body.size(); ++n) {
      for (Region& inner : r.body[n].regions) run(inner);
      if (r.body[n].code != Code::For) continue;
      std::vector<Instr> made = shifted(r.body[n]);
      if (made.empty()) continue;
      const size_t count = made.size();
      r.body.erase(r.body.begin() + ptrdiff_t(n));
      r.body.insert(r.body.begin() + ptrdiff_t(n), std::make_move_iterator(made.begin()),
                    std::make_move_iterator(made.end()));
      n += count - 1;
    }
  }

 private:
  struct Block {  // [first, last) of a body: waits and fence, a product, its commit, arrivals
    size_t first = 0, product = 0, last = 0;
  };
  Kernel& k_;

  static std::vector<Block> blocks(const Region& r) {
    std::vector<Block> out;
    for (size_t n = 0; n < r.body.size(); ++n) {
      if (r.body[n].code != Code::Wgmma) continue;
      Block b{n, n, n + 1};
      while (b.first > 0 &&
             (r.body[b.first - 1].code == Code::MmaFence || r.body[b.first - 1].code == Code::Wait))
        --b.first;
      while (b.last < r.body.size() &&
             (r.body[b.last].code == Code::MmaCommit || r.body[b.last].code == Code::Arrive))
        ++b.last;
      out.push_back(b);
    }
    return out;
  }
  // What depends on a value inside the region.
  static std::set<ValueId> dependents(const Region& r, ValueId of) {
    std::set<ValueId> out{of};
    for (const Instr& i : r.body) {
      const auto used = used_by(i);
      if (std::any_of(used.begin(), used.end(), [&](ValueId v) { return out.count(v) > 0; }))
        out.insert(i.results.begin(), i.results.end());
    }
    return out;
  }
  static bool point_wise(const Instr& i) {
    return i.code == Code::Map || i.code == Code::Cast || i.code == Code::Mask;
  }

  std::vector<Instr> shifted(Instr& loop) {
    Region& body = loop.regions[0];
    const IndexExpr trips = iterations(loop);
    if (trips.is_const() && trips.constant() < 2) return {};
    const std::vector<Block> all = blocks(body);
    if (all.size() < 2) return {};
    const Block b = all.back(), first = all.front();
    const Instr product = body.body[b.product];
    const ValueId sum = product.results[0];
    const auto at = std::find(body.yields.begin(), body.yields.end(), sum);
    if (at == body.yields.end()) return {};
    const size_t n = size_t(at - body.yields.begin());
    for (size_t m = b.product + 1; m < body.body.size(); ++m)
      if (used_by(body.body[m]).count(sum)) return {};
    if (std::count(body.yields.begin(), body.yields.end(), sum) != 1) return {};
    // The first product must not need the last one of the iteration before.
    const auto late = dependents(body, body.args[n]);
    for (size_t m = 0; m <= first.product; ++m)
      for (ValueId v : used_by(body.body[m]))
        if (late.count(v)) return {};
    // Only the product's own operands cross.
    for (size_t m = b.first; m < b.last; ++m)
      if (m != b.product && !body.body[m].operands.empty()) return {};

    std::vector<Instr> a,
        tail(body.body.begin() + ptrdiff_t(b.first), body.body.begin() + ptrdiff_t(b.last));
    for (size_t m = 0; m < body.body.size(); ++m)
      if (m < b.first || m >= b.last) a.push_back(body.body[m]);
    const size_t after_first = first.last;   // of `a` too: the first block comes before
    if (after_first == a.size()) return {};  // nothing to run beside
    // What stays behind must not need the tile that the product's block waits for and releases.
    for (const std::string* tile : {&product.buffer, &product.buffer_b})
      for (const Instr& i : a)
        if (!tile->empty() && touches(i, *tile)) return {};

    const std::vector<ValueId> crossing = product.operands;  // the sum so far, perhaps a factor
    std::vector<ValueId> yields = body.yields;
    yields[n] = crossing[0];
    yields.insert(yields.end(), crossing.begin() + 1, crossing.end());

    const IndexExpr iv = IndexExpr::var(loop.iv);
    std::vector<Instr> out;
    // The first tile.
    Cloning head(k_);
    for (size_t m = 0; m < body.args.size(); ++m) head.becomes(body.args[m], loop.operands[m]);
    for (const Instr& i : a) out.push_back(head(i, {{loop.iv, loop.lower}}));
    if (!out.empty() && out[0].note.empty())
      out[0].note = "The first tile: its second product runs beside the next tile's work.";
    // The others.
    Instr turn = loop;
    turn.lower = loop.lower + loop.step;
    turn.operands.clear();
    for (ValueId v : yields) turn.operands.push_back(head.now(v));
    Region& inside = turn.regions[0];
    auto fresh = [&](ValueId like) {
      const ValueId v = k_.next_value++;
      k_.types[v] = k_.types.at(like);
      return v;
    };
    inside.body.clear();
    std::vector<ValueId> carried;
    for (ValueId v : crossing) carried.push_back(fresh(v));
    inside.args[n] = carried[0];
    inside.args.insert(inside.args.end(), carried.begin() + 1, carried.end());
    inside.yields = yields;
    for (size_t m = 0; m < a.size(); ++m) {
      if (m == after_first)
        for (Instr t : tail) {
          if (t.code == Code::Wgmma) t.operands = carried;
          substitute(t, {{loop.iv, iv - loop.step}});
          inside.body.push_back(std::move(t));
        }
      Instr i = a[m];
      each_operand(i, [&](ValueId& v) {
        if (v == body.args[n]) v = sum;
      });
      inside.body.push_back(std::move(i));
    }
    for (ValueId& v : inside.yields)
      if (v == body.args[n]) v = sum;
    sink(inside, sum, crossing);
    const std::vector<ValueId> results = loop.results;
    turn.results.clear();
    for (ValueId v : yields) turn.results.push_back(fresh(v));
    // The last product.
    const IndexExpr last = loop.lower + (trips - 1) * loop.step;
    Cloning end(k_);
    end.becomes(crossing[0], turn.results[n]);
    for (size_t m = 1; m < crossing.size(); ++m)
      end.becomes(crossing[m], turn.results[body.yields.size() + m - 1]);
    std::vector<ValueId> now(turn.results.begin(),
                             turn.results.begin() + ptrdiff_t(body.yields.size()));
    out.push_back(std::move(turn));
    for (const Instr& t : tail) out.push_back(end(t, {{loop.iv, last}}));
    now[n] = end.now(sum);
    // Where there is a first tile.
    Instr guard;
    guard.code = Code::If;
    guard.cond = Cond{{{Cond::Atom{loop.upper - 1 - loop.lower, false}}}};
    guard.results = results;
    guard.regions.resize(2);
    guard.regions[0].body = std::move(out);
    guard.regions[0].yields = now;
    guard.regions[1].yields = loop.operands;
    guard.node = loop.node;
    guard.origin = loop.origin;
    std::vector<Instr> made;
    made.push_back(std::move(guard));
    return made;
  }

  // What only the next iteration reads comes last: first what needs the product that is under way,
  // then its factor, whose registers the product reads until then.
  static void sink(Region& r, ValueId product, const std::vector<ValueId>& crossing) {
    std::map<ValueId, int> uses;
    for (const Instr& i : r.body)
      for (ValueId v : used_by(i)) ++uses[v];
    std::vector<Instr> early, late, factor, rest;
    auto carried_only = [&](const Instr& i) {
      return point_wise(i) && !uses.count(i.results[0]) &&
             std::count(r.yields.begin(), r.yields.end(), i.results[0]) > 0;
    };
    for (Instr& i : r.body) {
      if (carried_only(i) && used_by(i).count(product))
        late.push_back(std::move(i));
      else if (carried_only(i) &&
               std::find(crossing.begin() + 1, crossing.end(), i.results[0]) != crossing.end())
        factor.push_back(std::move(i));
      else
        rest.push_back(std::move(i));
    }
    r.body = std::move(rest);
    for (auto* list : {&late, &factor})
      for (Instr& i : *list) r.body.push_back(std::move(i));
  }
};

}  // namespace

void overlap_products(Kernel& k) { Shifting(k).run(k.roles[0].body); }

}  // namespace nautilus::memory::lowering
