// Warp specialization: bulk copies go to a producer warp that runs ahead of the warps that compute,
// through rings of slots. A full barrier a slot carries the dependence of the reads on the copy, an
// empty one the anti-dependence of the next copy on the reads; the parity of a phase is the number
// of the slot's turn. (pipelining-and-synchronization.md; hopper.md, 1b, 3d)
#include <algorithm>
#include <functional>

#include "compiler/memory/lower/passes.h"
#include "compiler/memory/lower/rewriting.h"

namespace nautilus::memory::lowering {

namespace {

bool has_copies(const Region& r) {
  return std::any_of(r.body.begin(), r.body.end(), [](const Instr& i) {
    return i.code == Code::CopyBulk || std::any_of(i.regions.begin(), i.regions.end(), has_copies);
  });
}

// What one name becomes, with the slot of each access.
void to_ring(Region& r, const std::string& buffer, const std::string& ring, const IndexExpr& slot) {
  for (Instr& i : r.body) {
    if (i.buffer == buffer) i.buffer = ring, i.slot = slot;
    if (i.buffer_b == buffer) i.buffer_b = ring, i.slot_b = slot;
    for (Region& inner : i.regions) to_ring(inner, buffer, ring, slot);
  }
}

// Sizes and grid variables are never negative; loop variables are not looked at.
bool never_negative(const IndexExpr& e, const std::set<std::string>& known) {
  auto all = [&] {
    return std::all_of(e.args().begin(), e.args().end(),
                       [&](const IndexExpr& a) { return never_negative(a, known); });
  };
  switch (e.kind()) {
    case IndexExpr::Kind::Const:
      return e.constant() >= 0;
    case IndexExpr::Kind::Var:
      return known.count(e.name()) > 0;
    case IndexExpr::Kind::Mod:
      return true;
    case IndexExpr::Kind::Mul:
      return e.constant() >= 0 && all();
    case IndexExpr::Kind::Max:
      return never_negative(e.args()[0], known) || never_negative(e.args()[1], known);
    default:
      return all();
  }
}

IndexExpr trips(const Instr& loop, const std::set<std::string>& known) {
  const IndexExpr n = iterations(loop);
  if (n.is_const()) return std::max<int64_t>(0, n.constant());
  return never_negative(n, known) ? n : IndexExpr::max(n, 0);
}

class Specializing {
 public:
  Specializing(Kernel& k, int stages, std::set<std::string> sizes)
      : k_(k), stages_(stages), known_(std::move(sizes)) {
    for (const tile::GridDim& g : k.grid) known_.insert(g.iv);
  }
  std::optional<Refusal> run() {
    Role& all = k_.roles[0];
    list(all.body);
    if (auto bad = find(all.body)) return bad;
    if (copies_.empty()) return std::nullopt;
    for (Ring& r : rings_) barriers(r);
    Role producer{"producer", all.warps, 4, {}};
    Instr elected;
    elected.code = Code::If;
    elected.cond = Cond{{{Cond::Atom{IndexExpr::var("warp"), true}}}};
    elected.regions.resize(2);
    elected.regions[0] = produced(all.body);
    elected.note = "The copies of all tiles, as early as their slots are free.";
    producer.body.body.push_back(std::move(elected));
    consume(all.body);
    // The one whose name the ring has comes first.
    for (const Copy& c : copies_)
      to_ring(all.body, c.buffer, rings_[size_t(c.ring)].buffer, slot(c));
    all.name = "consumer";
    std::erase_if(k_.buffers, [&](const SharedBuffer& b) {
      return std::any_of(copies_.begin(), copies_.end(),
                         [&](const Copy& c) { return c.buffer == b.name && merged(c); });
    });
    k_.roles.push_back(std::move(producer));
    return std::nullopt;
  }

