// Barriers and waits from dependences: a walk in program order that keeps what other lanes have
// done since the last barrier and which copies are on their way. A loop's body is walked until what
// comes round does not add anything.
#include <algorithm>

#include "compiler/memory/lower/passes.h"

namespace nautilus::memory::lowering {

namespace {

// A slot: a number, or a number of iterations from the current one of a loop; or any.
struct Slot {
  bool any = true;
  std::string iv;  // "": absolute
  int64_t at = 0;
  auto operator<=>(const Slot&) const = default;
};
struct Place {
  std::string name;  // buffer, or tensor
  Slot slot;
  auto operator<=>(const Place&) const = default;
};
struct State {
  std::set<std::pair<Place, bool>> since;  // the last barrier: place, written
  std::map<Place, int64_t> flying;         // copies; groups closed after theirs, -1: open
  bool operator==(const State&) const = default;
};

void join(State& into, const State& o) {
  into.since.insert(o.since.begin(), o.since.end());
  for (const auto& [p, age] : o.flying) {
    auto [it, fresh] = into.flying.emplace(p, age);
    if (!fresh) it->second = std::min(it->second, age);
  }
}

void tensors_of(const Region& r, std::set<std::string>& read, std::set<std::string>& written) {
  for (const Instr& i : r.body) {
    if (!i.tensor.empty())
      (i.code == Code::StoreGlobal || i.code == Code::AtomicAdd ? written : read).insert(i.tensor);
    for (const Region& inner : i.regions) tensors_of(inner, read, written);
  }
}

// Warps take different sides of a branch.
bool warps_part(const Instr& branch) {
  if (!branch.operands.empty()) return true;
  std::vector<std::string> names;
  for (const Cond::Conj& conj : branch.cond.any)
    for (const Cond::Atom& a : conj) a.expr.collect_vars(names);
  return std::find(names.begin(), names.end(), "warp") != names.end();
}

class Synchronizing {
 public:
  Synchronizing(Kernel& k, const Rings& rings, const std::set<std::string>& apart)
      : k_(k), rings_(rings), apart_(apart) {}
  void run() {
    for (Role& r : k_.roles) {
      std::set<std::string> read, written;
      tensors_of(r.body, read, written);
      std::set_intersection(read.begin(), read.end(), written.begin(), written.end(),
                            std::inserter(shared_tensors_, shared_tensors_.end()));
      State s;
      r.body = walk(r.body, s);
      if (!s.flying.empty()) {  // nothing is on its way when a block ends
        Instr wait;
        wait.code = Code::CopyWait;
        r.body.body.push_back(std::move(wait));
      }
    }
  }

 private:
  Kernel& k_;
  const Rings& rings_;
  const std::set<std::string>& apart_;
  std::set<std::string> shared_tensors_;

  // --- places -----------------------------------------------------------------------------------
  Place place_of(const Instr& i) const {
    Place p{i.buffer, {}};
    auto ring = rings_.find(i.buffer);
    if (i.slot.is_const()) {
      p.slot = {false, "", i.slot.constant()};
    } else if (ring != rings_.end() && i.slot.kind() == IndexExpr::Kind::Mod) {
      const IndexExpr at = i.slot.args()[0] - ring->second.number;
      if (at.is_const()) p.slot = {false, ring->second.iv, at.constant()};
    }
    return p;
  }
  int slots(const std::string& name) const {
    const SharedBuffer* b = find_buffer(k_, name);
    return b ? b->slots : 1;
  }
  bool overlap(const Place& a, const Place& b) const {
    if (a.name == b.name) {
      if (a.slot.any || b.slot.any || a.slot.iv != b.slot.iv) return true;
      return (a.slot.at - b.slot.at) % slots(a.name) == 0;
    }
    const SharedBuffer *x = find_buffer(k_, a.name), *y = find_buffer(k_, b.name);
    if (!x || !y) return false;
    auto end = [](const SharedBuffer& s) {
      return s.offset + s.slots * s.place.elements() * type_bytes(s.elem);
    };
    return x->offset < end(*y) && y->offset < end(*x);
  }
  // What an instruction touches: place, written.
  std::vector<std::pair<Place, bool>> touches(const Instr& i) const {
    std::vector<std::pair<Place, bool>> out;
    if (!i.buffer.empty() && !apart_.count(i.buffer))
      out.emplace_back(place_of(i), i.code != Code::LoadShared);
    if (!i.tensor.empty() && shared_tensors_.count(i.tensor))
      out.emplace_back(Place{i.tensor, {}},
                       i.code == Code::StoreGlobal || i.code == Code::AtomicAdd);
    for (const Region& r : i.regions)
      for (const Instr& inner : r.body)
        for (auto& t : touches(inner)) out.push_back(std::move(t));
    return out;
  }

