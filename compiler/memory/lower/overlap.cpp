// What the matrix unit does while the lanes work. A product that only the next iteration needs is
// shifted by one iteration, so that it runs under the point-wise work of the next tile
// (FlashAttention-3's overlap inside a warpgroup; pipelining-and-synchronization.md); waits for
// products stand where their results are used, counted from the order of issue, and tiles are
// released when the products that read them are done.
#include <algorithm>
#include <functional>

#include "compiler/memory/lower/passes.h"

namespace nautilus::memory::lowering {

namespace {

void each_operand(Instr& i, const std::function<void(ValueId&)>& f) {
  for (ValueId& v : i.operands) f(v);
  for (Region& r : i.regions) {
    for (Instr& inner : r.body) each_operand(inner, f);
    for (ValueId& v : r.yields) f(v);
  }
}
std::set<ValueId> used_by(const Instr& i) {
  std::set<ValueId> out;
  each_operand(const_cast<Instr&>(i), [&](ValueId& v) { out.insert(v); });
  return out;
}

void substitute(Instr& i, const std::map<std::string, IndexExpr>& by) {
  for (auto* list : {&i.index, &i.index_b})
    for (IndexExpr& e : *list) e = e.substitute(by);
  for (IndexExpr* e : {&i.slot, &i.slot_b, &i.parity, &i.lower, &i.upper}) *e = e->substitute(by);
  i.cond = i.cond.substitute(by);
  for (Region& r : i.regions)
    for (Instr& inner : r.body) substitute(inner, by);
}

IndexExpr iterations(const Instr& loop) {
  return IndexExpr::floordiv(loop.upper - loop.lower + (loop.step - 1), loop.step);
}

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

// --- products shifted along their loop
// -----------------------------------------------------------
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
    const size_t after_first = first.last;  // of `a` too: the first block comes before

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

// --- waits for products
// ---------------------------------------------------------------------------
class Waiting {
 public:
  explicit Waiting(Kernel& k) : k_(k) {}
  void run(Region& r) { region(r); }

 private:
  struct Batch {
    std::vector<ValueId> results;
    std::set<std::string> buffers;
    bool closed = false;
  };
  struct State {
    std::vector<Batch> batches;   // that may be under way, oldest first
    std::vector<Instr> arrivals;  // put off until their tile is read
    std::map<ValueId, ValueId> now;
  };
  Kernel& k_;

  static bool reads(const Batch& b, const Instr& arrive) {
    return arrive.barrier.starts_with("empty_") && b.buffers.count(arrive.barrier.substr(6));
  }
  // Until the batch is done; arrivals that waited for it follow.
  void wait(State& s, size_t batch, std::vector<Instr>& out) {
    Instr w;
    w.code = Code::MmaWait;
    w.count = int64_t(s.batches.size() - 1 - batch);
    for (size_t n = 0; n <= batch; ++n)
      for (ValueId v : s.batches[n].results) {
        const ValueId fresh = k_.next_value++;
        k_.types[fresh] = k_.types.at(v);
        w.operands.push_back(v);
        w.results.push_back(fresh);
        for (auto& [from, to] : s.now)
          if (to == v) to = fresh;
        s.now[v] = fresh;
      }
    out.push_back(std::move(w));
    s.batches.erase(s.batches.begin(), s.batches.begin() + ptrdiff_t(batch) + 1);
    release(s, out);
  }
  void release(State& s, std::vector<Instr>& out) {
    std::vector<Instr> kept;
    for (Instr& a : s.arrivals) {
      const bool busy = std::any_of(s.batches.begin(), s.batches.end(),
                                    [&](const Batch& b) { return reads(b, a); });
      (busy ? kept : out).push_back(std::move(a));
    }
    s.arrivals = std::move(kept);
  }
  void rename(Instr& i, const State& s) {
    each_operand(i, [&](ValueId& v) {
      if (auto it = s.now.find(v); it != s.now.end()) v = it->second;
    });
  }