 private:
  struct Copy {
    std::string buffer, tensor;
    size_t top = 0;                   // place of the statement that it is in
    std::vector<const Instr*> loops;  // around it, outermost first
    IndexExpr number;                 // of this execution in its ring
    int ring = -1;
  };
  struct Ring {
    std::string buffer;
    IndexExpr count = 0;          // executions of its copies so far
    std::vector<IndexExpr> ends;  // the same where branches end, and at the end
    int slots = 1;
    size_t last = 0;  // statement that touches it last
    bool refilled = false;
    bool closed = false;  // the number of its copies depends on a branch
  };
  Kernel& k_;
  const int stages_;
  std::set<std::string> known_;
  std::vector<const Instr*> line_;  // statements in order, those of branches with copies one by one
  size_t at_ = 0;
  std::vector<Copy> copies_;
  std::vector<Ring> rings_;

  SharedBuffer& buffer(const std::string& name) {
    return *std::find_if(k_.buffers.begin(), k_.buffers.end(),
                         [&](const SharedBuffer& b) { return b.name == name; });
  }
  Refusal refused(const std::string& why) const {
    return {"specialize warps of kernel " + k_.name, "", why, ""};
  }
  bool merged(const Copy& c) const { return rings_[size_t(c.ring)].buffer != c.buffer; }
  const Copy& copy_of(const std::string& name) const {
    return *std::find_if(copies_.begin(), copies_.end(),
                         [&](const Copy& c) { return c.buffer == name; });
  }

  static bool branches(const Instr& i) {
    return i.code == Code::If && std::any_of(i.regions.begin(), i.regions.end(), has_copies);
  }
  void list(const Region& r) {
    for (const Instr& i : r.body)
      if (!branches(i))
        line_.push_back(&i);
      else
        for (const Region& inner : i.regions) list(inner);
  }

  // Statements that every block comes to, or those of one branch.
  std::optional<Refusal> find(const Region& r) {
    for (const Instr& i : r.body)
      if (!branches(i)) {
        if (auto bad = find(i, {})) return bad;
        ++at_;
      } else if (auto bad = branch(i)) {
        return bad;
      }
    return std::nullopt;
  }
  // Only one of the branches is run: each starts from what was copied before them.
  std::optional<Refusal> branch(const Instr& i) {
    if (!i.operands.empty()) return refused("copies where values decide");
    const std::vector<Ring> before = rings_;
    auto at_entry = [&](size_t r) { return r < before.size() ? before[r].count : IndexExpr(0); };
    std::set<size_t> grown;
    for (const Region& inner : i.regions) {
      for (size_t r = 0; r < rings_.size(); ++r) rings_[r].count = at_entry(r);
      if (auto bad = find(inner)) return bad;
      for (size_t r = 0; r < rings_.size(); ++r) {
        if (!(rings_[r].count == at_entry(r))) grown.insert(r);
        rings_[r].ends.push_back(rings_[r].count);
      }
    }
    for (size_t r : grown) rings_[r].closed = true;
    return std::nullopt;
  }
  std::optional<Refusal> find(const Instr& i, std::vector<const Instr*> loops) {
    if (i.code == Code::CopyBulk) {
      copies_.push_back({i.buffer, i.tensor, at_, loops, 0, -1});
      join(copies_.back());
      return std::nullopt;
    }
    if (i.code == Code::CopyAsync || i.code == Code::CopyPlain)
      return refused("copies of lanes beside bulk copies");
    for (const Region& r : i.regions) {
      if (i.code == Code::If && has_copies(r)) return refused("a copy under a condition in a loop");
      std::vector<const Instr*> inside = loops;
      if (i.code == Code::For) inside.push_back(&i);
      for (const Instr& inner : r.body)
        if (auto bad = find(inner, inside)) return bad;
    }
    if (i.code == Code::For && loops.size() && has_copies(i.regions[0]) &&
        !trips(i, known_).is_const())
      return refused("an inner loop with copies whose length varies");
    return std::nullopt;
  }

