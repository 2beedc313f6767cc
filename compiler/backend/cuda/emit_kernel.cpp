// The frame of a kernel: signature, constants of a thread, roles, regions, loops and branches.
#include <algorithm>
#include <numeric>

#include "compiler/backend/cuda/emitter.h"
#include "compiler/backend/cuda/scalar.h"

namespace nautilus::cuda {

KernelEmitter::KernelEmitter(const Module& m, const Kernel& k, const memory::Target& target,
                             const SourceNames& names, Helpers& helpers)
    : m_(m), k_(k), target_(target), source_(names), helpers_(helpers), names_(names.namer) {
  for (const auto& [name, place] : k.layouts)
    layout_names_.emplace(memory::to_string(place), identifier(name));
}

void KernelEmitter::refuse(const Instr& i, const std::string& why) {
  if (!error_)
    error_ = Refusal{"emit CUDA for " + m_.target,
                     "kernel " + k_.name + ": " + memory::print(i, k_), why, ""};
}

namespace {

std::string header_of(Type t) {
  switch (t) {
    case Type::F16:
      return "f16";
    case Type::BF16:
      return "bf16";
    case Type::E4M3:
    case Type::E5M2:
      return "fp8";
    default:
      return "";
  }
}

// Lines of a text, cut at spaces.
std::vector<std::string> wrapped(const std::string& text, size_t width) {
  std::vector<std::string> lines(1);
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find_first_of(" \n", at);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(at, end - at);
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width)
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    if (end < text.size() && text[end] == '\n') lines.emplace_back();
    at = end + 1;
  }
  return lines;
}

bool mentions(const std::string& text, const std::string& name) {
  auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
    if ((at == 0 || !word(text[at - 1])) &&
        (at + name.size() >= text.size() || !word(text[at + name.size()])))
      return true;
  return false;
}

// Constants that nothing below uses are left out.
void drop_unused(std::vector<Line>& prologue, const std::vector<Line>& body) {
  std::string below;
  for (const Line& l : body) below += l.text + "\n";
  for (size_t n = prologue.size(); n-- > 0;) {
    const std::string& t = prologue[n].text;
    const size_t equals = t.find(" = ");
    const size_t bracket = t.find("[] = ");
    const size_t end = bracket != std::string::npos ? bracket : equals;
    if (end != std::string::npos && (t.starts_with("const ") || t.starts_with("constexpr "))) {
      const size_t space = t.rfind(' ', end - 1);
      if (!mentions(below, t.substr(space + 1, end - space - 1))) {
        prologue.erase(prologue.begin() + ptrdiff_t(n));
        continue;
      }
    }
    below += t + "\n";
  }
}

}  // namespace

void KernelEmitter::find_touched(const Region& r) {
  for (const Instr& i : r.body) {
    const bool writes =
        i.code == Code::StoreGlobal || i.code == Code::AtomicAdd || i.code == Code::BulkStore;
    if (!i.tensor.empty()) (writes ? written_ : read_).insert(i.tensor);
    for (const Region& inner : i.regions) find_touched(inner);
  }
}

void KernelEmitter::signature() {
  for (const std::string& l : wrapped(k_.comment, 96))
    if (!l.empty()) lines_.push_back({"// " + l});
  std::string grid;
  for (const auto& g : k_.grid) grid += (grid.empty() ? "" : " x ") + nautilus::to_string(g.extent);
  lines_.push_back({"// Grid: " + (grid.empty() ? "one block" : grid + " blocks") + " of " +
                    std::to_string(k_.threads()) + " threads, " +
                    std::to_string(launch_.shared_bytes) + " bytes of shared memory."});
  for (const auto& [name, place] : k_.layouts)
    lines_.push_back({"// Layout " + name + ": " + memory::to_string(place)});
  std::vector<std::string> parameters;
  for (const TensorDecl& t : m_.tensors) {
    if (const std::string h = header_of(t.type); !h.empty()) helpers_.use("header_" + h);
    // What other threads write is read after a barrier: a restricted pointer would let the compiler
    // take what this thread knew before it.
    const bool written = written_.count(t.name), both = written && read_.count(t.name);
    parameters.push_back((written ? "" : "const ") + std::string(c_type(t.type)) +
                         (both ? "* " : "* __restrict__ ") + source_.tensors.at(t.name));
  }
  for (const std::string& s : m_.sizes)
    parameters.push_back("int64_t " + source_.sizes.at(s) + "_size");
  for (const TensorMap& map : launch_.maps) {
    parameters.push_back("const __grid_constant__ TensorMap " + map.parameter);
  }
  lines_.push_back({"extern \"C\" __global__ void __launch_bounds__(" +
                    std::to_string(k_.threads()) + ", " + std::to_string(k_.blocks_per_sm) + ")"});
  std::string l = launch_.kernel + "(";
  for (size_t n = 0; n < parameters.size(); ++n) {
    const std::string piece = parameters[n] + (n + 1 < parameters.size() ? "," : ") {");
    if (l.size() + piece.size() + 1 > 100) {
      lines_.push_back({l});
      l = "    ";
    } else if (n) {
      l += " ";
    }
    l += piece;
  }
  if (parameters.empty()) l += ") {";
  lines_.push_back({l});
}