  // --- what is needed before an access
  // ------------------------------------------------------------
  void barrier(State& s, std::vector<Instr>& out) const {
    Instr i;
    i.code = Code::BlockSync;
    out.push_back(std::move(i));
    s.since.clear();
  }
  void landed(State& s, int64_t count) const {
    for (auto it = s.flying.begin(); it != s.flying.end();) {
      if (it->second < count) {
        ++it;
        continue;
      }
      s.since.emplace(it->first, true);
      it = s.flying.erase(it);
    }
  }
  void need(State& s, const Place& p, bool write, std::vector<Instr>& out) const {
    std::optional<int64_t> age;
    for (const auto& [q, a] : s.flying)
      if (overlap(p, q)) age = std::min(age.value_or(a), a);
    if (age) {
      if (*age < 0) commit(s, out), age = 0;
      Instr wait;
      wait.code = Code::CopyWait;
      wait.count = *age;
      out.push_back(std::move(wait));
      landed(s, *age);
    }
    const bool conflict = std::any_of(s.since.begin(), s.since.end(), [&](const auto& e) {
      return (write || e.second) && overlap(p, e.first);
    });
    if (conflict) barrier(s, out);
  }
  void closed(State& s) const {
    for (auto& [p, age] : s.flying) ++age;
  }
  void commit(State& s, std::vector<Instr>& out) const {
    Instr i;
    i.code = Code::CopyCommit;
    out.push_back(std::move(i));
    closed(s);
  }

  // --- the walk
  // -----------------------------------------------------------------------------------
  Region walk(const Region& r, State& s) {
    Region out;
    out.args = r.args;
    out.yields = r.yields;
    for (const Instr& i : r.body) instr(i, s, out.body);
    return out;
  }
  void instr(const Instr& i, State& s, std::vector<Instr>& out) {
    switch (i.code) {
      case Code::BlockSync:
        s.since.clear();
        break;
      case Code::CopyCommit:
        closed(s);
        break;
      case Code::CopyWait:
        landed(s, i.count);
        break;
      case Code::For:
        return loop(i, s, out);
      case Code::If:
        if (!warps_part(i)) return branch(i, s, out);
        [[fallthrough]];  // what its sides need is done before
      default: {
        const auto all = touches(i);
        for (const auto& [p, write] : all) need(s, p, write, out);
        for (const auto& [p, write] : all) {
          if (i.code == Code::CopyAsync && p.name == i.buffer)
            s.flying[p] = -1;
          else
            s.since.emplace(p, write);
        }
      }
    }
    out.push_back(i);
  }
  void branch(const Instr& i, State& s, std::vector<Instr>& out) {
    Instr o = i;
    State joined;
    for (size_t n = 0; n < 2; ++n) {
      State side = s;
      o.regions[n] = walk(i.regions[n], side);
      join(joined, side);
    }
    s = std::move(joined);
    out.push_back(std::move(o));
  }

  // Slots named in a loop's iterations: on the way in, one iteration on, and on the way out.
  template <class F>
  State renamed(const State& s, F f) const {
    State out;
    for (const auto& [p, write] : s.since) out.since.emplace(f(p), write);
    for (const auto& [p, age] : s.flying) {
      auto [it, fresh] = out.flying.emplace(f(p), age);
      if (!fresh) it->second = std::min(it->second, age);
    }
    return out;
  }
  bool of_ring(const Place& p, const Instr& loop) const {
    auto r = rings_.find(p.name);
    return r != rings_.end() && r->second.iv == loop.iv;
  }
  void loop(const Instr& i, State& s, std::vector<Instr>& out) {
    const State entered = renamed(s, [&](Place p) {
      if (of_ring(p, i) && !p.slot.any && p.slot.iv.empty()) p.slot.iv = i.iv;
      return p;
    });
    State in = entered;
    Instr o = i;
    for (int round = 0; round < 64; ++round) {
      State at = in;
      o.regions[0] = walk(i.regions[0], at);
      State next = entered;
      join(next, renamed(at, [&](Place p) {
             if (!p.slot.any && p.slot.iv == i.iv) {
               const int64_t n = slots(p.name);
               p.slot.at = ((p.slot.at - 1) % n + n) % n;
             }
             return p;
           }));
      join(next, in);
      if (next == in) break;
      in = std::move(next);
    }
    s = renamed(in, [&](Place p) {
      if (p.slot.iv == i.iv || of_ring(p, i)) p.slot = {};
      return p;
    });
    out.push_back(std::move(o));
  }
};

}  // namespace

void synchronize(Kernel& k, const Rings& rings, const std::set<std::string>& apart) {
  Synchronizing(k, rings, apart).run();
}

}  // namespace nautilus::memory::lowering