  // The ring of a copy: that of an earlier one of the same tiles which nothing touches any more.
  void join(Copy& c) {
    size_t last = c.top;
    for (size_t n = 0; n < line_.size(); ++n)
      if (touches(*line_[n], c.buffer)) last = n;
    const SharedBuffer& own = buffer(c.buffer);
    for (size_t r = 0; r < rings_.size() && c.ring < 0; ++r) {
      const SharedBuffer& b = buffer(rings_[r].buffer);
      const Copy& other = copy_of(b.name);
      if (!rings_[r].closed && other.tensor == c.tensor && b.elem == own.elem &&
          b.axes == own.axes && b.place == own.place && rings_[r].last < c.top)
        c.ring = int(r);
    }
    if (c.ring < 0) {
      c.ring = int(rings_.size());
      rings_.emplace_back();
      rings_.back().buffer = c.buffer;
    }
    Ring& ring = rings_[size_t(c.ring)];
    IndexExpr own_number = 0, all = 1;
    for (const Instr* l : c.loops) {
      const IndexExpr n = trips(*l, known_);  // of inner loops a number
      const IndexExpr turn = l->lower == IndexExpr(0) && l->step == 1
                                 ? IndexExpr::var(l->iv)
                                 : IndexExpr::floordiv(IndexExpr::var(l->iv) - l->lower, l->step);
      own_number = l == c.loops[0] ? turn : own_number * n.constant() + turn;
      all = l == c.loops[0] ? n : all * n.constant();
    }
    c.number = ring.count + own_number;
    ring.count = ring.count + all;
    ring.last = std::max(ring.last, last);
  }

  void barriers(Ring& r) {
    r.ends.push_back(r.count);
    const bool known =
        std::all_of(r.ends.begin(), r.ends.end(), [](const IndexExpr& e) { return e.is_const(); });
    int64_t most = known ? 1 : stages_ + 1;
    for (const IndexExpr& e : r.ends) most = known ? std::max(most, e.constant()) : most;
    r.slots = int(std::min<int64_t>(most, stages_));
    r.refilled = most > r.slots;
    buffer(r.buffer).slots = r.slots;
    k_.mbarriers.push_back({"full_" + r.buffer, r.slots, 1});
    if (r.refilled) k_.mbarriers.push_back({"empty_" + r.buffer, r.slots, k_.roles[0].warps});
  }

  IndexExpr slot(const Copy& c) const {
    return IndexExpr::mod(c.number, rings_[size_t(c.ring)].slots);
  }
  IndexExpr parity(const Copy& c, int ahead) const {
    return IndexExpr::mod(IndexExpr::floordiv(c.number, rings_[size_t(c.ring)].slots) + ahead, 2);
  }
  Instr signal(Code code, const char* which, const Copy& c, int64_t count, int ahead = 0) const {
    Instr i;
    i.code = code;
    i.barrier = which + rings_[size_t(c.ring)].buffer;
    i.slot = slot(c);
    i.count = count;
    if (code == Code::Wait) i.parity = parity(c, ahead);
    return i;
  }

  // The loops and branches around copies, and those alone.
  Region produced(const Region& r) {
    Region out;
    for (const Instr& i : r.body) {
      if (i.code == Code::For && has_copies(i.regions[0])) {
        Instr l;
        l.code = Code::For;
        l.iv = i.iv, l.lower = i.lower, l.upper = i.upper, l.step = i.step;
        l.node = i.node;
        l.regions.push_back(produced(i.regions[0]));
        out.body.push_back(std::move(l));
      }
      if (branches(i)) {
        Instr b;
        b.code = Code::If;
        b.cond = i.cond;
        b.node = i.node;
        for (const Region& inner : i.regions) b.regions.push_back(produced(inner));
        out.body.push_back(std::move(b));
      }
      if (i.code != Code::CopyBulk) continue;
      const Copy& c = copy_of(i.buffer);
      const Ring& ring = rings_[size_t(c.ring)];
      const SharedBuffer& b = buffer(ring.buffer);
      if (ring.refilled) out.body.push_back(signal(Code::Wait, "empty_", c, 0, 1));
      out.body.push_back(
          signal(Code::ExpectBytes, "full_", c, b.place.elements() * type_bytes(b.elem)));
      Instr o = i;
      o.buffer = ring.buffer;
      o.slot = o.slot_b = slot(c);
      o.barrier = "full_" + ring.buffer;
      out.body.push_back(std::move(o));
    }
    return out;
  }

