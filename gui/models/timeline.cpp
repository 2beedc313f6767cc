#include "gui/models/timeline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "compiler/tile/rewrite.h"
#include "gui/models/timeline_trace.h"

namespace nautilus::gui {

using memory::Code;

namespace {

constexpr int64_t kUnbound = 64;  // value of a size that the program leaves open

// What an instruction costs one unit of the machine while all warps of a role run it.
class Durations {
 public:
  Durations(const memory::Kernel& k, const sched::Machine& m) : k_(k), m_(m) {}

  // Elements that the role's warps hold of a value, copies included.
  double elements(memory::ValueId v, const memory::Role& r) const {
    const auto at = k_.types.find(v);
    if (at == k_.types.end()) return 0;
    const double a_thread = at->second.axes.empty() ? 1 : double(at->second.place.registers());
    return a_thread * 32 * r.warps;
  }
  double value_bytes(memory::ValueId v, const memory::Role& r) const {
    const auto at = k_.types.find(v);
    return at == k_.types.end() ? 0 : elements(v, r) * type_bytes(at->second.elem);
  }
  double lanes(double operations, const std::string& unit = "fma") const {
    return operations * m_.slots(unit) / (m_.fma.value / 2 / m_.units);
  }
  double shared(double bytes) const {
    const sched::MemoryLevel* l = m_.level("shared");
    return l ? bytes / (l->best_bandwidth() / m_.units) : 0;
  }
  double global(double bytes) const {
    return bytes / (m_.levels.front().best_bandwidth() / m_.units);
  }
  double slot_bytes(const std::string& buffer) const {
    const memory::SharedBuffer* b = memory::find_buffer(k_, buffer);
    if (!b) return 0;
    double n = type_bytes(b->elem);
    for (const memory::Axis& a : b->axes) n *= double(a.extent);
    return n;
  }
  double product(const memory::Instr& i, const memory::Role& r) const {
    if (i.operands.empty()) return 0;
    double depth = 1;
    Type elem = Type::F16;
    if (i.code == Code::Wgmma) {
      for (const memory::Axis& a : i.span) depth *= double(a.extent);
      if (const auto* b = memory::find_buffer(k_, i.buffer_b)) elem = b->elem;
    } else if (i.operands.size() > 1) {
      const memory::FragmentType& a = k_.types.at(i.operands[1]);
      elem = a.elem;
      for (const memory::Axis& x : a.axes)
        if (std::count(i.axes.begin(), i.axes.end(), x.name)) depth *= double(x.extent);
    }
    return 2 * depth * elements(i.operands[0], r) /
           (m_.matrix_rate(elem) * m_.sustained.value / m_.units);
  }
  // Work on registers and how long it takes.
  std::pair<Work, double> registers(const memory::Instr& i, const memory::Role& r) const {
    const double n = i.results.empty() ? 0 : elements(i.results[0], r);
    switch (i.code) {
      case Code::Map: {
        double lane_time = 0, special = 0;
        for (const tile::UnitOps& u : tile::op_units(i.op)) {
          if (std::string_view(u.unit) == "special") special += u.per_lane * n;
          lane_time += lanes(u.per_lane * n, u.unit);
        }
        const double special_time = special / (m_.special.value / m_.units);
        return special_time > lane_time ? std::pair{Work::Special, special_time}
                                        : std::pair{Work::Lanes, lane_time};
      }
      case Code::Cast:
        return {Work::Lanes, lanes(n, "convert")};
      case Code::Mask:
        return {Work::Lanes, lanes(n, "compare")};
      case Code::Reduce:
        // In registers first, then five exchanges between lanes.
        return {Work::Lanes, lanes(elements(i.operands.at(0), r) + 10 * n)};
      case Code::Exchange:
        return {Work::Lanes, lanes(2 * n)};
      case Code::Const:
      case Code::Iota:
        return {Work::Lanes, lanes(n)};
      default:
        return {Work::Lanes, 0};
    }
  }
  double barrier() const { return m_.barrier_latency.value; }
  double latency() const { return m_.memory_latency.value; }

