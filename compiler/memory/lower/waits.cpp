// Waits for products stand where their results are used, counted from the order of issue; tiles are
// released when the products that read them are done.
#include <algorithm>
#include <optional>

#include "compiler/memory/lower/passes.h"
#include "compiler/memory/lower/rewriting.h"

namespace nautilus::memory::lowering {

namespace {

class Waiting {
 public:
  explicit Waiting(Kernel& k) : k_(k) {}
  void run(Region& r) {
    count(r);
    region(r);
  }

 private:
  struct Batch {
    std::vector<ValueId> results;
    std::set<std::string> buffers;
    bool closed = false;
  };
  struct State {
    std::vector<Batch> batches;   // that may be under way, oldest first
    std::vector<Instr> arrivals;  // put off until their tile is read
    std::optional<Instr> fence;   // put off until its first product
    std::map<ValueId, ValueId> now;
  };
  Kernel& k_;
  std::map<ValueId, int> uses_;

  void count(const Region& r) {
    for (const Instr& i : r.body) {
      for (ValueId v : i.operands) ++uses_[v];
      for (const Region& inner : i.regions) count(inner);
    }
    for (ValueId v : r.yields) ++uses_[v];
  }

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
  static void fence(State& s, std::vector<Instr>& out) {
    if (s.fence) out.push_back(std::move(*s.fence));
    s.fence.reset();
  }
  // Registers of its own, as a product changes those of the sum that it adds to.
  ValueId copied(ValueId v, const Instr& product, std::vector<Instr>& out) {
    Instr copy;
    copy.origin = product.origin;
    copy.node = product.node;
    copy.code = Code::Cast;
    copy.operands = {v};
    copy.results = {k_.next_value++};
    k_.types[copy.results[0]] = FragmentType(k_.types.at(v));
    out.push_back(copy);
    return copy.results[0];
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
    fence(s, out);
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
    // A fence orders what was written to registers before it: waits and copies for the product come
    // first (PTX ISA, wgmma.fence).
    if (i.code == Code::MmaFence) {
      s.fence = std::move(i);
      return;
    }
    if (s.fence && i.code != Code::Wgmma) fence(s, out);
    if (i.code == Code::Wgmma) {
      std::set<ValueId> factors(i.operands.begin() + 1, i.operands.end());
      const bool read_elsewhere = uses_[i.operands[0]] > 1;
      if (read_elsewhere) factors.insert(i.operands[0]);
      need(factors, s, out);
      rename(i, s);
      if (read_elsewhere) i.operands[0] = copied(i.operands[0], i, out);
      fence(s, out);
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
    } else if (i.code == Code::Wait) {
      // The copy that this waits for may need a slot that is not released yet.
      const bool owed = std::any_of(s.arrivals.begin(), s.arrivals.end(), [&](const Instr& a) {
        return i.barrier.starts_with("full_") && a.barrier == "empty_" + i.barrier.substr(5);
      });
      if (owed && !s.batches.empty()) wait(s, s.batches.size() - 1, out);
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

void wait_for_products(Kernel& k) { Waiting(k).run(k.roles[0].body); }

}  // namespace nautilus::memory::lowering