  // Nothing is under way at its end; or, of a loop that is to go on, the sums of its last batch:
  // then `after` follows the loop.
  void region(Region& r, const Instr* loop = nullptr, std::vector<Instr>* after = nullptr) {
    State s;
    std::vector<Instr> out;
    const bool on = loop && goes_on(r);
    for (Instr& i : r.body) instr(i, s, out);
    if (on)
      go_on(*loop, s, out, *after);
    else if (!s.batches.empty())
      wait(s, s.batches.size() - 1, out);
    for (Instr& a : s.arrivals) out.push_back(std::move(a));
    for (ValueId& v : r.yields)
      if (auto it = s.now.find(v); it != s.now.end()) v = it->second;
    r.body = std::move(out);
  }
  void instr(Instr& i, State& s, std::vector<Instr>& out) {
    if (i.code == Code::Wgmma) {
      std::set<ValueId> factors(i.operands.begin() + 1, i.operands.end());
      need(factors, s, out);
      rename(i, s);
      if (s.batches.empty() || s.batches.back().closed) s.batches.emplace_back();
      Batch& b = s.batches.back();
      // A sum that goes on belongs to the younger batch.
      for (Batch& other : s.batches) std::erase(other.results, i.operands[0]);
      b.results.push_back(i.results[0]);
      for (const std::string* name : {&i.buffer, &i.buffer_b})
        if (!name->empty()) b.buffers.insert(*name);
    } else if (i.code == Code::MmaCommit) {
      if (!s.batches.empty()) s.batches.back().closed = true;
    } else if (i.code == Code::Arrive) {
      s.arrivals.push_back(std::move(i));
      return release(s, out);
    } else {
      need(used_by(i), s, out);
      rename(i, s);
      if (!i.regions.empty() && !s.batches.empty())
        wait(s, s.batches.size() - 1, out), rename(i, s);
      std::vector<Instr> after;
      for (Region& inner : i.regions) region(inner, i.code == Code::For ? &i : nullptr, &after);
      out.push_back(std::move(i));
      if (after.empty()) return;
      for (size_t n = 0; n < after[0].operands.size(); ++n)
        s.now[after[0].operands[n]] = after[0].results[n];
      for (Instr& a : after) out.push_back(std::move(a));
      return;
    }
    out.push_back(std::move(i));
  }
  // One batch an iteration, whose sums the next iteration adds to and nothing else reads.
  static bool goes_on(const Region& r) {
    std::vector<const Instr*> products;
    int batches = 0;
    for (const Instr& i : r.body) {
      batches += i.code == Code::MmaCommit;
      if (i.code == Code::Wgmma) products.push_back(&i);
      if (!i.regions.empty()) return false;
    }
    if (batches != 1 || products.empty()) return false;
    std::map<ValueId, int> uses;
    for (const Instr& i : r.body)
      for (ValueId v : used_by(i)) ++uses[v];
    return std::all_of(products.begin(), products.end(), [&](const Instr* p) {
      const ValueId from = p->operands[0], to = p->results[0];
      const auto at = std::find(r.yields.begin(), r.yields.end(), to);
      return p->operands.size() == 1 && at != r.yields.end() && !uses.count(to) &&
             std::count(r.yields.begin(), r.yields.end(), to) == 1 && uses[from] == 1 &&
             r.args[size_t(at - r.yields.begin())] == from;
    });
  }
  // The batch of the iteration before is done where this one is under way: its tiles are free.
  void go_on(const Instr& loop, State& s, std::vector<Instr>& out, std::vector<Instr>& after) {
    const IndexExpr iv = IndexExpr::var(loop.iv);
    Instr w;
    w.code = Code::MmaWait;
    w.count = 1;
    out.push_back(w);
    auto released = [&](IndexExpr where, const IndexExpr& at) {
      Instr guard;
      guard.code = Code::If;
      guard.cond = Cond{{{Cond::Atom{std::move(where), false}}}};
      guard.regions.resize(2);
      for (Instr a : s.arrivals) {
        substitute(a, {{loop.iv, at}});
        guard.regions[0].body.push_back(std::move(a));
      }
      return guard;
    };
    w.count = 0;
    const Region& r = loop.regions[0];
    for (ValueId v : s.batches[0].results) {
      const auto at = std::find(r.yields.begin(), r.yields.end(), v);
      w.operands.push_back(loop.results[size_t(at - r.yields.begin())]);
      const ValueId fresh = k_.next_value++;
      k_.types[fresh] = k_.types.at(v);
      w.results.push_back(fresh);
    }
    after.push_back(std::move(w));
    if (s.arrivals.empty()) return;
    Instr before = released(iv - loop.lower - 1, iv - loop.step);
    before.note = "The tile before has been read.";
    out.push_back(std::move(before));
    after.push_back(
        released(loop.upper - 1 - loop.lower, loop.lower + (iterations(loop) - 1) * loop.step));
    s.arrivals.clear();
  }
  void need(const std::set<ValueId>& values, State& s, std::vector<Instr>& out) {
    for (size_t n = s.batches.size(); n-- > 0;)
      if (std::any_of(s.batches[n].results.begin(), s.batches[n].results.end(), [&](ValueId v) {
            return std::any_of(values.begin(), values.end(), [&](ValueId u) {
              auto it = s.now.find(u);
              return (it == s.now.end() ? u : it->second) == v;
            });
          }))
        return wait(s, n, out);
  }
};

}  // namespace

void overlap_products(Kernel& k) { Shifting(k).run(k.roles[0].body); }
void wait_for_products(Kernel& k) { Waiting(k).run(k.roles[0].body); }

}  // namespace nautilus::memory::lowering
