// Loads, stores and copies: vectors from divisibility, shared tiles without bank conflicts.
#include <algorithm>

#include "compiler/memory/f2.h"
#include "compiler/memory/lower/emit.h"
#include "compiler/memory/lower/products.h"

namespace nautilus::memory::lowering {

using TileCode = tile::Code;

namespace {

bool names(const IndexExpr& e, const std::string& axis) {
  std::vector<std::string> vars;
  e.collect_vars(vars);
  return std::find(vars.begin(), vars.end(), axis) != vars.end();
}

// A condition has one value on every aligned run of `elements` along `axis`.
bool constant_on_runs(const Cond& c, const std::string& axis, int64_t elements,
                      const std::map<std::string, int64_t>& uniform) {
  for (const auto& conj : c.any)
    for (const Cond::Atom& a : conj) {
      if (!names(a.expr, axis)) continue;
      const int64_t n = a.expr.coefficient(axis);
      if (a.equality || (n != 1 && n != -1)) return false;
      const IndexExpr rest = a.expr - IndexExpr::var(axis) * n;
      if (names(rest, axis)) return false;
      if (divisor(n < 0 ? rest + 1 : rest, uniform) % elements) return false;
    }
  return true;
}

int64_t ceil_power(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

// Rows or columns of a shared tile: the largest block of which no more than an eighth is padding.
int64_t shared_block(int64_t extent, int64_t least) {
  int64_t best = least;
  const int64_t lost = (extent + least - 1) / least * least;
  for (int64_t b = least; b <= ceil_power(std::max(extent, least)); b *= 2)
    if ((extent + b - 1) / b * b * 8 <= lost * 9) best = b;
  return best;
}

}  // namespace

// The widest access of a tile to global memory that is legal.
void Emitter::widen_global(Instr& i, const FragmentType& t) {
  const int bytes = type_bytes(t.elem);
  if (i.index.empty() || t.axes.empty()) return;
  const auto axis = plain_axis(i.index.back(), t.axes);
  if (!axis) return;
  // The result of a load needs a number to be looked up by the rules.
  const ValueId v = k_.next_value;
  const bool load = i.code == Code::LoadGlobal;
  if (load) k_.types[v] = t, i.results = {v};
  for (int bytes_wide = 16; bytes_wide > bytes; bytes_wide /= 2) {
    i.vector = bytes_wide;
    if (constant_on_runs(i.cond, *axis, bytes_wide / bytes, uniform_) &&
        check_global(scope(), i).empty())
      break;
    i.vector = 0;
  }
  if (load) k_.types.erase(v), i.results.clear();
}

void Emitter::widen_shared(Instr& i, const FragmentType& t) {
  const int bytes = type_bytes(t.elem);
  if (t.axes.empty() || !i.cond.is_always()) return;
  const ValueId v = k_.next_value;
  const bool load = i.code == Code::LoadShared;
  if (load) k_.types[v] = t, i.results = {v};
  for (int wide = 16; wide > bytes; wide /= 2) {
    i.vector = wide;
    if (check_shared(scope(), i).empty()) break;
    i.vector = 0;
  }
  if (load) k_.types.erase(v), i.results.clear();
}

// By ldmatrix where the fragment is one of matrices whose rows lie together, else by vectors.
ValueId Emitter::load_buffer(const std::string& buffer, std::vector<IndexExpr> index,
                             FragmentType t, bool matrix) {
  Instr i;
  i.code = Code::LoadShared;
  i.buffer = buffer;
  i.index = std::move(index);
  if (matrix && (type_bytes(t.elem) == 2 || type_bytes(t.elem) == 4) && t.axes.size() > 1) {
    const ValueId v = k_.next_value;
    k_.types[v] = t;
    i.results = {v};
    i.matrix = true;
    for (const bool transposed : {false, true}) {
      i.transposed = transposed;
      if (check_shared(scope(), i).empty()) break;
      if (transposed) i.matrix = i.transposed = false;
    }
    k_.types.erase(v);
    i.results.clear();
  }
  if (!i.matrix) widen_shared(i, t);
  return b_->emit(std::move(i), std::move(t));
}

void Emitter::load(const tile::Instr& i) {
  const TileId v = i.results[0];
  if (staged_.count(v)) return stage(i);
  define(v, load_as(i, fragment(v).place));
}

ValueId Emitter::load_as(const tile::Instr& i, const Placement& p) {
  const FragmentType t = fragment(i.results[0], p);
  Instr o;
  const bool shared = !memory::find_tensor(m_, i.tensor);
  o.code = shared ? Code::LoadShared : Code::LoadGlobal;
  (shared ? o.buffer : o.tensor) = shared ? shared_tensor(i.tensor) : i.tensor;
  o.index = i.index;
  o.cond = i.cond;
  o.value = i.value;
  if (shared) {
    if (!i.gather.empty()) {
      refuse(i, "an index of a shared buffer that data decides",
             "keep the tensor in global memory");
      return b_->constant(0, t);
    }
    widen_shared(o, t);
    return b_->emit(std::move(o), t);
  }
  o.gather = i.gather;
  for (TileId v : i.operands)
    o.operands.push_back(get(v, without(t.place, missing(t.axes, type(v).axes))));
  widen_global(o, t);
  return b_->emit(std::move(o), t);
}

// What the products that take a value touch of it along each axis, their padding included.
std::map<std::string, int64_t> Emitter::needed_extents(TileId v) const {
  std::map<std::string, int64_t> out;
  for (const Axis& a : type(v).axes) out[a.name] = a.extent;
  for (const auto& [r, p] : l_.products)
    for (const auto& [f, place] : {std::pair(p.first, &p.a), std::pair(p.second, &p.b)})
      if (f == v)
        for (auto& [axis, n] : out) n = std::max(n, place->extent(axis));
  return out;
}

// Rows along `inner`, swizzled by as much as a row has chunks of 16 bytes.
std::string Emitter::buffer_for(const std::string& base, Type elem, const std::vector<Axis>& axes,
                                const std::string& inner,
                                const std::map<std::string, int64_t>& needed) {
  const int bytes = type_bytes(elem);
  SharedBuffer b;
  b.name = fresh(base);
  b.elem = elem;
  b.axes = axes;
  b.align = 128;
  std::vector<Split> rows, cols;
  auto extent = [&](const Axis& a) {
    auto it = needed.find(a.name);
    return it == needed.end() ? a.extent : std::max(a.extent, it->second);
  };
  auto add = [&](const Axis& a, std::vector<Split>& to, int64_t least) {
    const int64_t block = shared_block(extent(a), least);
    to.push_back({a.name, block});
    if (extent(a) > block) b.place.repeats.push_back({a.name, (extent(a) + block - 1) / block});
  };
  int64_t row = 1;
  for (const Axis& a : axes)
    if (a.name == inner) {
      add(a, cols, std::max<int64_t>(1, std::min<int64_t>(16 / bytes, ceil_power(extent(a)))));
      row = cols[0].extent * bytes;
    }
  for (auto a = axes.rbegin(); a != axes.rend(); ++a)
    if (a->name != inner) add(*a, rows, std::min<int64_t>(8, ceil_power(extent(*a))));
  const int swizzle = row >= 128 ? 3 : row >= 64 ? 2 : row >= 32 ? 1 : 0;
  b.place.map = swizzled(rows, cols, bytes, swizzle);
  const std::string name = b.name;
  k_.buffers.push_back(std::move(b));
  return name;
}

// In panels of rows of up to 128 bytes, as bulk copies and descriptors have them.
void Emitter::stage_bulk(const tile::Instr& i) {
  const TileId v = i.results[0];
  const tile::TileType& t = type(v);
  tile::Module like;
  like.tensors = m_.tensors, like.sizes = m_.sizes, like.multiples = m_.multiples;
  if (divergent_ || !bulk_load(i, t_, like))
    return refuse(i, "no bulk copy can do this load", "copies of lanes");
  const int bytes = type_bytes(t.elem);
  const std::string inner = *inner_axis(i, t.axes);
  SharedBuffer b;
  b.name = fresh(i.tensor + "s");
  b.elem = t.elem;
  b.axes = t.axes;
  std::vector<Split> rows, cols;
  std::vector<Extent> row_repeats;
  const auto needed = needed_extents(v);
  for (size_t d = i.index.size(); d-- > 0;) {
    const auto axis = plain_axis(i.index[d], t.axes);
    if (!axis) continue;
    const int64_t extent = std::find_if(t.axes.begin(), t.axes.end(), [&](const Axis& a) {
                             return a.name == *axis;
                           })->extent;
    if (needed.at(*axis) > extent)
      return refuse(i, "a product pads this tile along " + *axis, "copies of lanes");
    const int64_t most = *axis == inner ? 128 / bytes : 256;
    const int64_t block = std::min(extent & -extent, most);
    (*axis == inner ? cols : rows).push_back({*axis, block});
    if (extent > block)
      (*axis == inner ? b.place.repeats : row_repeats).push_back({*axis, extent / block});
  }
  b.place.repeats.insert(b.place.repeats.end(), row_repeats.begin(), row_repeats.end());
  const int64_t row = cols[0].extent * bytes;
  const int mode = row >= 128 ? 3 : row >= 64 ? 2 : row >= 32 ? 1 : 0;
  if (row < 16) return refuse(i, "rows of less than 16 bytes", "copies of lanes");
  b.place.map = swizzled(rows, cols, bytes, mode);
  b.align = int64_t(128) << mode;
  Instr o;
  o.code = Code::CopyBulk;
  o.buffer = b.name;
  o.tensor = i.tensor;
  o.index = i.index;
  k_.buffers.push_back(std::move(b));
  b_->emit(std::move(o));
  defined_in_shared(v, k_.buffers.back().name);
}

// A load that products take: a copy to a buffer of its own.
void Emitter::stage(const tile::Instr& i) {
  if (l_.bulk) return stage_bulk(i);
  const TileId v = i.results[0];
  const tile::TileType& t = type(v);
  auto inner = inner_axis(i, t.axes);
  if (!inner)
    inner = std::max_element(t.axes.begin(), t.axes.end(), [](const Axis& a, const Axis& b) {
              return a.extent < b.extent;
            })->name;
  const std::string name = buffer_for(i.tensor + "s", t.elem, t.axes, *inner, needed_extents(v));
  Instr o;
  o.code = Code::CopyAsync;
  o.buffer = name;
  o.tensor = i.tensor;
  o.index = i.index;
  o.cond = i.cond;
  const int bytes = type_bytes(t.elem);
  for (int wide : {16, 8, 4}) {
    o.vector = wide;
    if (wide >= bytes && constant_on_runs(o.cond, *inner, wide / bytes, uniform_) &&
        check_copy(scope(), o).empty())
      break;
    o.vector = 0;
  }
  if (!o.vector) {
    o.code = Code::CopyPlain;
    o.vector = bytes;
  }
  if (divergent_ && selects_.insert(divergent_).second) again_ = true;
  b_->emit(std::move(o));
  defined_in_shared(v, name);
}

// A tile program's shared buffer: one axis a dimension, dense rows.
const std::string& Emitter::shared_tensor(const std::string& name) {
  auto [it, fresh_one] = shared_tensors_.try_emplace(name);
  if (!fresh_one) return it->second;
  const TensorDecl* d = nullptr;
  for (const TensorDecl& t : t_.shared)
    if (t.name == name) d = &t;
  SharedBuffer b;
  b.name = it->second = fresh(name + "s");
  if (!d) return it->second;
  b.elem = d->type;
  b.align = 16;
  std::vector<Split> rows, cols;
  for (size_t n = 0; n < d->extents.size(); ++n) {
    const int64_t extent =
        d->extents[n].is_const() ? std::max<int64_t>(1, d->extents[n].constant()) : 0;
    if (extent == 0) {
      error_ = Refusal{"lower kernel " + t_.name, "shared buffer " + name,
                       "its extents depend on sizes that are not bound", "bind the sizes"};
      return it->second;
    }
    const std::string digits = std::to_string(n);
    const std::string axis = fresh(name + "_" + (n < 10 ? "0" : "") + digits);
    b.axes.push_back({axis, extent});
    const bool last = n + 1 == d->extents.size();
    int64_t block = extent & -extent;
    if (last && block < 4 && extent > 4) block = 4;
    (last ? cols : rows).insert((last ? cols : rows).begin(), {axis, block});
    if (extent > block) b.place.repeats.push_back({axis, (extent + block - 1) / block});
  }
  b.place.map = swizzled(rows, cols, type_bytes(b.elem), 0);
  std::sort(b.axes.begin(), b.axes.end(),
            [](const Axis& x, const Axis& y) { return x.name < y.name; });
  k_.buffers.push_back(std::move(b));
  return it->second;
}

void Emitter::store(const tile::Instr& i) {
  const TileId v = i.operands[0];
  FragmentType t = fragment(v);
  std::vector<Axis> axes = t.axes;
  for (const Axis& a : i.span) axes.push_back(a);
  for (size_t n = 1; n < i.operands.size(); ++n)
    for (const Axis& a : type(i.operands[n]).axes)
      if (!has_axis(axes, a.name)) axes.push_back(a);
  if (axes.size() != t.axes.size()) {  // the value is repeated along other axes
    std::sort(axes.begin(), axes.end(),
              [](const Axis& a, const Axis& b) { return a.name < b.name; });
    Blocking how;
    how.inner = inner_axis(i, axes).value_or(axes.back().name);
    how.warps = l_.warps;
    t = {t.elem, axes, block_placement(axes, how, {})};
  }
  const bool shared = !memory::find_tensor(m_, i.tensor);
  Instr o;
  o.code = shared ? Code::StoreShared : Code::StoreGlobal;
  (shared ? o.buffer : o.tensor) = shared ? shared_tensor(i.tensor) : i.tensor;
  o.operands = {get_as(v, t)};
  o.index = i.index;
  o.cond = i.cond;
  if (shared) {
    if (!i.gather.empty())
      return refuse(i, "an index of a shared buffer that data decides",
                    "keep the tensor in global memory");
    widen_shared(o, t);
  } else {
    o.gather = i.gather;
    for (size_t n = 1; n < i.operands.size(); ++n)
      o.operands.push_back(
          get(i.operands[n], without(t.place, missing(t.axes, type(i.operands[n]).axes))));
    widen_global(o, t);
  }
  if (t.axes.empty() && l_.warps > 1 && !divergent_) {  // a value that every warp holds
    const Cond first{{{Cond::Atom{IndexExpr::var("warp"), true}}}};
    b_->branch(
        first,
        [&](Builder& b) {
          b.emit(std::move(o));
          return Builder::Values{};
        },
        [](Builder&) { return Builder::Values{}; });
    return;
  }
  b_->emit(std::move(o));
}

}  // namespace nautilus::memory::lowering
