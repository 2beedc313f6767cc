// A kernel's roles, regions, loops and branches.
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

// Constants of the source: tiles of one number, unless something needs them in registers.
void KernelEmitter::find_constants(const Region& r) {
  for (const Instr& i : r.body) {
    if (i.code == Code::Const) constants_[i.results[0]] = i.value;
    for (const Region& inner : i.regions) find_constants(inner);
    auto needs = [&](size_t n) { constants_.erase(i.operands[n]); };
    if (i.code == Code::Mma) needs(1), needs(2);
    if (i.code == Code::Wgmma)  // a sum that begins with 0 is not read
      for (size_t n = 0; n < i.operands.size(); ++n)
        if (const auto at = constants_.find(i.operands[n]);
            n > 0 || (at != constants_.end() && at->second != 0))
          needs(n);
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