 private:
  const memory::Kernel& k_;
  const sched::Machine& m_;
};

struct PhaseState {
  int64_t done = 0;  // phases that ended
  double ended = 0, arrived = 0, landed = 0;
  int64_t arrivals = 0, expected = 0, got = 0;
};
struct RoleState {
  const memory::Role* role = nullptr;
  Trace trace;
  size_t at = 0;
  double now = 0;
  std::vector<double> groups;  // ends of closed copy groups, oldest first
  double open = 0;             // end of the copies of the open group
  std::vector<double> products;
  double product_end = 0;
  int meeting = -1;  // of a barrier that it waits at: which time
};
struct Meeting {
  int64_t came = 0;
  std::vector<double> at;  // when the last one came, by time
};

class Simulation {
 public:
  Simulation(const memory::Module& module, const memory::Kernel& k, const sched::Machine& m)
      : k_(k), d_(k, m) {
    for (const std::string& s : module.sizes) block_[s] = kUnbound;
  }

  Timeline run(int iterations) {
    longest_block(iterations);
    for (bool moved = true; moved;) {
      moved = false;
      for (RoleState& r : roles_)
        while (r.at < r.trace.steps.size() && step(r)) ++r.at, moved = true;
    }
    // Roles that were cut short may wait for what the rest of another one does.
    const bool cut = std::any_of(roles_.begin(), roles_.end(),
                                 [](const RoleState& r) { return r.trace.cut; });
    for (const RoleState& r : roles_) {
      out_.stuck |= !cut && r.at < r.trace.steps.size();
      out_.seconds = std::max(out_.seconds, r.now);
      if (r.trace.trips > out_.trips)
        out_.trips = r.trace.trips, out_.shown_trips = r.trace.shown,
        out_.loop = QString::fromStdString(r.trace.loop);
    }
    for (const TimelineBar& b : out_.bars) out_.seconds = std::max(out_.seconds, b.end);
    std::stable_sort(out_.bars.begin(), out_.bars.end(),
                     [](const TimelineBar& a, const TimelineBar& b) { return a.begin < b.begin; });
    return std::move(out_);
  }

 private:
  const memory::Kernel& k_;
  const Durations d_;
  Environment block_;
  std::vector<RoleState> roles_;
  std::map<std::pair<size_t, QString>, int> rows_;
  std::map<std::pair<std::string, int64_t>, PhaseState> phases_;
  std::map<std::string, Meeting> meetings_;  // "": of the whole block
  double copy_engine_ = 0;
  Timeline out_;

  // Of the first and the last block the one that does more.
  void longest_block(int iterations) {
    std::vector<RoleState> best;
    int64_t most = -1;
    for (const bool last : {true, false}) {
      Environment env = block_;
      for (const tile::GridDim& g : k_.grid) {
        int64_t extent = 1;
        try {
          extent = g.extent.evaluate(env);
        } catch (const std::out_of_range&) {
        }
        env[g.iv] = last ? std::max<int64_t>(0, extent - 1) : 0;
      }
      std::vector<RoleState> roles;
      int64_t trips = 0;
      for (const memory::Role& r : k_.roles) {
        roles.push_back({&r, trace_role(r, env, iterations), 0, 0, {}, 0, {}, 0, -1});
        trips += roles.back().trace.trips;
      }
      if (trips > most) most = trips, best = std::move(roles);
    }
    roles_ = std::move(best);
  }