// Sizes, the block's place in the grid, shared buffers.
void KernelEmitter::frame() {
  auto constant = [&](const std::string& text) { prologue_.push_back({"  " + text}); };
  for (const std::string& s : m_.sizes) {
    const std::string name = source_.sizes.at(s);
    constant("const int " + name + " = int(" + name + "_size);");
    text_[s] = name;
    facts_.ranges[s] = {0, std::nullopt};
    const auto multiple = m_.multiples.find(s);
    facts_.divisors[s] = multiple == m_.multiples.end() ? 1 : multiple->second;
  }
  std::string block = "blockIdx.x";
  for (size_t n = k_.grid.size(); n-- > 0;) {
    const auto& g = k_.grid[n];
    const Range extent = facts_.range(g.extent);
    facts_.ranges[g.iv] = {0, extent.high ? std::optional(*extent.high - 1) : std::nullopt};
    facts_.divisors[g.iv] = 1;
    facts_.bounds.push_back({g.iv, 0, g.extent - 1});
    if (g.extent == IndexExpr(1)) {
      text_[g.iv] = "0";
      facts_.ranges[g.iv] = {0, 0};
      facts_.divisors[g.iv] = 0;
      continue;
    }
    const std::string name = names_.fresh(g.iv);
    text_[g.iv] = name;
    bool last = true;
    for (size_t m = 0; m < n; ++m) last = last && k_.grid[m].extent == IndexExpr(1);
    const std::string count = g.extent.is_const() ? std::to_string(g.extent.constant()) + "u"
                                                  : "unsigned(" + uniform(g.extent) + ")";
    constant("const int " + name + " = int(" + block + (last ? "" : " % " + count) + ");");
    if (last) continue;
    const std::string rest = names_.fresh("block");
    constant("const unsigned " + rest + " = " + block + " / " + count + ";");
    block = rest;
  }
  constant("const int lane = threadIdx.x % 32;");
  constant("const int warp_index = __shfl_sync(0xffffffffu, int(threadIdx.x) / 32, 0);");
  int64_t end = 0;
  for (const SharedBuffer& b : k_.buffers)
    if (b.offset >= 0)
      end = std::max(end, b.offset + b.place.elements() * b.slots * type_bytes(b.elem));
  if (!k_.buffers.empty() || !k_.mbarriers.empty()) {
    constant("extern __shared__ __align__(1024) uint8_t shared[];");
    constant("const uint32_t shared_base = " + helpers_.use("shared_address") + "(shared);");
  }
  auto at = [&](const std::string& name, int64_t offset, const std::string& comment) {
    buffers_[name] = names_.fresh(name);
    constant("const uint32_t " + buffers_[name] + " = shared_base" +
             (offset ? " + " + std::to_string(offset) : "") + ";  // " + comment);
  };
  for (const SharedBuffer& b : k_.buffers) {
    int64_t offset = b.offset;
    if (offset < 0) {
      offset = (end + b.align - 1) / b.align * b.align;
      end = offset + b.place.elements() * b.slots * type_bytes(b.elem);
    }
    std::string axes;
    for (const Axis& a : b.axes)
      axes += (axes.empty() ? "" : ", ") + a.name + ": " + std::to_string(a.extent);
    at(b.name, offset,
       std::string(type_name(b.elem)) + "[" + axes + "]" +
           (b.slots > 1 ? ", " + std::to_string(b.slots) + " slots" : ""));
  }
  if (!k_.mbarriers.empty()) end = (end + 7) / 8 * 8;
  for (const memory::MBarrier& b : k_.mbarriers) {
    at(b.name, end, "mbarriers, " + std::to_string(b.slots) + " slots");
    end += 8 * b.slots;
  }
  launch_.shared_bytes = end;
  if (k_.mbarriers.empty()) return;
  const std::string init = helpers_.use("mbarrier_init");
  constant("if (threadIdx.x == 0) {");
  for (const memory::MBarrier& b : k_.mbarriers)
    for (int n = 0; n < b.slots; ++n)
      constant("  " + init + "(" + buffers_[b.name] + (n ? " + " + std::to_string(8 * n) : "") +
               ", " + std::to_string(b.arrivals) + ");");
  constant("  mbarrier_init_fence();");
  constant("}");
  constant("__syncthreads();");
}

