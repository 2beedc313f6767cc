// A kernel resolved: names become slots, placements become tables, once for all blocks.
#include <algorithm>

#include "compiler/memory/interpret_machine.h"

namespace nautilus::memory {
namespace {

std::vector<std::string> axis_names(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const Axis& a : axes) names.push_back(a.name);
  return names;
}

template <class T>
int position(const std::vector<T>& all, const std::string& name) {
  for (size_t n = 0; n < all.size(); ++n)
    if (all[n].name == name) return int(n);
  return -1;
}

bool is_copy(Code c) {
  return c == Code::CopyPlain || c == Code::CopyAsync || c == Code::CopyBulk ||
         c == Code::BulkStore;
}
bool names_mbarrier(Code c) {
  return c == Code::CopyBulk || c == Code::Arrive || c == Code::ExpectBytes || c == Code::Wait;
}

}  // namespace

void Machine::refuse(const Instr& i, const Refusal& why) {
  if (error_) return;
  error_ = Refusal{"interpret memory module " + m_.name,
                   "kernel " + kernel_->name + ": " + print(i, *kernel_), why.why, why.suggest};
}

// Tables of values, buffers and roles. Buffers that are placed lie at their bytes (and may share
// them); the others follow, each in bytes of its own.
void Machine::load_kernel(const Kernel& k) {
  kernel_ = &k;
  error_.reset();
  fragments_ = Fragments{};
  value_slots_.clear(), value_fragments_.clear(), value_types_.clear();
  buffers_.clear(), shares_.clear(), roles_.clear(), banks_.clear();
  for (const auto& [v, t] : k.types) {
    value_slots_[v] = int(value_fragments_.size());
    value_fragments_.push_back(&fragments_.of(t));
    value_types_.push_back(t.elem);
  }
  granule_ = 4;
  int64_t end = 0;
  for (const SharedBuffer& b : k.buffers) {
    granule_ = std::min<int64_t>(granule_, type_bytes(b.elem));
    end = std::max(end, b.offset + b.slots * b.place.elements() * type_bytes(b.elem));
  }
  for (const SharedBuffer& b : k.buffers) {
    Shared s;
    s.decl = &b;
    s.table = buffer_table(b);
    const int64_t bytes = b.place.elements() * type_bytes(b.elem);
    int64_t start = b.offset;
    if (start < 0) {
      start = (end + 15) / 16 * 16;
      end = start + b.slots * bytes;
    }
    s.base = start / granule_;
    s.slot_cells = bytes / granule_;
    s.granules = int(type_bytes(b.elem) / granule_);
    buffers_.push_back(std::move(s));
  }
  cells_.assign(size_t(end / granule_), {});
  for (const GridDim& g : k.grid) names_.slot(g.iv);
  names_.slot("warp");
  for (const Role& r : k.roles) roles_.push_back(resolve(r.body, r));
}

Sequence Machine::resolve(const Region& r, const Role& role) {
  Sequence s;
  for (ValueId v : r.args) s.args.push_back(value_slots_.at(v));
  for (const Instr& i : r.body) {
    if (error_) return s;
    s.steps.push_back(resolve(i, role));
  }
  for (ValueId v : r.yields) s.yields.push_back(value_slots_.at(v));
  return s;
}

Step Machine::resolve(const Instr& i, const Role& role) {
  Step s;
  s.instr = &i;
  for (ValueId v : i.operands) s.in.push_back(value_slots_.at(v));
  for (ValueId v : i.results) s.out.push_back(value_slots_.at(v));
  if (!i.tensor.empty()) s.tensor = tensor_slots_.at(i.tensor);
  if (!i.buffer.empty()) s.buffer = position(kernel_->buffers, i.buffer);
  if (!i.buffer_b.empty()) s.buffer_b = position(kernel_->buffers, i.buffer_b);
  if (names_mbarrier(i.code)) s.barrier = position(kernel_->mbarriers, i.barrier);
  if (i.code == Code::NamedSync || i.code == Code::NamedArrive)
    s.barrier = position(kernel_->named, i.barrier);
  s.slot = PointIndex(i.slot, {}, names_);
  s.slot_b = PointIndex(i.slot_b, {}, names_);
  s.parity = PointIndex(i.parity, {}, names_);
  if (i.code == Code::For) {
    s.iv = names_.slot(i.iv);
    s.lower = PointIndex(i.lower, {}, names_);
    s.upper = PointIndex(i.upper, {}, names_);
  }
  if (i.code == Code::If) s.cond = PointCond(i.cond, {}, names_);
  for (const Region& r : i.regions) s.blocks.push_back(resolve(r, role));
  if (i.code != Code::For && i.code != Code::If) resolve_tables(s, role);
  return s;
}

// The tile whose elements an instruction goes over: its result's, or that of what it stores.
const Fragment* Machine::stored_fragment(const Step& s) const {
  const Code c = s.instr->code;
  if (c == Code::StoreGlobal || c == Code::StoreShared || c == Code::AtomicAdd)
    return value_fragments_[size_t(s.in[0])];
  return s.out.empty() ? nullptr : value_fragments_[size_t(s.out[0])];
}