  static bool read_by_lanes(const Region& r, const std::string& buffer) {
    return std::any_of(r.body.begin(), r.body.end(), [&](const Instr& i) {
      if (i.code == Code::LoadShared && i.buffer == buffer) return true;
      return std::any_of(i.regions.begin(), i.regions.end(),
                         [&](const Region& inner) { return read_by_lanes(inner, buffer); });
    });
  }
  // Waits before the first access of a tile, arrivals after the last.
  void consume(Region& r) {
    std::vector<std::string> here;
    for (const Instr& i : r.body)
      if (i.code == Code::CopyBulk) here.push_back(i.buffer);
    std::erase_if(r.body, [](const Instr& i) { return i.code == Code::CopyBulk; });
    for (Instr& i : r.body)
      for (Region& inner : i.regions) consume(inner);
    std::map<size_t, std::vector<Instr>> before;
    for (const std::string& b : here) {
      const Copy& c = copy_of(b);
      size_t first = r.body.size(), last = 0;
      for (size_t n = 0; n < r.body.size(); ++n)
        if (touches(r.body[n], b)) first = std::min(first, n), last = n;
      if (first == r.body.size()) first = last = r.body.size() ? r.body.size() - 1 : 0;
      while (last + 1 < r.body.size() && r.body[last + 1].code == Code::MmaCommit) ++last;
      while (first > 0 && r.body[first - 1].code == Code::MmaFence) --first;
      before[first].push_back(signal(Code::Wait, "full_", c, 0));
      if (!rings_[size_t(c.ring)].refilled) continue;
      std::vector<Instr>& behind = before[std::min(last + 1, r.body.size())];
      if (read_by_lanes(r, b)) {  // one lane arrives for all of its warp
        Instr all;
        all.code = Code::WarpSync;
        behind.push_back(std::move(all));
      }
      behind.push_back(signal(Code::Arrive, "empty_", c, 1));
    }
    std::vector<Instr> out;
    for (size_t n = 0; n <= r.body.size(); ++n) {
      if (auto it = before.find(n); it != before.end())
        for (Instr& i : it->second) out.push_back(std::move(i));
      if (n < r.body.size()) out.push_back(std::move(r.body[n]));
    }
    r.body = std::move(out);
  }
};

}  // namespace

std::optional<Refusal> specialize(Kernel& k, int stages, const std::vector<std::string>& sizes) {
  return Specializing(k, stages, {sizes.begin(), sizes.end()}).run();
}

// Registers of the roles: the producer gives what it does not need. 40 keep its loop free of
// spills (hopper-probe.md, 4).
void share_registers(Kernel& k) {
  if (k.roles.size() < 2) return;
  const int groups = k.threads() / 128;
  const int64_t launched = std::min<int64_t>(255, 65536 / (k.threads() * k.blocks_per_sm)) / 8 * 8;
  const int64_t own = groups > 4 ? 32 : groups == 2 ? 24 : 40;
  const int64_t others = std::min<int64_t>(240, (launched * groups - own) / (groups - 1) / 8 * 8);
  if (others <= launched) return;
  for (Role& r : k.roles) {
    Instr i;
    i.code = Code::SetRegisters;
    i.count = r.name == "producer" ? own : others;
    r.body.body.insert(r.body.body.begin(), std::move(i));
  }
}

// What orders the warps of one of several roles is a barrier of theirs alone.
void name_barriers(Kernel& k) {
  if (k.roles.size() < 2) return;
  std::function<bool(Region&, const std::string&)> replace = [&](Region& r,
                                                                 const std::string& name) {
    bool any = false;
    for (Instr& i : r.body) {
      if (i.code == Code::BlockSync) i.code = Code::NamedSync, i.barrier = name, any = true;
      for (Region& inner : i.regions) any = replace(inner, name) || any;
    }
    return any;
  };
  for (Role& r : k.roles) {
    const std::string name = r.name + "s";
    if (replace(r.body, name)) k.named.push_back({name, int(k.named.size()) + 1, r.warps});
  }
}

}  // namespace nautilus::memory::lowering
