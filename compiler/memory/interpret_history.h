// Who knows what has happened: vector clocks of warps and of the asynchronous engines they drive,
// and for each element of memory the accesses that a later one must be ordered after. (Vector
// clocks: Mattern 1989; last writes and reads as epochs: FastTrack, Flanagan and Freund 2009.)
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/memory/ir.h"

namespace nautilus::memory {

using Clock = std::vector<uint32_t>;
void join(Clock& a, const Clock& b);

// What one warp does by itself or through an engine, each with a count of its own: a component of
// the clocks. An access with stamp s of component c is known to have happened where clock[c] >= s.
enum class Part : uint8_t {
  Lanes,         // accesses of lanes; the stamp grows when the warp publishes
  Copies,        // cp.async, by group
  Products,      // wgmma, by batch
  StoreReads,    // reads of shared by bulk stores, by group
  Stores,        // writes of global by bulk stores, by group
  Fenced,        // writes of lanes (by stamp) that a proxy fence of their warp followed
  FencedCopies,  // likewise of cp.async (by group)
};
inline constexpr int kParts = 7;
inline constexpr int kNoWarp = -1;
inline constexpr int kWholeWarp = 255;  // the lane of an access that is the whole warp's

// Components: those of each warp, then the ended phases of each slot of each mbarrier (bulk copies
// are known to be done by the phase that counts their bytes).
struct Components {
  int warps = 0;
  std::vector<int> barrier;  // first component of each mbarrier
  int count = 0;
  int of(int warp, Part p) const { return warp * kParts + int(p); }
  bool is_phase(int c) const { return c >= warps * kParts; }
  Part part(int c) const { return Part(c % kParts); }
};

// One execution of an instruction that touches memory.
struct Event {
  const Instr* instr = nullptr;
  int warp = 0;
  int component = 0;
  uint32_t stamp = 0;
  int iteration = -1;  // of the warp's loops, as the machine numbers them
};

// What a warp knows: of all, and (lanes only of their own) of copies and bulk stores waited for.
struct Knowledge {
  int warp = 0;
  Clock clock;
  uint32_t stamp = 1;  // of lane accesses from now on
  uint32_t copies_done = 0, store_reads_done = 0, stores_done = 0;
};

struct Access {
  const Knowledge* by = nullptr;
  int event = 0;
  int lane = 0;
  bool engine = false;  // by an asynchronous engine through its own proxy (bulk, wgmma)
};
struct Conflict {
  FaultKind kind = FaultKind::Race;
  int event = 0;  // of the earlier access
  int lane = 0;
};

// Accesses of one element that later ones must be ordered after.
struct Records {
  int32_t write = -1;  // event
  int32_t reads = -1;  // list of the reads since, one a component
  uint8_t write_lane = 0;
};

class History {
 public:
  void reset(Components c);
  const Components& components() const { return components_; }
  int add(const Event& e);
  const Event& event(int e) const { return events_[size_t(e)]; }
  std::optional<Conflict> read(Records& r, const Access& a);
  std::optional<Conflict> write(Records& r, const Access& a);

 private:
  struct Read {
    int32_t event;
    int32_t next;
    uint8_t lane;
  };
  Components components_;
  std::vector<Event> events_;
  std::vector<Read> reads_;
  int32_t free_ = -1;
  bool ordered(const Event& e, int lane, const Access& a) const;
  std::optional<Conflict> after(int32_t event, int lane, bool was_write, const Access& a) const;
};

}  // namespace nautilus::memory