  int row(const RoleState& r, const QString& title) {
    const auto [at, fresh] =
        rows_.try_emplace({size_t(r.role - k_.roles.data()), title}, int(out_.rows.size()));
    if (fresh) out_.rows.push_back({QString::fromStdString(r.role->name), title});
    return at->second;
  }
  void bar(const RoleState& r, const QString& title, Work work, double begin, double end,
           const QString& what, int slot = -1) {
    if (end <= begin) return;
    const TraceStep& s = r.trace.steps[r.at];
    out_.bars.push_back({row(r, title), begin, end, work, what, s.iteration, slot, s.instr->node,
                         QString::fromStdString(s.instr->origin)});
  }
  void busy(RoleState& r, Work work, double seconds) {
    const memory::Instr& i = *r.trace.steps[r.at].instr;
    QString what = QString::fromUtf8(i.code == Code::Map ? op_name(i.op).data()
                                                         : memory::code_name(i.code).data());
    if (!i.origin.empty()) what += QLatin1Char(' ') + QString::fromStdString(i.origin);
    bar(r, work_name(work), work, r.now, r.now + seconds, what);
    r.now += seconds;
  }
  void wait_until(RoleState& r, double t, const QString& what) {
    bar(r, work_name(Work::Wait), Work::Wait, r.now, t, what);
    r.now = std::max(r.now, t);
  }

  // A copy starts to land a latency after it was asked for, and behind those before it.
  double copy(RoleState& r, const std::string& buffer, const QString& from, int64_t slot,
              double bytes) {
    const double lands = std::max(r.now + d_.latency(), copy_engine_) + d_.global(bytes);
    copy_engine_ = lands;
    bar(r, QStringLiteral("copy ") + QString::fromStdString(buffer), Work::Copy, r.now, lands,
        QStringLiteral("%1 → %2[%3]").arg(from, QString::fromStdString(buffer)).arg(slot),
        int(slot));
    return lands;
  }

  void finish(const std::string& name, PhaseState& p) {
    const memory::MBarrier* b = memory::find_mbarrier(k_, name);
    if (!b || p.arrivals < b->arrivals || p.got < p.expected) return;
    p.ended = std::max(p.arrived, p.landed);
    ++p.done;
    p.arrivals = p.expected = p.got = 0;
  }

