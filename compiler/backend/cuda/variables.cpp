#include "compiler/backend/cuda/variables.h"

#include <algorithm>

namespace nautilus::cuda {

using memory::Code;
using memory::Instr;
using memory::Region;

Variables::Variables(const memory::Kernel& k, const Region& body, std::set<int> unnamed)
    : k_(k), unnamed_(std::move(unnamed)) {
  region(body, {}, true);
  share();
  place();
}

int Variables::find(int v) const {
  auto it = leader_.find(v);
  if (it == leader_.end() || it->second == v) return v;
  return it->second = find(it->second);
}
int Variables::of(int value) const { return find(value); }

void Variables::clash(int a, const Live& with) {
  for (int b : with)
    if (a != b) {
      clash_[a].insert(b);
      clash_[b].insert(a);
    }
}

// What is live before a region, from what is live after its yields are taken. Backwards.
Variables::Live Variables::region(const Region& r, Live live, bool record) {
  for (size_t n = r.body.size(); n-- > 0;) {
    path_.emplace_back(&r, n);
    instruction(r.body[n], live, record);
    path_.pop_back();
  }
  return live;
}

void Variables::defined(int value) { places_[value] = path_; }

namespace {

// Results may be written over operand n while it is being read: element by element, or in place.
bool in_place(const memory::Kernel& k, const Instr& i, size_t n) {
  switch (i.code) {
    case Code::Mma:
    case Code::Wgmma:
      return n == 0;
    case Code::Rename:
    case Code::MmaWait:
      return true;
    case Code::Map:
    case Code::Mask:
    case Code::Cast:
      return k.types.at(i.operands[n]).place.registers() ==
             k.types.at(i.results[0]).place.registers();
    default:
      return false;
  }
}

}  // namespace

void Variables::instruction(const Instr& i, Live& live, bool record) {
  const Live after = live;
  Live through = live;  // live across, whatever is in the regions
  for (int v : i.results) through.erase(v);
  if (record)
    for (int v : i.results) {
      defined(v);
      clash(v, after);
    }
  if (i.code == Code::For) {
    const Region& body = i.regions[0];
    // Twice: what an iteration reads from outside is live in the whole loop.
    Live around = through;
    for (int pass = 0; pass < 2; ++pass) {
      Live end = around;
      end.insert(body.yields.begin(), body.yields.end());
      Live start = region(body, end, record && pass == 1);
      for (int a : body.args) start.erase(a);
      around.insert(start.begin(), start.end());
    }
    if (record)
      for (size_t n = 0; n < body.args.size(); ++n) {
        defined(body.args[n]);
        clash(body.args[n], around);
        for (int other : body.args) clash(body.args[n], {other});
        clash(i.results[n], {body.args.begin(), body.args.end()});
        clash_[i.results[n]].erase(body.args[n]);
        clash_[body.args[n]].erase(i.results[n]);
        loops_.emplace_back(body.args[n], i.results[n]);
        wishes_.emplace_back(body.args[n], body.yields[n]);
        wishes_.emplace_back(body.args[n], i.operands[n]);
      }
    live = around;
    live.insert(i.operands.begin(), i.operands.end());
    return;
  }
  if (i.code == Code::If) {
    live = through;
    for (const Region& r : i.regions) {
      Live end = through;
      end.insert(r.yields.begin(), r.yields.end());
      const Live start = region(r, end, record);
      live.insert(start.begin(), start.end());
      if (record)
        for (size_t n = 0; n < i.results.size(); ++n) {
          // A result is written while later yields are still to be read.
          for (size_t m = 0; m < r.yields.size(); ++m)
            if (m != n) clash(i.results[n], {r.yields[m]});
          wishes_.emplace_back(i.results[n], r.yields[n]);
        }
    }
    live.insert(i.operands.begin(), i.operands.end());
    return;
  }
  live = through;
  for (size_t n = 0; n < i.operands.size(); ++n) {
    live.insert(i.operands[n]);
    if (!record) continue;
    for (int v : i.results)
      if (!in_place(k_, i, n)) clash(v, {i.operands[n]});
  }
  if (!record || i.results.empty()) return;
  if (i.code == Code::Mma || i.code == Code::Wgmma || i.code == Code::Rename)
    wishes_.emplace_back(i.operands[0], i.results[0]);
  if (i.code == Code::MmaWait)
    for (size_t n = 0; n < i.results.size(); ++n) wishes_.emplace_back(i.operands[n], i.results[n]);
}

// Merges what wants to share and does not clash; order decides only where wishes contradict each
// other.
void Variables::share() {
  std::map<int, std::set<int>> clash = clash_, group;
  for (const auto& [v, place] : places_) {
    leader_[v] = v;
    group[v] = {v};
  }
  std::vector<std::pair<int, int>> wishes = loops_;
  wishes.insert(wishes.end(), wishes_.begin(), wishes_.end());
  for (auto [a, b] : wishes) {
    if (!named(a) || !named(b)) continue;
    a = find(a), b = find(b);
    if (a == b) continue;
    const auto &ta = k_.types.at(a), &tb = k_.types.at(b);
    if (ta.elem != tb.elem || ta.place.registers() != tb.place.registers()) continue;
    const bool apart = std::none_of(group[a].begin(), group[a].end(), [&](int v) {
      return std::any_of(group[b].begin(), group[b].end(),
                         [&](int w) { return clash[v].count(w) > 0; });
    });
    if (!apart) continue;
    if (b < a) std::swap(a, b);
    leader_[b] = a;
    group[a].insert(group[b].begin(), group[b].end());
    group.erase(b);
  }
  for (const auto& [leader, values] : group) {
    std::vector<int> sorted(values.begin(), values.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](int v, int w) { return places_.at(v).size() < places_.at(w).size(); });
    if (named(leader)) members_[leader] = std::move(sorted);
  }
}

// A variable is declared in the innermost region that holds all its definitions, before the first.
void Variables::place() {
  for (const auto& [variable, values] : members_) {
    std::vector<Place> common = places_.at(values[0]);
    for (int v : values) {
      const std::vector<Place>& p = places_.at(v);
      size_t depth = 0;
      while (depth < common.size() && depth < p.size() && common[depth].first == p[depth].first) {
        const bool same = common[depth].second == p[depth].second;
        common[depth].second = std::min(common[depth].second, p[depth].second);
        ++depth;
        if (!same) break;
      }
      common.resize(depth);
    }
    declared_[common.back()].push_back(variable);
  }
}

std::vector<int> Variables::declared(const Region& r, size_t n) const {
  auto it = declared_.find({&r, n});
  return it == declared_.end() ? std::vector<int>{} : it->second;
}

}  // namespace nautilus::cuda
