// The list of passes.
#include "compiler/memory/lower.h"

#include <algorithm>

#include "compiler/memory/liveness.h"
#include "compiler/memory/lower/passes.h"

namespace nautilus::memory {

namespace {

using namespace lowering;

// Registers a thread that tiles may take: of 255, what addresses and temporaries leave.
constexpr int64_t kRegisters = 200;
constexpr int kMostWarps = 16;
constexpr int64_t kStagedByWarpgroups = 49152;  // of one step of a product: 64 terms of 128 x 256
constexpr int kMostStages = 6;                  // of a producer's rings

int64_t knob(const LowerOptions& o, const std::string& name, int64_t otherwise) {
  auto it = o.knobs.find(name);
  return it == o.knobs.end() || it->second <= 0 ? otherwise : it->second;
}

// Blocks that fit a unit beside each other with the registers that tiles and addresses take.
int blocks_beside(const Kernel& k, int64_t pressure, const Target& target) {
  const int64_t registers = std::min<int64_t>(255, (pressure + 64 + 7) / 8 * 8);
  const int64_t by_registers = 65536 / (registers * k.threads());
  const int64_t shared = k.shared_bytes() + 1024;
  return int(std::clamp<int64_t>(std::min(by_registers, target.shared_bytes / shared), 1, 8));
}

class Lowering {
 public:
  Lowering(const tile::Module& m, const LowerOptions& o) : tile_(m), options_(o) {
    out_.name = m.name;
    out_.target = o.target;
    out_.sizes = m.sizes;
    out_.multiples = m.multiples;
    out_.tensors = m.tensors;
  }

  Expected<Module> run() {
    auto target = parse_target(options_.target);
    if (!target) return target.error();
    target_ = *target;
    for (const tile::Kernel& k : tile_.kernels) {
      auto lowered = kernel(k);
      if (!lowered) return lowered.error();
      out_.kernels.push_back(*std::move(lowered));
      if (auto bad = verify(out_)) return *bad;
    }
    return std::move(out_);
  }

 private:
  const tile::Module& tile_;
  const LowerOptions& options_;
  Module out_;
  Target target_;

  void after(const char* pass, const Kernel& k) const {
    if (!options_.after) return;
    Module m = out_;
    m.kernels.push_back(k);
    name_layouts(m.kernels.back());
    options_.after(pass, m);
  }

  // By warpgroups, where the target has them and the kernel suits them.
  std::optional<Kernel> by_warpgroups(const tile::Kernel& original, TileRules rules) {
    if (target_.capability != 90 || !target_.exact) return std::nullopt;
    rules.staged_bytes = kStagedByWarpgroups;
    std::set<std::string> spread;
    const tile::Kernel k = prepared(original, rules, spread);
    const Units units{options_.tf32, true, &tile_};
    const Layouts layouts = infer_layouts(k, choose_warps(k, units, spread), units, spread);
    if (!layouts.bulk) return std::nullopt;
    auto made = with_roles(k, layouts);
    return made ? std::optional(*std::move(made)) : std::nullopt;
  }