// Constants of the source: tiles of one number, unless something needs them in registers.
void KernelEmitter::find_constants(const Region& r) {
  for (const Instr& i : r.body) {
    if (i.code == Code::Const) constants_[i.results[0]] = i.value;
    for (const Region& inner : i.regions) find_constants(inner);
    auto needs = [&](size_t n) { constants_.erase(i.operands[n]); };
    if (i.code == Code::Mma) needs(1), needs(2);
    if (i.code == Code::Wgmma)
      for (size_t n = 0; n < i.operands.size(); ++n) needs(n);
    if (i.code == Code::MmaWait)
      for (size_t n = 0; n < i.operands.size(); ++n) needs(n);
    if (i.code == Code::StoreShared && i.matrix) needs(0);
  }
}

namespace {

bool only_registers(const Instr& i) {
  return i.code <= Code::LoadGlobal || i.code == Code::LoadShared || i.code == Code::Mma;
}

void count_uses(const Region& r, std::map<int, int>& uses) {
  for (const Instr& i : r.body) {
    for (int v : i.operands) ++uses[v];
    for (const Region& inner : i.regions) count_uses(inner, uses);
  }
  for (int v : r.yields) ++uses[v];
}

}  // namespace

// Matrix loads whose only reader is a product of the same region, with nothing between that writes
// or waits: the product makes them as it goes.
void KernelEmitter::find_deferred(const Region& r) {
  static const auto uses_of = [](const Region& root) {
    std::map<int, int> uses;
    count_uses(root, uses);
    return uses;
  };
  const std::map<int, int> uses = uses_of(role_->body);
  std::map<int, const Instr*> open;
  for (const Instr& i : r.body) {
    for (const Region& inner : i.regions) find_deferred(inner);
    if (!only_registers(i)) open.clear();
    if (i.code == Code::LoadShared && i.matrix && uses.count(i.results[0]) &&
        uses.at(i.results[0]) == 1)
      open[i.results[0]] = &i;
    if (i.code == Code::Mma)
      for (size_t n = 1; n < 3; ++n)
        if (auto it = open.find(i.operands[n]); it != open.end()) deferred_[it->first] = it->second;
  }
}

void KernelEmitter::role(const Role& r, bool only) {
  role_ = &r;
  constants_.clear(), deferred_.clear(), declared_.clear(), role_hoisted_.clear(), locals_.clear();
  role_prologue_.clear(), body_.clear();
  indent_ = only ? 1 : 2;
  text_["warp"] = "warp";
  facts_.ranges["warp"] = {0, r.warps - 1};
  facts_.divisors["warp"] = 1;
  find_constants(r.body);
  find_deferred(r.body);
  std::set<int> unnamed;
  for (const auto& [v, x] : constants_) unnamed.insert(v);
  for (const auto& [v, x] : deferred_) unnamed.insert(v);
  variables_ = std::make_unique<Variables>(k_, r.body, unnamed);
  role_prologue_.push_back({"const int warp = warp_index" +
                            (r.first_warp ? " - " + std::to_string(r.first_warp) : "") + ";"});
  region(r.body);
  drop_unused(role_prologue_, body_);
  const std::string space(size_t(2 * indent_), ' ');
  std::vector<Line> all;
  for (const Line& l : role_prologue_) all.push_back({space + l.text});
  all.insert(all.end(), body_.begin(), body_.end());
  body_ = std::move(all);
}

