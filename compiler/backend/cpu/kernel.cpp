#include "compiler/backend/cpu/kernel.h"

#include <algorithm>

namespace nautilus::cpu {
namespace {

bool pointwise(Code c) { return c == Code::Map || c == Code::Cast || c == Code::Mask; }

double trip_count(const Instr& loop) {
  if (!loop.lower.is_const() || !loop.upper.is_const()) return 8;
  const int64_t n = loop.upper.constant() - loop.lower.constant();
  return std::max(1.0, static_cast<double>((n + loop.step - 1) / loop.step));
}

}  // namespace

std::string c_type(Type t) { return t == Type::F64 ? "double" : is_float(t) ? "float" : "int"; }

std::string storage_type(Type t) {
  switch (t) {
    case Type::F16:
    case Type::BF16:
      return "u16";
    case Type::E4M3:
    case Type::E5M2:
    case Type::Bool:
      return "u8";
    case Type::I8:
      return "i8";
    case Type::I32:
      return "int";
    case Type::F32:
      return "float";
    case Type::F64:
      return "double";
  }
  return "float";
}

bool same_representation(Type t) { return t == Type::F32 || t == Type::F64 || t == Type::I32; }

KernelInfo::KernelInfo(const tile::Module& m, const Kernel& k, const EmitOptions& o)
    : kernel(k), options(o) {
  auto view = [&](const tile::TensorDecl& t, bool local) {
    TensorView v;
    v.type = t.type;
    v.block_local = local;
    for (const IndexExpr& e : t.extents) v.extents.push_back(e.constant());
    v.strides.assign(v.extents.size(), 1);
    for (size_t d = v.extents.size(); d-- > 1;)
      v.strides[d - 1] = v.strides[d] * std::max<int64_t>(v.extents[d], 1);
    tensors[t.name] = v;
  };
  for (const auto& t : m.tensors) view(t, false);
  for (const auto& t : k.shared) view(t, true);
  places[&k.body] = {};
  scan(k.body, 1);
  choose_forms();
  choose_layouts(*this);
  collect_reads(k.body);
}

void KernelInfo::scan(const Region& r, double trip) {
  trips[&r] = trip;
  for (int at = 0; at < static_cast<int>(r.body.size()); ++at) {
    const Instr& i = r.body[at];
    for (int n = 0; n < static_cast<int>(i.operands.size()); ++n)
      uses[i.operands[n]].push_back({&i, &r, at, n});
    for (int n = 0; n < static_cast<int>(i.results.size()); ++n)
      defs[i.results[n]] = {&i, &r, at, n};
    if (i.code == Code::Store) tensors[i.tensor].stored = true;
    for (const Region& inner : i.regions) {
      places[&inner] = {&i, &r, at};
      for (int n = 0; n < static_cast<int>(inner.args.size()); ++n)
        defs[inner.args[n]] = {&i, &inner, -1, n};
      scan(inner, i.code == Code::For ? trip * trip_count(i) : trip);
      for (int n = 0; n < static_cast<int>(inner.yields.size()); ++n)
        uses[inner.yields[n]].push_back({&i, &inner, static_cast<int>(inner.body.size()), n});
    }
  }
}

int64_t KernelInfo::lanes(ValueId v) const {
  int64_t n = 1;
  for (const Axis& a : type(v).axes) n *= a.extent;
  return n;
}

int64_t KernelInfo::extent(ValueId v, const std::string& axis) const {
  for (const Axis& a : type(v).axes)
    if (a.name == axis) return a.extent;
  return 0;
}

int64_t KernelInfo::stride(ValueId v, const std::string& axis) const {
  int64_t s = 1;
  const auto& o = order.at(v);
  for (size_t k = o.size(); k-- > 0;) {
    if (o[k] == axis) return s;
    s *= extent(v, o[k]);
  }
  return 0;
}

std::optional<int64_t> KernelInfo::memory_stride(const Instr& i, const std::string& axis) const {
  const TensorView& t = tensors.at(i.tensor);
  int64_t s = 0;
  for (size_t d = 0; d < i.index.size(); ++d) {
    if (d < i.gather.size() && i.gather[d] >= 0) {
      if (has_axis(i.operands[i.gather[d]], axis)) return std::nullopt;
      continue;
    }
    const IndexExpr linear = IndexExpr::var(axis) * i.index[d].coefficient(axis);
    std::vector<std::string> rest;
    (i.index[d] - linear).collect_vars(rest);
    if (std::find(rest.begin(), rest.end(), axis) != rest.end()) return std::nullopt;
    s += i.index[d].coefficient(axis) * t.strides[d];
  }
  return s;
}

// A load may be read where it is used if its tensor does not change in this kernel.
bool KernelInfo::may_read_in_place(const Instr& load) const {
  return !tensors.at(load.tensor).stored;
}

// Scalar operations that reading one element of an inline value repeats.
int KernelInfo::inline_cost(ValueId v) const {
  const auto form = forms.find(v);
  const Instr& i = *defs.at(v).instr;
  if (form == forms.end() || form->second != Form::Inline || i.code == Code::Rename) return 0;
  int cost =
      i.code == Code::Map || i.code == Code::Cast || i.code == Code::Mask || !i.cond.is_always()
          ? 1
          : 0;
  if (i.code == Code::Map &&
      (i.op == Op::Div || (i.op >= Op::Exp && i.op <= Op::Sigmoid) || i.op == Op::Pow))
    cost = 8;
  if (i.code == Code::Cast || (i.code == Code::Load && !same_representation(type(v).elem)))
    cost += 2;
  for (const ValueId o : i.operands) cost += inline_cost(o);
  return cost;
}

// Decides Inline or Buffer for a value of rank >= 1 that is not a product.
Form KernelInfo::choose(ValueId v, const Def& d) const {
  const Instr& i = *d.instr;
  if (d.position < 0 || i.code == Code::For || i.code == Code::If || i.code == Code::Reduce)
    return Form::Buffer;
  if (i.code == Code::Rename || i.code == Code::Iota) return Form::Inline;
  if (i.code == Code::Load && !may_read_in_place(i)) return Form::Buffer;
  const auto it = uses.find(v);
  if (it == uses.end()) return Form::Inline;  // nobody needs it
  // Uses through renames count as the uses of v.
  std::vector<std::pair<Use, ValueId>> all;
  std::vector<ValueId> pending{v};
  while (!pending.empty()) {
    const ValueId w = pending.back();
    pending.pop_back();
    if (auto u = uses.find(w); u != uses.end())
      for (const Use& use : u->second) {
        if (use.instr->code == Code::Rename &&
            use.position < static_cast<int>(use.region->body.size()))
          pending.push_back(use.instr->results[0]);
        else
          all.emplace_back(use, w);
      }
  }
  const bool in_place = i.code == Code::Load && i.cond.is_always() && i.gather.empty() &&
                        same_representation(type(v).elem);
  for (const auto& [use, w] : all) {
    const bool yield = use.position == static_cast<int>(use.region->body.size());
    const Code by = use.instr->code;
    if (yield || by == Code::If) return Form::Buffer;
    if (by == Code::Dot) {
      if (!in_place) return Form::Buffer;
      continue;
    }
    if (in_place) continue;  // reading memory costs what reading a buffer does
    if (use.region != d.region) return Form::Buffer;
    int64_t nest = 1;
    if (pointwise(by))
      nest = lanes(use.instr->results[0]);
    else if (by == Code::For)
      nest = lanes(use.instr->results[use.operand]);
    else if (by == Code::Reduce || by == Code::Store) {
      nest = lanes(use.instr->operands[0]);
      for (const Axis& a : use.instr->span) nest *= a.extent;
    } else if (by == Code::Load) {
      nest = lanes(use.instr->results[0]);
    }
    if (nest > lanes(v)) return Form::Buffer;
  }
  if (all.size() > 1 && !in_place) {
    int cost = i.code == Code::Load ? 4 : 1;
    for (const ValueId o : i.operands) cost += inline_cost(o);
    if (i.code == Code::Map &&
        (i.op == Op::Div || (i.op >= Op::Exp && i.op <= Op::Sigmoid) || i.op == Op::Pow))
      cost = 8;
    if (i.code == Code::Mask || cost > 1) return Form::Buffer;
  }
  return Form::Inline;
}

void KernelInfo::choose_forms() {
  // In order of definition, so that operands are decided first.
  std::vector<std::pair<ValueId, Def>> in_order;
  const std::function<void(const Region&)> walk = [&](const Region& r) {
    for (const ValueId a : r.args) in_order.emplace_back(a, defs.at(a));
    for (const Instr& i : r.body) {
      for (const Region& inner : i.regions) walk(inner);
      for (const ValueId v : i.results) in_order.emplace_back(v, defs.at(v));
    }
  };
  walk(kernel.body);
  for (const auto& [v, d] : in_order) {
    const bool result = d.position >= 0;
    if (result && d.instr->code == Code::Const)
      forms[v] = Form::Literal;
    else if (type(v).axes.empty())
      forms[v] = Form::Scalar;
    else if (result && d.instr->code == Code::Dot)
      forms[v] = Form::Buffer;
    else
      forms[v] = choose(v, d);
  }
  if (options.numerics == tile::Numerics::Strict) return;
  // x + a.b accumulates into x.
  for (const auto& [v, d] : in_order) {
    if (d.position < 0 || d.instr->code != Code::Map || d.instr->op != Op::Add ||
        type(v).axes.empty())
      continue;
    for (const ValueId o : d.instr->operands) {
      const Def& p = defs.at(o);
      if (p.position < 0 || p.instr->code != Code::Dot || p.region != d.region ||
          uses.at(o).size() != 1)
        continue;
      if (!(type(o) == type(v))) continue;
      forms[o] = Form::Fused;
      forms[v] = Form::Buffer;
      break;
    }
  }
}

void KernelInfo::leaves(ValueId v, std::set<ValueId>& out) const {
  const Form f = forms.at(v);
  if (f == Form::Literal) return;
  if (f == Form::Scalar || f == Form::Buffer) {
    out.insert(v);
    return;
  }
  for (const ValueId o : defs.at(v).instr->operands) leaves(o, out);
}

void KernelInfo::reads_of(const Instr& i, std::set<ValueId>& out) const {
  if (!i.results.empty() && i.regions.empty() && forms.at(i.results[0]) != Form::Scalar &&
      forms.at(i.results[0]) != Form::Buffer)
    return;
  for (const ValueId o : i.operands) leaves(o, out);
}

void KernelInfo::collect_reads(const Region& r) {
  auto& all = reads_[&r];
  all.resize(r.body.size() + 1);
  for (size_t at = 0; at < r.body.size(); ++at) {
    const Instr& i = r.body[at];
    reads_of(i, all[at]);
    for (const Region& inner : i.regions) {
      collect_reads(inner);
      for (const auto& s : reads_.at(&inner)) reads_.at(&r)[at].insert(s.begin(), s.end());
    }
  }
  for (const ValueId y : r.yields) leaves(y, reads_.at(&r).back());
}

const std::set<ValueId>& KernelInfo::reads(const Region* r, int position) const {
  return reads_.at(r).at(static_cast<size_t>(position));
}

bool KernelInfo::read_after(const Region* r, int position, ValueId v) const {
  const auto& all = reads_.at(r);
  for (size_t at = static_cast<size_t>(position + 1); at < all.size(); ++at)
    if (all[at].count(v)) return true;
  return false;
}

DotAxes dot_axes(const KernelInfo& k, const Instr& dot) {
  DotAxes out;
  out.summed = dot.axes;
  auto summed = [&](const std::string& a) {
    return std::find(dot.axes.begin(), dot.axes.end(), a) != dot.axes.end();
  };
  for (const Axis& a : k.type(dot.operands[0]).axes)
    if (!summed(a.name))
      (k.has_axis(dot.operands[1], a.name) ? out.batch : out.only_a).push_back(a.name);
  for (const Axis& a : k.type(dot.operands[1]).axes)
    if (!summed(a.name) && !k.has_axis(dot.operands[0], a.name)) out.only_b.push_back(a.name);
  return out;
}

ValueId base_of(const KernelInfo& k, ValueId v, std::map<std::string, std::string>& names) {
  names.clear();
  for (const Axis& a : k.type(v).axes) names[a.name] = a.name;
  for (;;) {
    const Def& d = k.defs.at(v);
    if (d.position < 0 || d.instr->code != Code::Rename) return v;
    std::map<std::string, std::string> inner;
    for (const Axis& a : k.type(d.instr->operands[0]).axes) {
      std::string to = a.name;
      for (const auto& [from, t] : d.instr->renames)
        if (from == a.name) to = t;
      inner[a.name] = names.at(to);
    }
    names = inner;
    v = d.instr->operands[0];
  }
}

}  // namespace nautilus::cpu