  // With the number of warps asked for, or with more of them until the tiles fit the registers.
  Expected<Kernel> kernel(const tile::Kernel& original) {
    TileRules rules;
    rules.module = &tile_;
    rules.tf32 = options_.tf32;
    rules.staged_bytes = std::min<int64_t>(rules.staged_bytes, target_.shared_bytes / 4);
    if (auto made = by_warpgroups(original, rules)) {
      longest_first(*made, out_);
      return *std::move(made);
    }
    std::set<std::string> shared_out;
    const tile::Kernel k = prepared(original, rules, shared_out);
    const Units lanes{options_.tf32};
    const int64_t asked = knob(options_, "warps", 0);
    std::optional<Kernel> best;
    int64_t least = 0;
    for (int warps = asked ? int(asked) : choose_warps(k, lanes, shared_out); warps <= kMostWarps;
         warps *= 2) {
      auto made = with_warps(k, warps, shared_out);
      if (!made) {
        if (best) break;
        return made.error();
      }
      const int64_t pressure = register_pressure(*made);
      if (best && pressure >= least) break;  // more warps hold copies
      best = *std::move(made);
      least = pressure;
      if (least <= kRegisters || asked) break;
    }
    if (!best)
      return Refusal{
          "lower kernel " + original.name, "",
          std::to_string(asked) + " warps asked for; a block has 1 to 16, a power of two",
          "another number of warps"};
    if (least > options_.most_registers)
      return Refusal{"lower kernel " + original.name, "",
                     "its tiles take " + std::to_string(least) +
                         " registers a thread with all the warps of a block; a thread has 255",
                     "smaller tiles"};
    longest_first(*best, out_);
    best->blocks_per_sm = blocks_beside(*best, least, target_);
    name_layouts(*best);
    return *std::move(best);
  }

  // Warpgroup products fed by a producer warp. Rings as deep as fits: what is not needed does not
  // cost anything but room.
  Expected<Kernel> with_roles(const tile::Kernel& k, const Layouts& layouts) {
    auto emitted = Emitter(out_, k, layouts).run();
    if (!emitted) return emitted.error();
    after("placement", *emitted);
    const int64_t pressure = register_pressure(*emitted);
    if (pressure > options_.most_registers)
      return Refusal{"lower kernel " + k.name, "", "its tiles do not fit the registers",
                     "smaller tiles"};
    const int blocks = layouts.warps == 4 ? 2 : 1;
    for (int beside = blocks; beside >= 1; --beside)
      for (int stages = kMostStages; stages >= 2; --stages) {
        Kernel out = *emitted;
        if (auto bad = specialize(out, stages, out_.sizes)) return *bad;
        overlap_products(out);
        wait_for_products(out);
        place_buffers(out);
        if (beside * (out.shared_bytes() + 1024) > target_.shared_bytes + 1024) continue;
        after("roles", out);
        std::set<std::string> apart;
        for (const MBarrier& b : out.mbarriers)
          if (b.name.starts_with("full_")) apart.insert(b.name.substr(5));
        synchronize(out, {}, apart);
        name_barriers(out);
        after("synchronization", out);
        out.blocks_per_sm = beside;
        share_registers(out);
        name_layouts(out);
        return out;
      }
    return Refusal{"lower kernel " + k.name, "", "its tiles do not fit the shared memory",
                   "smaller tiles"};
  }

  // Rings as deep as asked for, or as fits.
  Expected<Kernel> with_warps(const tile::Kernel& k, int warps,
                              const std::set<std::string>& spread) {
    const Layouts layouts = infer_layouts(k, warps, {options_.tf32}, spread);
    auto emitted = Emitter(out_, k, layouts).run();
    if (!emitted) return emitted.error();
    after("placement", *emitted);
    const int64_t stages = std::clamp<int64_t>(knob(options_, "stages", 2), 1, 8);
    int64_t bytes = 0;
    for (int64_t s = stages; s >= 1; --s) {
      Kernel out = *emitted;
      const Rings rings = pipeline(out, int(s));
      after("pipelining", out);
      place_buffers(out);
      bytes = out.shared_bytes();
      if (bytes > target_.shared_bytes) continue;
      synchronize(out, rings);
      after("synchronization", out);
      return out;
    }
    return Refusal{"lower kernel " + k.name, "",
                   "its tiles take " + std::to_string(bytes) +
                       " bytes of shared memory; a block of " + options_.target + " has " +
                       std::to_string(target_.shared_bytes),
                   "smaller tiles"};
  }
};

}  // namespace

Expected<Module> lower(const tile::Module& m, const LowerOptions& o) {
  if (auto bad = tile::verify(m)) return *bad;
  return Lowering(m, o).run();
}

}  // namespace nautilus::memory