void KernelEmitter::region(const Region& r) {
  locals_.emplace_back();
  for (size_t n = 0; n < r.body.size() && !error_; ++n) {
    const Instr& i = r.body[n];
    node_ = i.node >= 0 ? i.node : node_;
    const bool silent = i.code == Code::Const && constants_.count(i.results[0]);
    if (!i.note.empty())
      for (const std::string& l : wrapped(i.note, 90 - size_t(2 * indent_)))
        line("// " + l +
             (silent && type(i.results[0]).axes.empty()
                  ? " (" + literal(i.value, type(i.results[0]).elem) + ")"
                  : ""));
    for (int v : variables_->declared(r, n)) declare(v);
    instruction(i);
  }
  locals_.pop_back();
}

void KernelEmitter::instruction(const Instr& i) {
  switch (i.code) {
    case Code::Const:
      if (!constants_.count(i.results[0])) fill(i.results[0], i.value);
      return;
    case Code::Iota:
      return iota(i);
    case Code::Map:
      return map(i);
    case Code::Cast:
      return cast(i);
    case Code::Mask:
      return mask(i);
    case Code::Reduce:
      return reduce(i);
    case Code::Exchange:
      return exchange(i);
    case Code::Rename:
      return rename(i);
    case Code::Slice:
      return slice(i);
    case Code::LoadGlobal:
      return load_global(i);
    case Code::StoreGlobal:
      return store_global(i);
    case Code::AtomicAdd:
      return atomic_add(i);
    case Code::LoadShared:
      if (!deferred_.count(i.results[0])) load_shared(i);
      return;
    case Code::StoreShared:
      return store_shared(i);
    case Code::CopyPlain:
    case Code::CopyAsync:
      return copy_shared(i);
    case Code::Mma:
      return mma(i);
    case Code::CopyBulk:
    case Code::BulkStore:
      return bulk(i);
    case Code::Wgmma:
      return wgmma(i);
    case Code::MmaWait:
      return mma_wait(i);
    case Code::For:
      return loop(i);
    case Code::If:
      return branch(i);
    default:
      return synchronize(i);
  }
}

// Assignments that happen at once: an order in which nothing is lost, with a copy where there is
// none.
void KernelEmitter::moves(const std::vector<std::pair<int, int>>& to_from) {
  struct Move {
    Variable to, from;
  };
  std::vector<Move> pending;
  std::vector<std::pair<int, double>> fills;
  for (auto [to, from] : to_from) {
    if (auto it = constants_.find(from); it != constants_.end())
      fills.emplace_back(to, it->second);
    else if (variable(to).name != variable(from).name)
      pending.push_back({variable(to), variable(from)});
  }
  while (!pending.empty()) {
    auto free = std::find_if(pending.begin(), pending.end(), [&](const Move& m) {
      return std::none_of(pending.begin(), pending.end(),
                          [&](const Move& o) { return &o != &m && o.from.name == m.to.name; });
    });
    if (free == pending.end()) {
      Variable saved = pending[0].to;
      saved.name = names_.fresh("saved");
      line((packed(saved.elem) ? "uint32_t" : wide_c(saved.elem)) + " " + saved.name +
           (saved.scalar ? "" : "[" + std::to_string(saved.words) + "]") + ";");
      copy_words(saved, pending[0].to);
      const std::string lost = pending[0].to.name;
      for (Move& m : pending)
        if (m.from.name == lost) m.from = saved;
      continue;
    }
    copy_words(free->to, free->from);
    pending.erase(free);
  }
  for (auto [to, v] : fills) fill(to, v);
}

void KernelEmitter::loop(const Instr& i) {
  const Region& r = i.regions[0];
  std::vector<std::pair<int, int>> in, around, out;
  for (size_t n = 0; n < r.args.size(); ++n) {
    in.emplace_back(r.args[n], i.operands[n]);
    around.emplace_back(r.args[n], r.yields[n]);
    out.emplace_back(i.results[n], r.args[n]);
  }
  moves(in);
  const std::string iv = names_.fresh(i.iv);
  const Range low = facts_.range(i.lower), high = facts_.range(i.upper);
  const std::string lower = uniform(i.lower), upper = uniform(i.upper);
  text_[i.iv] = iv;
  facts_.ranges[i.iv] = {low.low, high.high ? std::optional(*high.high - 1) : std::nullopt};
  facts_.divisors[i.iv] = std::gcd(i.step, facts_.divisor(i.lower));
  facts_.bounds.push_back({i.iv, i.lower, i.upper - 1});
  const bool known = i.lower.is_const() && i.upper.is_const();
  const int64_t trips =
      known ? (i.upper.constant() - i.lower.constant() + i.step - 1) / i.step : -1;
  line(known && trips <= 8 ? "#pragma unroll" : "#pragma unroll 1");
  open("for (int " + iv + " = " + lower + "; " + iv + " < " + upper + "; " +
       (i.step == 1 ? "++" + iv : iv + " += " + std::to_string(i.step)) + ") {");
  region(r);
  moves(around);
  close();
  moves(out);
  facts_.bounds.pop_back();
  text_.erase(i.iv);
  facts_.ranges.erase(i.iv);
  facts_.divisors.erase(i.iv);
}

