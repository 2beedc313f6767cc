// wgmma: instructions of 64 rows and up to 256 columns, step by step along the contracted axes;
// shared operands by descriptors, whose starts are constants away from one that a thread computes
// once.
#include <algorithm>
#include <optional>

#include "compiler/backend/cuda/emitter.h"
#include "compiler/backend/cuda/scalar.h"
#include "compiler/memory/checks.h"

namespace nautilus::cuda {

namespace {

// Accumulators of an instruction, `first[k]` those of columns 8 k and on: groups of registers in a
// row, at equal distances. Absent: there is no such pattern.
std::optional<Spacing> accumulator_spacing(const std::vector<int>& first) {
  size_t together = 1;
  while (together < first.size() && first[together] == first[together - 1] + 4) ++together;
  Spacing s{int(4 * together), int(4 * together)};
  if (together < first.size()) s.distance = first[together] - first[0];
  for (size_t k = 0; k < first.size(); ++k)
    if (first[k] - first[0] != s.at(int(4 * k))) return std::nullopt;
  return s;
}

}  // namespace

// starts: coordinates of the first element of each part, on the product's axes.
std::optional<KernelEmitter::SharedOperand> KernelEmitter::shared_operand(
    const Instr& i, bool first, const Geometry& c,
    const std::vector<std::map<std::string, int64_t>>& starts) {
  const SharedBuffer& b = *memory::find_buffer(k_, first ? i.buffer : i.buffer_b);
  const std::vector<IndexExpr>& index = first ? i.index : i.index_b;
  std::vector<Axis> axes = c.axes;
  axes.insert(axes.end(), i.span.begin(), i.span.end());
  std::map<std::string, std::string> names;
  for (size_t d = 0; d < index.size(); ++d) {
    const auto axis = memory::plain_axis(index[d], axes);
    if (!axis) return std::nullopt;
    names[b.axes[d].name] = *axis;
  }
  const Placement place = memory::renamed(b.place, names);
  std::string inner;
  std::vector<Axis> own;
  for (const Axis& a : axes)
    for (const auto& [from, to] : names)
      if (to == a.name) {
        own.push_back(a);
        if (place.map.out_bits(a.name) && place.map.image("offset", 0, a.name)) inner = a.name;
      }
  const int bytes = type_bytes(b.elem);
  const auto mode = memory::hardware_swizzle(place, bytes, inner);
  if (!mode) return std::nullopt;
  SharedOperand out;
  out.transposed =
      std::none_of(i.span.begin(), i.span.end(), [&](const Axis& a) { return a.name == inner; });
  if (*mode == 0 && out.transposed) return std::nullopt;
  // Coordinates of the starts as a tile whose registers are the parts; warps 4 apart are
  // warpgroups.
  auto& stored = geometries_["wgmma " + std::to_string(geometries_.size())];
  std::vector<memory::Bits> bits;
  for (const Axis& a : own) {
    int n = 0;
    while ((int64_t(1) << n) < a.extent) ++n;
    bits.push_back({a.name, n});
  }
  const int warps = c.place.map.in_bits("warp");
  std::vector<std::vector<uint32_t>> images;
  for (int w = 0; w < warps; ++w) {
    images.emplace_back();
    for (const memory::Bits& o : bits)
      images.back().push_back(
          w < 2 || !c.place.map.out_bits(o.name) ? 0 : c.place.map.image("warp", w, o.name));
  }
  auto map = memory::Linear::make({{"warp", warps}}, bits, images);
  if (!map) return std::nullopt;
  stored = std::make_unique<Geometry>(Placement{*map, {}}, own);
  Geometry& g = *stored;
  g.registers = int(starts.size());
  for (const Axis& a : own) {
    auto& at = g.at[a.name];
    at.clear();
    for (const auto& s : starts) at.push_back(s.count(a.name) ? s.at(a.name) : 0);
  }
  const SharedPlace s = shared_place(b, first ? i.slot : i.slot_b, index, g);
  const int row = *mode ? 16 << *mode : 16;
  const int64_t panel = (int64_t(1) << b.place.map.in_bits("offset")) * bytes;
  static const int kinds[] = {0, 3, 2, 1};
  const std::string make = helpers_.use("matrix_descriptor") + "<" + std::to_string(kinds[*mode]) +
                           ", " + std::to_string(*mode == 0 || out.transposed ? panel : 16) + ", " +
                           std::to_string(8 * row) + ">";
  Pick every = all(g.registers);
  bool constant = s.linear;
  for (int r = 0; r < g.registers && constant; ++r) {
    const std::string a = s.place.add(Pick{"", {r}});
    constant = a.find_first_not_of("0123456789") == std::string::npos;
  }
  if (!constant) return std::nullopt;
  out.descriptor = local("const uint64_t", b.name + "_matrix", make + "(" + s.place.base + ")");
  std::vector<int64_t> sixteenths;
  for (int r = 0; r < g.registers; ++r)
    sixteenths.push_back(std::stoll(s.place.add(Pick{"", {r}})) / 16);
  out.add = [=, this](const Pick& p) { return pick(p, sixteenths); };
  return out;
}

void KernelEmitter::wgmma(const Instr& i) {
  const int result = i.results[0];
  const Geometry& c = geometry(result);
  // The first step of a sum from 0 writes its accumulators: registers set to 0 after the fence
  // would make ptxas order the products by itself.
  const bool fresh = constants_.count(i.operands[0]) > 0;
  if (!fresh) copy(result, i.operands[0]);
  const bool registers = i.operands.size() == 2;
  const SharedBuffer& b = *memory::find_buffer(k_, i.buffer_b);
  const bool tf32 = i.shape == memory::Shape::M64NxK8;
  const int step = tf32 ? 8 : 16;
  std::vector<std::string> b_axes;
  for (const IndexExpr& e : i.index_b) e.collect_vars(b_axes);
  std::vector<Axis> rows, columns;
  for (const Axis& a : c.axes)
    (std::find(b_axes.begin(), b_axes.end(), a.name) != b_axes.end() ? columns : rows).push_back(a);

  // One instruction each: up to 256 columns of the same rows, wherever their registers are.
  struct Run {
    std::vector<int> registers;  // the first of every eight columns
    std::map<std::string, int64_t> start;
  };
  std::vector<Run> runs;
  for (int r = 0; r < c.registers; r += 4) {
    std::map<std::string, int64_t> at;
    for (const Axis& a : c.axes) at[a.name] = c.at.at(a.name)[size_t(r)];
    const auto follows = [&](const Run& run) {
      if (columns.size() != 1 || run.registers.size() >= 32) return false;
      auto expected = run.start;
      expected[columns[0].name] += 8 * int64_t(run.registers.size());
      return expected == at;
    };
    const auto run = std::find_if(runs.begin(), runs.end(), follows);
    if (run != runs.end())
      run->registers.push_back(r);
    else
      runs.push_back({{r}, at});
  }
  const auto spacing = accumulator_spacing(runs[0].registers);
  for (const Run& r : runs)
    if (r.registers.size() != runs[0].registers.size() || !spacing ||
        accumulator_spacing(r.registers) != spacing)
      return refuse(i, "instructions of the product would differ in width");
  // Steps along the contracted axes; an instruction's lie along the last.
  std::vector<std::map<std::string, int64_t>> steps(1);
  for (size_t a = 0; a < i.span.size(); ++a) {
    std::vector<std::map<std::string, int64_t>> next;
    for (const auto& s : steps)
      for (int64_t x = 0; x < i.span[a].extent; x += a + 1 == i.span.size() ? step : 1) {
        next.push_back(s);
        next.back()[i.span[a].name] = x;
      }
    steps = std::move(next);
  }
  if (i.span.empty() || i.span.back().extent % step)
    return refuse(i, "the last contracted axis is no multiple of the instruction's");
  std::vector<std::map<std::string, int64_t>> starts;
  for (const auto& s : steps)
    for (const Run& r : runs) {
      starts.push_back(r.start);
      starts.back().insert(s.begin(), s.end());
    }
  const int count = int(runs.size()), total = int(steps.size());
  const auto right = shared_operand(i, false, c, starts);
  const auto left = registers ? std::nullopt : shared_operand(i, true, c, starts);
  if (!right || (!registers && !left))
    return refuse(i, "a shared operand lies at no constant distance from a descriptor");
  const std::string type = tf32 ? "tf32" : b.elem == Type::BF16 ? "bf16" : "f16";
  const auto helper = [&](bool first) {
    return helpers_.use_wgmma({8 * int(runs[0].registers.size()), *spacing, type, registers,
                               left && left->transposed, right->transposed, first});
  };
  const std::string k = total > 1 ? names_.fresh("k_part") : "";
  Pick p{count > 1 ? "g" : "", {}, k, count}, acc{count > 1 ? "g" : "", {}};
  for (int n = 0; n < total * count; ++n) p.regs.push_back(n);
  for (const Run& r : runs) acc.regs.push_back(r.registers[0]);
  std::string a;
  if (left) {
    a = sum_text({left->descriptor, left->add(p)});
  } else {
    const int value = i.operands[1];
    const Geometry& ga = geometry(value);
    std::vector<Axis> contracted, kept;
    for (const Axis& x : ga.axes)
      (std::any_of(i.span.begin(), i.span.end(), [&](const Axis& y) { return y.name == x.name; })
           ? contracted
           : kept)
          .push_back(x);
    std::map<std::map<std::string, int64_t>, int> where;
    for (int r = 0; r < ga.registers; r += tf32 ? 4 : 8) {
      std::map<std::string, int64_t> at;
      for (const Axis& x : ga.axes) at[x.name] = ga.at.at(x.name)[size_t(r)];
      where[at] = tf32 ? r : r / 2;
    }
    Pick words = p;
    for (int n = 0; n < total * count; ++n) {
      std::map<std::string, int64_t> at;
      for (const Axis& x : ga.axes) at[x.name] = starts[size_t(n)].at(x.name);
      const auto it = where.find(at);
      if (it == where.end())
        return refuse(i, "the operand in registers lacks a part that the accumulator needs");
      words.regs[size_t(n)] = it->second;
    }
    std::string array = variable(value).name;
    if (tf32) {
      helpers_.use("mma_tf32");  // to_tf32
      array = names_.fresh(array + "_tf32");
      line("uint32_t " + array + "[" + std::to_string(ga.registers) + "];");
      const Pick over = all(ga.registers);
      unrolled(over, array + "[" + index(over) + "] = to_tf32(" + read(value, over) + ");");
    }
    a = "&" + array + "[" + index(words) + "]";
  }
  const std::string operands = "(&" + storage(result, acc) + ", " + a + ", " +
                               sum_text({right->descriptor, right->add(p)}) + ");";
  std::string statement = helper(fresh && total == 1) + operands;
  if (fresh && total > 1)
    statement = "if (" + k + " == 0) " + helper(true) + operands + " else " + statement;
  auto body = [&] { unrolled(acc, statement); };
  if (total > 1)
    unrolled(k, total, body);
  else
    body();
}

// Accumulators are read after the wait only.
void KernelEmitter::mma_wait(const Instr& i) {
  line(helpers_.use("mma_wait") + "<" + std::to_string(i.count) + ">();");
  std::set<std::string> pinned;
  for (int v : i.operands)
    if (!variable(v).scalar && !packed(variable(v).elem) && pinned.insert(variable(v).name).second)
      line(helpers_.use("pin") + "(" + variable(v).name + ");");
  std::vector<std::pair<int, int>> out;
  for (size_t n = 0; n < i.results.size(); ++n) out.emplace_back(i.results[n], i.operands[n]);
  moves(out);
}

}  // namespace nautilus::cuda
