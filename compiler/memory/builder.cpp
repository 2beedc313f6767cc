// Instructions put together, with what their operands decide filled in.
#include "compiler/memory/builder.h"

#include <utility>

namespace nautilus::memory {

ValueId Builder::fresh(FragmentType t) {
  const ValueId v = k_->next_value++;
  k_->types[v] = std::move(t);
  return v;
}

void Builder::emit(Instr i) {
  if (i.origin.empty()) i.origin = origin;
  if (i.node < 0) i.node = node;
  if (i.note.empty()) i.note = std::exchange(note, "");
  at_->body.push_back(std::move(i));
}

ValueId Builder::emit(Instr i, FragmentType result) {
  const ValueId v = fresh(std::move(result));
  i.results = {v};
  emit(std::move(i));
  return v;
}

ValueId Builder::emit_inferred(Instr i, Type elem) {
  auto t = infer_type(*k_, i, elem);
  return emit(std::move(i), t ? *std::move(t) : FragmentType{elem, {}, {}});
}

ValueId Builder::constant(double v, FragmentType t) {
  Instr i;
  i.code = Code::Const;
  i.value = v;
  return emit(std::move(i), std::move(t));
}

ValueId Builder::iota(IndexExpr e, std::vector<Axis> axes, Placement place) {
  Instr i;
  i.code = Code::Iota;
  i.index = {std::move(e)};
  return emit(std::move(i), {Type::I32, std::move(axes), std::move(place)});
}

ValueId Builder::map(nautilus::Op op, std::vector<ValueId> operands) {
  Instr i;
  i.code = Code::Map;
  i.op = op;
  i.operands = std::move(operands);
  return emit_inferred(std::move(i));
}

ValueId Builder::cast(ValueId a, Type t) {
  if (type(a).elem == t) return a;
  Instr i;
  i.code = Code::Cast;
  i.operands = {a};
  return emit_inferred(std::move(i), t);
}

ValueId Builder::mask(Cond c, ValueId a, ValueId b) {
  Instr i;
  i.code = Code::Mask;
  i.cond = std::move(c);
  i.operands = {a, b};
  return emit_inferred(std::move(i));
}

ValueId Builder::reduce(poly::ReduceOp op, ValueId a, std::vector<std::string> axes) {
  Instr i;
  i.code = Code::Reduce;
  i.reduce = op;
  i.operands = {a};
  i.axes = std::move(axes);
  return emit_inferred(std::move(i));
}

ValueId Builder::rename(ValueId a, std::vector<std::pair<std::string, std::string>> names) {
  Instr i;
  i.code = Code::Rename;
  i.operands = {a};
  i.renames = std::move(names);
  return emit_inferred(std::move(i));
}

ValueId Builder::exchange(ValueId a, Placement to) {
  if (alike(type(a).place, to)) return a;
  FragmentType t = type(a);
  t.place = std::move(to);
  Instr i;
  i.code = Code::Exchange;
  i.operands = {a};
  return emit(std::move(i), std::move(t));
}

ValueId Builder::mma(Shape s, ValueId c, ValueId a, ValueId b, std::vector<std::string> axes) {
  Instr i;
  i.code = Code::Mma;
  i.shape = s;
  i.operands = {c, a, b};
  i.axes = std::move(axes);
  return emit_inferred(std::move(i));
}

ValueId Builder::wgmma(Shape s, ValueId c, ValueId a, SharedTile b, std::vector<Axis> contracted) {
  Instr i;
  i.code = Code::Wgmma;
  i.shape = s;
  i.operands = {c};
  if (a >= 0) i.operands.push_back(a);
  i.buffer_b = std::move(b.buffer);
  i.slot_b = std::move(b.slot);
  i.index_b = std::move(b.index);
  for (const Axis& x : contracted) i.axes.push_back(x.name);
  i.span = std::move(contracted);
  return emit(std::move(i), type(c));
}

ValueId Builder::wgmma(Shape s, ValueId c, SharedTile a, SharedTile b,
                       std::vector<Axis> contracted) {
  const ValueId result = wgmma(s, c, -1, std::move(b), std::move(contracted));
  Instr& i = at_->body.back();
  i.buffer = std::move(a.buffer);
  i.slot = std::move(a.slot);
  i.index = std::move(a.index);
  return result;
}

ValueId Builder::load_shared(SharedTile from, FragmentType t, bool matrix, bool transposed,
                             int vector) {
  Instr i;
  i.code = Code::LoadShared;
  i.buffer = std::move(from.buffer);
  i.slot = std::move(from.slot);
  i.index = std::move(from.index);
  i.matrix = matrix;
  i.transposed = transposed;
  i.vector = vector;
  return emit(std::move(i), std::move(t));
}

void Builder::store_shared(SharedTile to, ValueId v, bool matrix, int vector) {
  Instr i;
  i.code = Code::StoreShared;
  i.operands = {v};
  i.buffer = std::move(to.buffer);
  i.slot = std::move(to.slot);
  i.index = std::move(to.index);
  i.matrix = matrix;
  i.vector = vector;
  emit(std::move(i));
}

ValueId Builder::load_global(std::string tensor, std::vector<IndexExpr> index, FragmentType t,
                             Cond cond, double fill, int vector) {
  Instr i;
  i.code = Code::LoadGlobal;
  i.tensor = std::move(tensor);
  i.index = std::move(index);
  i.cond = std::move(cond);
  i.value = fill;
  i.vector = vector;
  return emit(std::move(i), std::move(t));
}

void Builder::store_global(std::string tensor, std::vector<IndexExpr> index, ValueId v, Cond cond,
                           int vector) {
  Instr i;
  i.code = Code::StoreGlobal;
  i.operands = {v};
  i.tensor = std::move(tensor);
  i.index = std::move(index);
  i.cond = std::move(cond);
  i.vector = vector;
  emit(std::move(i));
}

void Builder::copy(Code code, std::string buffer, IndexExpr slot, std::string tensor,
                   std::vector<IndexExpr> index, Cond cond, int vector) {
  Instr i;
  i.code = code;
  i.buffer = std::move(buffer);
  i.slot = std::move(slot);
  i.tensor = std::move(tensor);
  i.index = std::move(index);
  i.cond = std::move(cond);
  i.vector = vector;
  emit(std::move(i));
}

void Builder::copy_bulk(std::string buffer, IndexExpr slot, std::string tensor,
                        std::vector<IndexExpr> index, std::string barrier, IndexExpr barrier_slot) {
  Instr i;
  i.code = Code::CopyBulk;
  i.buffer = std::move(buffer);
  i.slot = std::move(slot);
  i.tensor = std::move(tensor);
  i.index = std::move(index);
  i.barrier = std::move(barrier);
  i.slot_b = std::move(barrier_slot);
  emit(std::move(i));
}

void Builder::plain(Code code, int64_t count) {
  Instr i;
  i.code = code;
  i.count = count;
  emit(std::move(i));
}

std::vector<ValueId> Builder::mma_wait(int64_t count, std::vector<ValueId> accumulators) {
  Instr i;
  i.code = Code::MmaWait;
  i.count = count;
  for (ValueId v : accumulators) i.results.push_back(fresh(type(v)));
  i.operands = std::move(accumulators);
  const std::vector<ValueId> results = i.results;
  emit(std::move(i));
  return results;
}

namespace {
Instr at_barrier(Code code, std::string barrier, IndexExpr slot) {
  Instr i;
  i.code = code;
  i.barrier = std::move(barrier);
  i.slot = std::move(slot);
  return i;
}
}  // namespace

void Builder::arrive(std::string barrier, IndexExpr slot, int64_t count) {
  Instr i = at_barrier(Code::Arrive, std::move(barrier), std::move(slot));
  i.count = count;
  emit(std::move(i));
}
void Builder::expect_bytes(std::string barrier, IndexExpr slot, int64_t bytes) {
  Instr i = at_barrier(Code::ExpectBytes, std::move(barrier), std::move(slot));
  i.count = bytes;
  emit(std::move(i));
}
void Builder::wait(std::string barrier, IndexExpr slot, IndexExpr parity) {
  Instr i = at_barrier(Code::Wait, std::move(barrier), std::move(slot));
  i.parity = std::move(parity);
  emit(std::move(i));
}
void Builder::named(Code code, std::string barrier) {
  emit(at_barrier(code, std::move(barrier), {}));
}

// The region is built apart and moved in: the builder of the body must not outlive it.
Builder::Values Builder::loop(std::string iv, IndexExpr lower, IndexExpr upper, int64_t step,
                              Values initial,
                              const std::function<Values(Builder&, const Values&)>& body) {
  Instr i;
  i.code = Code::For;
  i.iv = std::move(iv);
  i.lower = std::move(lower);
  i.upper = std::move(upper);
  i.step = step;
  i.note = std::exchange(note, "");
  Region r;
  for (ValueId v : initial) r.args.push_back(fresh(type(v)));
  i.operands = std::move(initial);
  Builder inner(*k_, r);
  inner.origin = origin;
  inner.node = node;
  const Values carried = r.args;
  r.yields = body(inner, carried);
  for (ValueId v : carried) i.results.push_back(fresh(type(v)));
  i.regions.push_back(std::move(r));
  const Values results = i.results;
  emit(std::move(i));
  return results;
}

Builder::Values Builder::branch(Cond cond, const std::function<Values(Builder&)>& then,
                                const std::function<Values(Builder&)>& otherwise) {
  Instr i;
  i.code = Code::If;
  i.cond = std::move(cond);
  i.note = std::exchange(note, "");
  for (const auto* body : {&then, &otherwise}) {
    Region r;
    Builder inner(*k_, r);
    inner.origin = origin;
    inner.node = node;
    r.yields = (*body)(inner);
    i.regions.push_back(std::move(r));
  }
  for (ValueId v : i.regions[0].yields) i.results.push_back(fresh(type(v)));
  const Values results = i.results;
  emit(std::move(i));
  return results;
}

}  // namespace nautilus::memory