// Whether any element that the warp holds is true.
std::string KernelEmitter::any_held(int value) {
  const Geometry& g = geometry(value);
  const Test inside = test(Cond::always(), g);
  const std::string any = names_.fresh("any");
  line("bool " + any + " = false;");
  const Pick over = all(g.registers);
  const std::string c = inside(over);
  unrolled(over, any + " = " + any + " || " + (c.empty() ? "" : "(" + c + ") && ") +
                     read(value, over) + ";");
  return "__any_sync(0xffffffffu, " + any + ")";
}

void KernelEmitter::branch(const Instr& i) {
  const std::string c =
      i.operands.empty()
          ? ready(simplify(i.cond, {}), {})([](const std::string&) { return std::string(); })
          : any_held(i.operands[0]);
  const bool always = c.empty();
  // With open sizes numbers tell little: what the condition says is known inside.
  std::vector<IndexExpr> holds, fails;
  if (!m_.sizes.empty() && i.operands.empty() && i.cond.any.size() == 1) {
    for (const Cond::Atom& a : i.cond.any[0])
      if (!a.equality) holds.push_back(a.expr);
    if (i.cond.any[0].size() == 1 && holds.size() == 1) fails = {IndexExpr(-1) - holds[0]};
  }
  auto side = [&](const Region& r) {
    const size_t known = facts_.positive.size();
    const auto& more = &r == &i.regions[0] ? holds : fails;
    facts_.positive.insert(facts_.positive.end(), more.begin(), more.end());
    region(r);
    facts_.positive.resize(known);
    std::vector<std::pair<int, int>> out;
    for (size_t n = 0; n < i.results.size(); ++n) out.emplace_back(i.results[n], r.yields[n]);
    moves(out);
  };
  if (c == "false" || always) {
    open("{");
    side(i.regions[always ? 0 : 1]);
    return close();
  }
  open("if (" + c + ") {");
  side(i.regions[0]);
  const size_t before = body_.size();
  --indent_;
  open("} else {");
  side(i.regions[1]);
  if (body_.size() == before + 1) body_.pop_back();
  close();
}

std::optional<Refusal> KernelEmitter::emit() {
  for (const Role& r : k_.roles) find_touched(r.body);
  launch_.kernel = source_.kernels.at(k_.name);
  for (const auto& g : k_.grid) launch_.grid.push_back(g.extent);
  launch_.threads = k_.threads();
  launch_.blocks_per_sm = k_.blocks_per_sm;
  frame();
  std::vector<const Role*> roles;
  for (const Role& r : k_.roles) roles.push_back(&r);
  std::sort(roles.begin(), roles.end(),
            [](const Role* a, const Role* b) { return a->first_warp < b->first_warp; });
  std::vector<Line> all;
  for (size_t n = 0; n < roles.size() && !error_; ++n) {
    const Role& r = *roles[n];
    const bool only = roles.size() == 1;
    role(r, only);
    if (!only) {
      const std::string last = std::to_string(r.first_warp + r.warps);
      all.push_back({std::string(n ? "  } else " : "  ") +
                     (n + 1 < roles.size() ? "if (warp_index < " + last + ") {" : "{") + "  // " +
                     r.name + ": warps " + std::to_string(r.first_warp) + " to " +
                     std::to_string(r.first_warp + r.warps - 1)});
    }
    all.insert(all.end(), body_.begin(), body_.end());
    if (!only && n + 1 == roles.size()) all.push_back({"  }"});
  }
  if (error_) return error_;
  signature();
  drop_unused(prologue_, all);
  lines_.insert(lines_.end(), prologue_.begin(), prologue_.end());
  lines_.insert(lines_.end(), all.begin(), all.end());
  lines_.push_back({"}"});
  return std::nullopt;
}

}  // namespace nautilus::cuda
