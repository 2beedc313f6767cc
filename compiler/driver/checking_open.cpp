#include <algorithm>
#include <numeric>

#include "compiler/driver/checking_runs.h"
#include "compiler/runtime/runtime.h"

namespace nautilus::driver {
namespace {

// Values of one open size: with full tiles and a rest, one more and one less than a tile, a tile,
// one, none. Multiples stay multiples.
std::vector<int64_t> values_of(const Loaded& in, const sched::Plan& plan, const memory::Module& m,
                               const poly::Sizes& small, const std::string& size) {
  int64_t tile = 0;
  for (const std::string& a : dims_of(in.general, in.sizes, size))
    if (const int64_t t = tile_of(plan.knobs, a)) tile = tile ? std::lcm(tile, t) : t;
  std::vector<int64_t> out;
  if (tile > 1)
    out = {small.at(size), tile + 1, 1, tile - 1, tile, 0};
  else
    out = {2, 1, 3, 1, 2, 0};
  const auto multiple = m.multiples.find(size);
  if (multiple != m.multiples.end())
    for (int64_t& v : out) v = (v + multiple->second - 1) / multiple->second * multiple->second;
  return out;
}

// Whether an index tensor would have to name an element of nothing.
bool gathers_from_nothing(const poly::Program& p, const memory::Module& m,
                          const poly::Sizes& sizes) {
  const auto empty = [&](const poly::Access& a) {
    for (const memory::TensorDecl& t : m.tensors)
      for (const poly::Access::Gather& g : a.gathers)
        if (t.name == a.tensor && t.extents[g.dim].evaluate(sizes) == 0) return true;
    return false;
  };
  for (const poly::Statement& s : p.statements)
    if (empty(s.write) || std::any_of(s.reads.begin(), s.reads.end(), empty)) return true;
  return false;
}

// Together from row to row, then each a row further than the one before: sizes that are equal and
// that are not.
std::vector<poly::Sizes> rows_of(const Loaded& in, const OpenProgram& open, const sched::Plan& plan,
                                 const memory::Module& m) {
  const poly::Sizes small = small_sizes(in, plan, m, 1);
  std::vector<std::vector<int64_t>> values;
  for (const std::string& s : open.sizes) values.push_back(values_of(in, plan, m, small, s));
  std::vector<poly::Sizes> out;
  for (size_t step = 0; step < (open.sizes.size() > 1 ? 2 : 1); ++step)
    for (size_t row = 0; row < values[0].size(); ++row) {
      poly::Sizes sizes = in.sizes;
      for (size_t k = 0; k < values.size(); ++k)
        sizes[open.sizes[k]] = values[k][(row + step * k) % values[k].size()];
      if (open.facts.evaluate(sizes) && !gathers_from_nothing(*open.program, m, sizes) &&
          std::find(out.begin(), out.end(), sizes) == out.end())
        out.push_back(std::move(sizes));
    }
  // Large ones may take all the time there is.
  const auto work = [](const poly::Sizes& sizes) {
    double product = 1;
    for (const auto& [name, value] : sizes) product *= double(value);
    return product;
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const poly::Sizes& a, const poly::Sizes& b) { return work(a) < work(b); });
  return out;
}

// One row. Nothing for good; `c` says what was done and what was not.
std::optional<Refusal> check_at(const OpenProgram& open, const LoweredPlan& own,
                                const poly::Sizes& sizes, KernelCheck& c) {
  const memory::Module& m = own.memory;
  const auto leave_out = [&](const std::string& why) {
    c.left_out += (c.left_out.empty() ? "" : "; ") + ("at " + poly::sizes_text(sizes) + ": " + why);
    return std::nullopt;
  };
  if (elements_of(m, sizes) > kElements) return leave_out("its tensors are too large to interpret");
  const poly::Buffers inputs = runtime::make_inputs(*open.program, sizes, 1);
  auto run = run_blocks(m, sizes, inputs, true);
  if (!run) return leave_out(run.error().why);
  c.operations += run->result.ops;
  if (!run->result.faults.empty()) return faulty(m.name, sizes, run->result.faults[0]);
  if (!run->finished)
    return leave_out("blocks after " + std::to_string(kOperations) + " operations");
  tile::InterpretOptions o;
  o.max_ops = kTileOperations;
  const auto want = tile::interpret(own.tile, sizes, inputs, o);
  if (!want) return leave_out("values: " + want.error().why);
  if (auto bad = output_difference(own.tile, sizes, *want, run->result.outputs))
    return Refusal{"check kernel " + m.name + poly::with_sizes(sizes), "",
                   "it computes other values than the tile program: " + *bad,
                   "another plan; --no-check hands the kernel out as it is"};
  if (!c.done) c.sizes = sizes;
  if (c.done) c.others.push_back(sizes);
  c.done = c.every_block = c.values = c.reduced = true;
  return std::nullopt;
}

}  // namespace

Expected<KernelCheck> check_open_kernels(const Loaded& in, const OpenProgram& open,
                                         const sched::Plan& plan, const LoweredPlan& own) {
  const auto start = std::chrono::steady_clock::now();
  KernelCheck c;
  c.sizes = in.sizes;
  auto rows = poly::with_quota(in.general.context->get(), poly::kDefaultQuota,
                               [&] { return rows_of(in, open, plan, own.memory); });
  if (!rows) c.left_out = rows.error().why;
  for (size_t k = 0; rows && k < rows->size(); ++k) {
    if (c.operations > kOperations) {
      c.left_out += (c.left_out.empty() ? "" : "; ") +
                    (std::to_string(rows->size() - k) + " of the sizes, for want of time");
      break;
    }
    if (auto bad = check_at(open, own, (*rows)[k], c)) return *bad;
  }
  c.seconds = seconds_since(start);
  return c;
}

}  // namespace nautilus::driver