void Machine::resolve_tables(Step& s, const Role& role) {
  const Instr& i = *s.instr;
  s.frag = stored_fragment(s);
  if (!s.out.empty()) s.elem = value_types_[size_t(s.out[0])];
  std::vector<std::string> axes = s.frag ? axis_names(s.frag->axes) : std::vector<std::string>{};
  if (is_copy(i.code)) {
    const SharedBuffer& b = kernel_->buffers[size_t(s.buffer)];
    const bool bulk = i.code == Code::CopyBulk || i.code == Code::BulkStore;
    axes = axis_names(b.axes);
    s.elem = b.elem;
    s.shares = shares(s.buffer, i.vector, bulk ? 0 : role.warps);
  }
  if (i.code == Code::Mma || i.code == Code::Wgmma) return resolve_product(s);
  for (const IndexExpr& e : i.index) s.index.emplace_back(e, axes, names_);
  s.cond = PointCond(i.cond, axes, names_);

  if (s.shares) {
    s.gather_at.resize(s.in.size());
    for (size_t n = 0; n < s.in.size(); ++n)
      for (size_t w = 0; w < s.shares->size(); ++w) {
        auto at = positions(*value_fragments_[size_t(s.in[n])], int(w), (*s.shares)[w].points);
        if (!at)
          return refuse(i, {"", "",
                            "warp " + std::to_string(w) +
                                " does not hold the indices of all elements that it copies",
                            ""});
        s.gather_at[n].push_back(std::move(*at));
      }
    return;
  }

  // Which operands are read position by position of the tile.
  const bool pointwise = i.code == Code::Map || i.code == Code::Cast || i.code == Code::Mask;
  const bool exchange = i.code == Code::Exchange;
  s.align.assign(s.in.size(), nullptr);
  for (size_t n = 0; n < s.in.size() && s.frag; ++n) {
    const bool gathered = std::find(i.gather.begin(), i.gather.end(), int(n)) != i.gather.end();
    if (!pointwise && !exchange && !gathered && i.code != Code::Slice) continue;
    std::vector<int64_t> starts;
    if (i.code == Code::Slice)
      for (const IndexExpr& e : i.index) starts.push_back(e.constant());
    auto a = fragments_.align(*value_fragments_[size_t(s.in[n])], *s.frag, exchange, starts);
    if (!a) return refuse(i, a.error());
    s.align[n] = *a;
  }
  if (i.code == Code::Reduce) {
    auto f = fragments_.fold(*value_fragments_[size_t(s.in[0])], *s.frag);
    if (!f) return refuse(i, f.error());
    s.fold = *f;
  }
  if (i.code == Code::Rename && value_fragments_[size_t(s.in[0])]->positions != s.frag->positions)
    refuse(i, {"", "", "the result has another number of registers than the operand", ""});
}

void Machine::resolve_product(Step& s) {
  const Instr& i = *s.instr;
  const bool warpgroup = i.code == Code::Wgmma;
  const Fragment* a = s.in.size() > 1 ? value_fragments_[size_t(s.in[1])] : nullptr;
  const Fragment* b = warpgroup ? nullptr : value_fragments_[size_t(s.in[2])];
  std::vector<Axis> contracted = i.span;
  std::vector<std::string> b_axes;
  if (warpgroup) {
    for (const IndexExpr& e : i.index_b) e.collect_vars(b_axes);
  } else {
    contracted.clear();
    for (const Axis& x : a->axes)
      if (std::find(i.axes.begin(), i.axes.end(), x.name) != i.axes.end()) contracted.push_back(x);
    b_axes = axis_names(b->axes);
  }
  for (const Axis& x : contracted)
    for (const Fragment* f : {a, b})
      if (f && f->place.extent(x.name) != x.extent)
        return refuse(i, {"", "", "the sum over " + x.name + " would take in padding of a factor",
                          "contract axes whose extents fill their placement"});
  std::sort(b_axes.begin(), b_axes.end());
  b_axes.erase(std::unique(b_axes.begin(), b_axes.end()), b_axes.end());
  auto p = fragments_.product(*s.frag, a, b, contracted, b_axes);
  if (!p) return refuse(i, p.error());
  s.product = *p;
  const Product::Warp& any = s.product->of(0);
  for (const IndexExpr& e : i.index) s.index.emplace_back(e, any.a_points.axes, names_);
  for (const IndexExpr& e : i.index_b) s.index_b.emplace_back(e, any.b_points.axes, names_);
}

const std::vector<Share>* Machine::shares(int buffer, int vector, int warps) {
  const std::string key =
      std::to_string(buffer) + "/" + std::to_string(vector) + "/" + std::to_string(warps);
  auto [it, fresh] = shares_.try_emplace(key);
  if (fresh)
    for (int w = 0; w < std::max(1, warps); ++w)
      it->second.push_back(copy_share(*buffers_[size_t(buffer)].decl,
                                      buffers_[size_t(buffer)].table, vector, warps, w));
  return &it->second;
}

}  // namespace nautilus::memory
