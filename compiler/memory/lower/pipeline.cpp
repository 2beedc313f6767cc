// Software pipelining: a shift of the copies along their loop.
#include <algorithm>

#include "compiler/memory/lower/passes.h"

namespace nautilus::memory::lowering {

namespace {

bool is_copy(const Instr& i) { return i.code == Code::CopyAsync || i.code == Code::CopyPlain; }

int accesses(const Region& r, const std::string& buffer) {
  int n = 0;
  for (const Instr& i : r.body) {
    n += i.buffer == buffer;
    for (const Region& inner : i.regions) n += accesses(inner, buffer);
  }
  return n;
}

void set_slot(Region& r, const std::string& buffer, const IndexExpr& slot) {
  for (Instr& i : r.body) {
    if (i.buffer == buffer) i.slot = slot;
    for (Region& inner : i.regions) set_slot(inner, buffer, slot);
  }
}

bool touches(const Instr& i, const std::set<std::string>& buffers) {
  if (buffers.count(i.buffer)) return true;
  for (const Region& r : i.regions)
    for (const Instr& inner : r.body)
      if (touches(inner, buffers)) return true;
  return false;
}

void stored(const Region& r, std::set<std::string>& out) {
  for (const Instr& i : r.body) {
    if (i.code == Code::StoreGlobal || i.code == Code::AtomicAdd) out.insert(i.tensor);
    for (const Region& inner : i.regions) stored(inner, out);
  }
}

Cond at_least_zero(IndexExpr e) { return Cond{{{Cond::Atom{std::move(e), false}}}}; }

Instr plain(Code code, int64_t count = 0) {
  Instr i;
  i.code = code;
  i.count = count;
  return i;
}

class Pipelining {
 public:
  Pipelining(Kernel& k, int stages) : k_(k), stages_(stages) {}
  Rings run() {
    for (Role& r : k_.roles) {
      stored(r.body, stored_);
      role_ = &r;
      region(r.body);
      close_groups(r.body);
    }
    return std::move(rings_);
  }

 private:
  Kernel& k_;
  const int stages_;
  Role* role_ = nullptr;
  std::set<std::string> stored_;
  Rings rings_;

  SharedBuffer& buffer(const std::string& name) {
    return *std::find_if(k_.buffers.begin(), k_.buffers.end(),
                         [&](const SharedBuffer& b) { return b.name == name; });
  }

  void region(Region& r) {
    early(r);
    for (size_t n = 0; n < r.body.size(); ++n) {
      for (Region& inner : r.body[n].regions) region(inner);
      if (r.body[n].code != Code::For || stages_ < 2) continue;
      std::vector<Instr> before = shift(r.body[n]);
      if (before.empty()) continue;
      // After the copies that come before the loop: those are waited for first.
      size_t at = n;
      for (size_t m = n; m-- > 0;)
        if (is_copy(r.body[m])) {
          at = m + 1;
          break;
        }
      n += before.size();
      r.body.insert(r.body.begin() + ptrdiff_t(at), std::make_move_iterator(before.begin()),
                    std::make_move_iterator(before.end()));
    }
  }

  // A copy depends on nothing that lanes compute: it starts right behind the copy, loop or branch
  // before it, in a group of its own.
  void early(Region& r) {
    for (size_t n = 1; n < r.body.size(); ++n) {
      if (r.body[n].code != Code::CopyAsync || !r.body[n].operands.empty() ||
          stored_.count(r.body[n].tensor))
        continue;
      size_t at = n;
      while (at > 0 && r.body[at - 1].regions.empty() && !is_copy(r.body[at - 1]) &&
             r.body[at - 1].code != Code::CopyCommit && r.body[at - 1].buffer != r.body[n].buffer)
        --at;
      if (at == n) continue;
      if (at == 0 || !is_copy(r.body[at - 1])) {
        std::rotate(r.body.begin() + ptrdiff_t(at), r.body.begin() + ptrdiff_t(n),
                    r.body.begin() + ptrdiff_t(n) + 1);
        continue;
      }
      Instr copy = std::move(r.body[n]);
      r.body.erase(r.body.begin() + ptrdiff_t(n));
      Instr both[2] = {plain(Code::CopyCommit), std::move(copy)};
      r.body.insert(r.body.begin() + ptrdiff_t(at), std::make_move_iterator(both),
                    std::make_move_iterator(both + 2));
      ++n;
    }
  }