  // False: it cannot go on yet.
  bool step(RoleState& r) {
    const TraceStep& s = r.trace.steps[r.at];
    const memory::Instr& i = *s.instr;
    const QString tensor = QString::fromStdString(i.tensor);
    switch (i.code) {
      case Code::LoadGlobal: {
        const double bytes = i.results.empty() ? 0 : d_.value_bytes(i.results[0], *r.role);
        const double lands = std::max(r.now + d_.latency(), copy_engine_) + d_.global(bytes);
        copy_engine_ = lands;
        bar(r, work_name(Work::Global), Work::Global, r.now, lands,
            QStringLiteral("load ") + tensor);
        r.now = lands;
        return true;
      }
      case Code::StoreGlobal:
      case Code::AtomicAdd:
        busy(r, Work::Global, d_.global(d_.value_bytes(i.operands.at(0), *r.role)));
        return true;
      case Code::LoadShared:
        busy(r, Work::Shared, d_.shared(d_.value_bytes(i.results.at(0), *r.role)));
        return true;
      case Code::StoreShared:
        busy(r, Work::Shared, d_.shared(d_.value_bytes(i.operands.at(0), *r.role)));
        return true;
      case Code::CopyPlain:
        wait_until(r, copy(r, i.buffer, tensor, s.slot, d_.slot_bytes(i.buffer)),
                   QStringLiteral("copy through registers"));
        return true;
      case Code::CopyAsync:
        r.open = std::max(r.open, copy(r, i.buffer, tensor, s.slot, d_.slot_bytes(i.buffer)));
        return true;
      case Code::CopyCommit:
        r.groups.push_back(r.open);
        r.open = 0;
        return true;
      case Code::CopyWait:
        while (int64_t(r.groups.size()) > i.count) {
          wait_until(r, r.groups.front(), QStringLiteral("wait for copies"));
          r.groups.erase(r.groups.begin());
        }
        return true;
      case Code::CopyBulk: {
        const double bytes = d_.slot_bytes(i.buffer);
        PhaseState& p = phases_[{i.barrier, s.slot_b}];
        p.landed = std::max(p.landed, copy(r, i.buffer, tensor, s.slot, bytes));
        p.got += int64_t(bytes);
        finish(i.barrier, p);
        return true;
      }
      case Code::ExpectBytes: {
        PhaseState& p = phases_[{i.barrier, s.slot}];
        p.expected += i.count;
        ++p.arrivals;
        p.arrived = std::max(p.arrived, r.now);
        finish(i.barrier, p);
        return true;
      }
      case Code::Arrive: {
        PhaseState& p = phases_[{i.barrier, s.slot}];
        p.arrivals += r.role->warps * std::max<int64_t>(1, i.count);
        p.arrived = std::max(p.arrived, r.now);
        finish(i.barrier, p);
        return true;
      }
      case Code::Wait: {
        const PhaseState& p = phases_[{i.barrier, s.slot}];
        if ((p.done & 1) == s.parity) return false;
        wait_until(r, p.ended, QStringLiteral("wait for ") + QString::fromStdString(i.barrier));
        return true;
      }
      case Code::NamedSync:
      case Code::NamedArrive: {
        const memory::NamedBarrier* b = memory::find_named(k_, i.barrier);
        return meet(r, i.barrier, r.role->warps, b ? b->warps : r.role->warps,
                    i.code == Code::NamedSync, QStringLiteral("barrier"));
      }
      case Code::BlockSync:
        return meet(r, "", 1, int(roles_.size()), true, QStringLiteral("barrier of the block"));
      case Code::Mma:
        busy(r, Work::Matrix, d_.product(i, *r.role));
        return true;
      case Code::Wgmma: {
        const double begin = std::max(r.now, r.product_end), end = begin + d_.product(i, *r.role);
        bar(r, work_name(Work::Matrix), Work::Matrix, begin, end,
            QStringLiteral("wgmma ") + QString::fromStdString(i.origin));
        r.product_end = end;
        return true;
      }
      case Code::MmaCommit:
        r.products.push_back(r.product_end);
        return true;
      case Code::MmaWait:
        while (int64_t(r.products.size()) > i.count) {
          wait_until(r, r.products.front(), QStringLiteral("wait for products"));
          r.products.erase(r.products.begin());
        }
        return true;
      default: {
        const auto [work, seconds] = d_.registers(i, *r.role);
        busy(r, work, seconds);
        return true;
      }
    }
  }

  // Goes on when `all` have come, `own` of them with this role.
  bool meet(RoleState& r, const std::string& name, int own, int all, bool waits,
            const QString& what) {
    Meeting& m = meetings_[name];
    if (r.meeting < 0) {
      const size_t now = size_t(m.came / std::max(1, all));
      if (m.at.size() <= now) m.at.resize(now + 1, 0);
      m.at[now] = std::max(m.at[now], r.now);
      m.came += own;
      if (!waits) return true;
      r.meeting = int(now);
    }
    if (m.came < int64_t(all) * (r.meeting + 1)) return false;
    const double at = m.at[size_t(r.meeting)];
    r.meeting = -1;
    wait_until(r, at + d_.barrier(), what);
    return true;
  }
};

}  // namespace

QString work_name(Work w) {
  switch (w) {
    case Work::Copy:
      return QStringLiteral("copies");
    case Work::Matrix:
      return QStringLiteral("matrix unit");
    case Work::Lanes:
      return QStringLiteral("lanes");
    case Work::Special:
      return QStringLiteral("special functions");
    case Work::Shared:
      return QStringLiteral("shared memory");
    case Work::Global:
      return QStringLiteral("global memory");
    case Work::Wait:
      return QStringLiteral("waits");
  }
  return {};
}

Timeline simulate(const memory::Module& module, const memory::Kernel& k, const sched::Machine& m,
                  int iterations) {
  if (m.kind != "gpu" || m.levels.empty()) return {};
  return Simulation(module, k, m).run(iterations);
}

}  // namespace nautilus::gui
