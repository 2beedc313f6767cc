// Exchange: tiles brought to another placement inside a warp, by other registers of the lane and by
// shuffles. Where each element comes from is found by listing them.
#include <algorithm>
#include <bit>

#include "compiler/backend/cuda/emitter.h"
#include "compiler/backend/cuda/scalar.h"
#include "compiler/memory/f2.h"

namespace nautilus::cuda {
namespace {

// Source of each (warp, lane) for one register of the result: lane and register.
struct Sources {
  std::vector<int> lane, reg;  // warp * 32 + lane; -1: padding, anything
};

using Point = std::vector<int64_t>;

Point coordinates(const Geometry& g, int r, int lane, int warp, const std::vector<Axis>& axes) {
  Point p = g.point(r, axes);
  for (size_t a = 0; a < axes.size(); ++a) {
    const auto &lanes = g.lane.at(axes[a].name), &warps = g.warp.at(axes[a].name);
    // Bits inside the block move by XOR; repeats are above them.
    uint64_t x = 0;
    for (size_t b = 0; b < lanes.size(); ++b)
      if (lane >> b & 1) x ^= lanes[b];
    for (size_t b = 0; b < warps.size(); ++b)
      if (warp >> b & 1) x ^= warps[b];
    p[a] = int64_t(uint64_t(p[a]) ^ x);
  }
  return p;
}

// For each register of `to`, where its elements lie in `from`; nullopt if in another warp.
std::optional<std::vector<Sources>> find_sources(const Geometry& from, const Geometry& to) {
  const int warps = std::max(from.place.warps(), to.place.warps());
  std::vector<Sources> out(size_t(to.registers));
  for (int w = 0; w < warps; ++w) {
    std::map<Point, std::vector<std::pair<int, int>>> holders;
    for (int r = 0; r < from.registers; ++r)
      for (int lane = 0; lane < 32; ++lane)
        holders[coordinates(from, r, lane, w % from.place.warps(), from.axes)].emplace_back(lane,
                                                                                            r);
    for (int r = 0; r < to.registers; ++r)
      for (int lane = 0; lane < 32; ++lane) {
        const Point p = coordinates(to, r, lane, w % to.place.warps(), from.axes);
        bool inside = true;
        for (size_t a = 0; a < from.axes.size(); ++a) inside = inside && p[a] < from.axes[a].extent;
        auto it = holders.find(p);
        if (it == holders.end() && inside) return std::nullopt;
        std::pair<int, int> best{-1, -1};
        if (it != holders.end())
          for (const auto& h : it->second)
            if (best.first < 0 || std::popcount(uint32_t(h.first ^ lane)) <
                                      std::popcount(uint32_t(best.first ^ lane)))
              best = h;
        out[size_t(r)].lane.push_back(best.first);
        out[size_t(r)].reg.push_back(best.second);
      }
  }
  return out;
}

}  // namespace

void KernelEmitter::exchange(const Instr& i) {
  const int x = i.operands[0], result = i.results[0];
  const Geometry &from = geometry(x), &to = geometry(result);
  const auto sources = find_sources(from, to);
  if (!sources) return refuse(i, "data would move between warps");
  const Type elem = type(x).elem;
  const bool narrow = packed(elem), logical = elem == Type::Bool;
  // One text a register of the result.
  std::vector<std::string> made;
  auto thread_text = [&](const memory::Affine& l) {
    std::vector<uint64_t> lanes(l.images.begin(), l.images.begin() + 5),
        warps(l.images.begin() + 5, l.images.end());
    std::vector<std::string> parts;
    for (const std::string& p :
         {std::to_string(l.base), bits_text("lane", lanes),
          warps.empty()
              ? std::string("0")
              : bits_text("(warp & " + std::to_string((1 << warps.size()) - 1) + ")", warps)})
      if (p != "0") parts.push_back(p);
    if (parts.empty()) return std::string("0");
    std::string s;
    for (const std::string& p : parts) s += (s.empty() ? "" : " ^ ") + in_parens(p);
    return parts.size() == 1 ? parts[0] : s;
  };
  for (int r = 0; r < to.registers; ++r) {
    const Sources& s = (*sources)[size_t(r)];
    const auto lane = memory::affine(s.lane), reg = memory::affine(s.reg);
    if (!lane || !reg) return refuse(i, "lanes would read by no linear rule");
    bool same_lane = true;
    for (size_t t = 0; t < s.lane.size(); ++t)
      same_lane = same_lane && (s.lane[t] < 0 || s.lane[t] == int(t % 32));
    std::set<int> regs(s.reg.begin(), s.reg.end());
    regs.erase(-1);
    const std::string from_lane = same_lane ? "" : hoist("int", "from_lane", thread_text(*lane));
    auto value = [&](int source) {
      std::string v = raw(x, Pick{"", {source}});
      if (same_lane) return v;
      if (narrow) v = "unsigned(" + v + ")";
      if (logical) v = "int(" + v + ")";
      v = "__shfl_sync(0xffffffffu, " + v + ", " + from_lane + ")";
      return logical ? "(" + v + " != 0)" : v;
    };
    std::string text;
    const std::string which =
        regs.size() > 1 ? hoist("int", "from_register", thread_text(*reg)) : "";
    for (auto it = regs.rbegin(); it != regs.rend(); ++it) {
      // Every lane takes part in every shuffle, so each is its own statement.
      std::string v = value(*it);
      if (!same_lane && regs.size() > 1) {
        const std::string moved = names_.fresh("moved");
        line("const " + (narrow ? std::string("uint32_t") : wide_c(elem)) + " " + moved + " = " +
             v + ";");
        v = moved;
      }
      text = text.empty()
                 ? v
                 : which + " == " + std::to_string(*it) + " ? " + v + " : " + in_parens(text);
    }
    made.push_back(text.empty() ? "0" : text);
  }
  if (!narrow) {
    for (int r = 0; r < to.registers; ++r)
      line(storage(result, Pick{"", {r}}) + " = " + made[size_t(r)] + ";");
    return;
  }
  const Variable& v = variable(result);
  const int per = per_word(elem);
  for (int w = 0; w < v.words; ++w) {
    std::string call;
    for (int e = 0; e < per; ++e)
      call += (e ? ", " : "") + made[size_t(std::min(w * per + e, to.registers - 1))];
    line(storage(result, Pick{"", {w}}) + " = " + helpers_.use(per == 2 ? "pack16" : "pack8") +
         "(" + call + ");");
  }
}

}  // namespace nautilus::cuda