  // Copies that may run ahead: asynchronous, of tensors that this kernel does not write, into
  // buffers of this loop alone.
  std::vector<Instr> shift(Instr& loop) {
    Region& body = loop.regions[0];
    int slots = stages_;
    if (loop.lower.is_const() && loop.upper.is_const()) {
      const int64_t trips =
          (loop.upper.constant() - loop.lower.constant() + loop.step - 1) / loop.step;
      slots = int(std::min<int64_t>(slots, trips));
    }
    if (slots < 2) return {};
    std::set<std::string> ahead;
    for (const Instr& i : body.body)
      if (i.code == Code::CopyAsync && i.operands.empty() && !stored_.count(i.tensor) &&
          accesses(body, i.buffer) == accesses(role_->body, i.buffer))
        ahead.insert(i.buffer);
    if (ahead.empty()) return {};
    const IndexExpr iv = IndexExpr::var(loop.iv);
    const IndexExpr number = loop.lower == IndexExpr(0) && loop.step == 1
                                 ? iv
                                 : IndexExpr::floordiv(iv - loop.lower, loop.step);
    std::vector<Instr> copies, rest;
    std::erase_if(body.body, [](const Instr& i) { return i.code == Code::CopyCommit; });
    for (Instr& i : body.body)
      (i.code == Code::CopyAsync && ahead.count(i.buffer) ? copies : rest).push_back(std::move(i));
    body.body = std::move(rest);
    for (const std::string& b : ahead) {
      buffer(b).slots = slots;
      set_slot(body, b, IndexExpr::mod(number, slots));
      rings_[b] = {loop.iv, number, slots};
    }
    // The copies of one iteration, where there is such an iteration.
    auto tile = [&](const IndexExpr& at, const IndexExpr& slot) {
      const std::map<std::string, IndexExpr> shift{{loop.iv, at}};
      Instr guard;
      guard.code = Code::If;
      guard.cond = at_least_zero(loop.upper - 1 - at);
      guard.regions.resize(2);
      for (const Instr& c : copies) {
        Instr i = c;
        for (IndexExpr& e : i.index) e = e.substitute(shift);
        i.cond = i.cond.substitute(shift);
        i.slot = slot;
        guard.regions[0].body.push_back(std::move(i));
      }
      guard.origin = copies[0].origin;
      guard.node = loop.node;
      std::vector<Instr> out;
      const IndexExpr& left = guard.cond.any[0][0].expr;
      if (left.is_const() && left.constant() >= 0)
        out = std::move(guard.regions[0].body);
      else
        out.push_back(std::move(guard));
      out.push_back(plain(Code::CopyCommit));
      return out;
    };
    std::vector<Instr> before;
    for (int s = 0; s + 1 < slots; ++s)
      for (Instr& i : tile(loop.lower + int64_t(s) * loop.step, IndexExpr(s)))
        before.push_back(std::move(i));
    if (slots > 2)
      before[0].note = "The first " + std::to_string(slots - 1) + " tiles of the ring.";
    else
      before[0].note = "The first tile of the ring.";
    std::vector<Instr> turn{plain(Code::CopyWait, slots - 2), plain(Code::BlockSync)};
    turn[0].note =
        "This tile is here, and all warps are done with the one before, whose slot is next.";
    for (Instr& i :
         tile(iv + int64_t(slots - 1) * loop.step, IndexExpr::mod(number + (slots - 1), slots)))
      turn.push_back(std::move(i));
    size_t at = 0;
    while (at < body.body.size() && !touches(body.body[at], ahead)) ++at;
    body.body.insert(body.body.begin() + ptrdiff_t(at), std::make_move_iterator(turn.begin()),
                     std::make_move_iterator(turn.end()));
    return before;
  }

  // A group ends where its run of copies does.
  void close_groups(Region& r) {
    std::vector<Instr> out;
    for (size_t n = 0; n < r.body.size(); ++n) {
      for (Region& inner : r.body[n].regions)
        if (!is_guard(r, n)) close_groups(inner);
      const bool open = r.body[n].code == Code::CopyAsync;
      out.push_back(std::move(r.body[n]));
      const bool more = n + 1 < r.body.size() &&
                        (is_copy(r.body[n + 1]) || r.body[n + 1].code == Code::CopyCommit);
      if (open && !more) out.push_back(plain(Code::CopyCommit));
    }
    r.body = std::move(out);
  }
  // A guarded tile of a ring: its group is closed after the guard.
  static bool is_guard(const Region& r, size_t n) {
    return r.body[n].code == Code::If && n + 1 < r.body.size() &&
           r.body[n + 1].code == Code::CopyCommit;
  }
};

}  // namespace

Rings pipeline(Kernel& k, int stages) { return Pipelining(k, stages).run(); }

}  // namespace nautilus::memory::lowering
