#include "compiler/backend/cuda/text.h"

#include <algorithm>
#include <bit>
#include <cctype>

#include "compiler/memory/checks.h"

namespace nautilus::cuda {
namespace {

using Kind = IndexExpr::Kind;

// Words that C++, CUDA or the helpers of the source have taken.
const char* const kReserved[] = {
    "alignas",   "alignof",   "and",       "asm",      "auto",     "bool",      "break",
    "case",      "catch",     "char",      "class",    "const",    "constexpr", "continue",
    "decltype",  "default",   "delete",    "do",       "double",   "else",      "enum",
    "explicit",  "export",    "extern",    "false",    "float",    "for",       "friend",
    "goto",      "half",      "if",        "inline",   "int",      "long",      "mutable",
    "namespace", "new",       "noexcept",  "not",      "nullptr",  "operator",  "or",
    "private",   "protected", "public",    "register", "return",   "short",     "signed",
    "sizeof",    "static",    "struct",    "switch",   "template", "this",      "throw",
    "true",      "try",       "typedef",   "typeid",   "typename", "union",     "unsigned",
    "using",     "virtual",   "void",      "volatile", "while",    "xor",       "min",
    "max",       "exp",       "exp2",      "log",      "log2",     "sqrt",      "rsqrt",
    "pow",       "abs",       "floor",     "tanh",     "erf",      "div",       "j0",
    "j1",        "jn",        "y0",        "y1",       "yn",       "lane",      "warp",
    "thread",    "shared",    "threadIdx", "blockIdx", "blockDim", "gridDim",   "warpSize",
    "r",         "n",         "p",         "k_step",   "INFINITY", "NAN",       "NULL",
    "EOF"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::optional<int64_t> add(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t v = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &v)) return std::nullopt;
  return v;
}
std::optional<int64_t> times(std::optional<int64_t> a, int64_t c) {
  int64_t v = 0;
  if (!a || __builtin_mul_overflow(*a, c, &v)) return std::nullopt;
  return v;
}
int64_t floor_div(int64_t a, int64_t d) { return a / d - (a % d != 0 && a < 0); }

}  // namespace

Namer::Namer() {
  for (const char* w : kReserved) used_.insert(w);
  // Bessel functions of <math.h>; loop variables and grid indices are often called so, and a local
  // name hides them.
  for (const char* w : {"j0", "j1", "jn", "y0", "y1", "yn"}) used_.erase(w);
}

std::string identifier(const std::string& name) {
  std::string s;
  for (char c : name) s += is_word(c) ? c : '_';
  if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0]))) s = "v" + s;
  return s;
}

std::string Namer::fresh(const std::string& wanted) {
  const std::string base = identifier(wanted);
  if (used_.insert(base).second) return base;
  int& n = last_.emplace(base, 1).first->second;
  std::string name;
  do name = base + "_" + std::to_string(++n);
  while (!used_.insert(name).second);
  return name;
}

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

std::string in_parens(const std::string& e) {
  size_t at = 0;
  while (at < e.size() && (is_word(e[at]) || e[at] == '.')) ++at;
  if (at == e.size()) return e;
  if (e[at] == '(' || e[at] == '[') {  // a call, a subscript, or already in parentheses
    int depth = 0;
    for (size_t n = at; n < e.size(); ++n) {
      depth += (e[n] == '(' || e[n] == '[') - (e[n] == ')' || e[n] == ']');
      if (depth == 0) {
        if (n + 1 == e.size()) return e;
        break;
      }
    }
  }
  return "(" + e + ")";
}

std::string sum_text(const std::vector<std::string>& terms) {
  std::string s;
  for (const std::string& t : terms) {
    if (t == "0") continue;
    const bool flips = t.find(" ^ ") != std::string::npos && in_parens(t) != t;
    if (flips)
      s += (s.empty() ? "(" : " + (") + t + ")";
    else if (s.empty())
      s = t;
    else
      s += t[0] == '-' ? " - " + t.substr(1) : " + " + t;
  }
  return s.empty() ? "0" : s;
}

Range Facts::range(const IndexExpr& e) const {
  switch (e.kind()) {
    case Kind::Const:
      return {e.constant(), e.constant()};
    case Kind::Var: {
      auto it = ranges.find(e.name());
      return it == ranges.end() ? Range{} : it->second;
    }
    case Kind::Add: {
      Range r{0, 0};
      for (const IndexExpr& a : e.args()) {
        const Range x = range(a);
        r = {add(r.low, x.low), add(r.high, x.high)};
      }
      return r;
    }
    case Kind::Mul: {
      const Range x = range(e.args()[0]);
      Range r{times(x.low, e.constant()), times(x.high, e.constant())};
      if (e.constant() < 0) std::swap(r.low, r.high);
      return r;
    }
    case Kind::FloorDiv: {
      Range x = range(e.args()[0]);
      if (x.low) x.low = floor_div(*x.low, e.constant());
      if (x.high) x.high = floor_div(*x.high, e.constant());
      return x;
    }
    case Kind::Mod: {
      const Range x = range(e.args()[0]);
      if (x.low && x.high && *x.low >= 0 && *x.high < e.constant()) return x;
      return {0, e.constant() - 1};
    }
    case Kind::Min:
    case Kind::Max: {
      const bool least = e.kind() == Kind::Min;
      const Range a = range(e.args()[0]), b = range(e.args()[1]);
      auto pick = [&](std::optional<int64_t> x, std::optional<int64_t> y,
                      bool needs_both) -> std::optional<int64_t> {
        if (x && y) return least ? std::min(*x, *y) : std::max(*x, *y);
        return needs_both ? std::nullopt : x ? x : y;
      };
      return {pick(a.low, b.low, least), pick(a.high, b.high, !least)};
    }
  }
  return {};
}

bool Facts::never_negative(const IndexExpr& e) const {
  const Range r = range(e);
  return r.low && *r.low >= 0;
}

namespace {

// No more than e: c*floor(x/d) becomes (c/d)*x for c < 0, (c/d)*(x - d + 1) for c > 0.
IndexExpr without_floors(const IndexExpr& e) {
  if (e.kind() != Kind::Add) return e;
  IndexExpr sum;
  for (const IndexExpr& t : e.args()) {
    const bool scaled = t.kind() == Kind::Mul && t.args()[0].kind() == Kind::FloorDiv;
    const int64_t d = scaled ? t.args()[0].constant() : 1, c = scaled ? t.constant() : 1;
    if (!scaled || c % d) {
      sum = sum + t;
      continue;
    }
    const IndexExpr& x = t.args()[0].args()[0];
    sum = sum + (c < 0 ? x : x - (d - 1)) * (c / d);
  }
  return sum;
}

}  // namespace

bool Facts::shown(const IndexExpr& e) const {
  if (never_negative(e)) return true;
  return std::any_of(positive.begin(), positive.end(),
                     [&](const IndexExpr& p) { return never_negative(e - p); });
}

bool Facts::always(const Cond::Atom& a) const {
  const Range r = range(a.expr);
  if (a.equality) return r.low && r.high && *r.low == 0 && *r.high == 0;
  if (shown(a.expr)) return true;
  // With each variable at the end where the expression is least, innermost first.
  IndexExpr least = a.expr;
  for (size_t n = bounds.size(); n-- > 0;) {
    const Bound& b = bounds[n];
    const int64_t c = least.coefficient(b.name);
    if (c == 0) continue;
    least = least - IndexExpr::var(b.name) * c + (c < 0 ? b.high : b.low) * c;
    if (shown(least) || (!positive.empty() && shown(without_floors(least)))) return true;
  }
  return false;
}

int64_t Facts::divisor(const IndexExpr& e) const { return memory::divisor(e, divisors); }

std::string index_text(const IndexExpr& e, const std::map<std::string, std::string>& names,
                       const Facts& facts) {
  auto inner = [&](const IndexExpr& a) { return index_text(a, names, facts); };
  switch (e.kind()) {
    case Kind::Const:
      return std::to_string(e.constant());
    case Kind::Var: {
      auto it = names.find(e.name());
      return it == names.end() ? e.name() : it->second;
    }
    case Kind::Add: {
      std::vector<std::string> terms;
      for (const IndexExpr& a : e.args()) terms.push_back(inner(a));
      return sum_text(terms);
    }
    case Kind::Mul: {
      const std::string a = in_parens(inner(e.args()[0]));
      if (a == "0") return a;
      if (e.constant() == -1) return "-" + a;
      return std::to_string(e.constant()) + " * " + a;
    }
    case Kind::FloorDiv:
    case Kind::Mod: {
      const bool mod = e.kind() == Kind::Mod;
      const int64_t d = e.constant();
      const std::string a = inner(e.args()[0]), p = in_parens(a), n = std::to_string(d);
      if (d == 1) return mod ? "0" : a;
      if (std::has_single_bit(uint64_t(d)))
        return mod ? "(" + p + " & " + std::to_string(d - 1) + ")"
                   : "(" + p + " >> " + std::to_string(std::countr_zero(uint64_t(d))) + ")";
      if (facts.never_negative(e.args()[0]))
        return "int(unsigned(" + a + (mod ? ") % " : ") / ") + n + "u)";
      return (mod ? "floor_mod(" : "floor_div(") + a + ", " + n + ")";
    }
    case Kind::Min:
      return "min(" + inner(e.args()[0]) + ", " + inner(e.args()[1]) + ")";
    case Kind::Max:
      return "max(" + inner(e.args()[0]) + ", " + inner(e.args()[1]) + ")";
  }
  return "0";
}

// Runs of bits whose images double are one term each.
std::string bits_text(const std::string& x, const std::vector<uint64_t>& images) {
  const std::string v = in_parens(x);
  std::vector<std::string> terms;
  uint64_t seen = 0;
  bool apart = true;
  for (size_t b = 0; b < images.size();) {
    if (images[b] == 0) {
      ++b;
      continue;
    }
    size_t end = b + 1;
    uint64_t run = images[b];  // multiplied, bits must not meet
    for (; end < images.size() && images[end] == images[end - 1] << 1 && !(run & images[end]);
         ++end)
      run |= images[end];
    for (size_t n = b; n < end; ++n) {
      apart = apart && !(seen & images[n]);
      seen |= images[n];
    }
    const uint64_t mask = (uint64_t(1) << (end - b)) - 1;
    const std::string shifted = b ? v + " >> " + std::to_string(b) : v;
    std::string t;
    if (images[b] == uint64_t(1) << b)
      t = end == images.size() && b == 0 ? v : "(" + v + " & " + std::to_string(mask << b) + ")";
    else {
      t = end == images.size() ? (b ? "(" + shifted + ")" : v)
                               : "(" + shifted + " & " + std::to_string(mask) + ")";
      if (images[b] != 1) t += " * " + std::to_string(images[b]);
    }
    terms.push_back(t);
    b = end;
  }
  if (apart) return sum_text(terms);
  std::string s;
  for (const std::string& t : terms) s += (s.empty() ? "" : " ^ ") + in_parens(t);
  return s;
}

namespace {

bool linear(const std::vector<int64_t>& f) {
  for (size_t n = 2; n < f.size(); ++n)
    if (f[n] - f[n - 1] != f[1] - f[0]) return false;
  return true;
}

// Terms of f - f(0) as a sum over mixed-radix digits of x; false if it is not one.
bool digits(const std::vector<int64_t>& f, const std::string& x, std::vector<std::string>& terms) {
  if (linear(f)) {
    const int64_t step = f.size() > 1 ? f[1] - f[0] : 0;
    if (step == 0) return true;
    terms.push_back(step == 1 ? x : x + " * " + std::to_string(step));
    return true;
  }
  if (std::has_single_bit(f.size())) {
    std::vector<uint64_t> images;
    for (size_t b = 1; b < f.size(); b <<= 1) {
      if (f[b] < f[0]) return false;
      images.push_back(uint64_t(f[b] - f[0]));
    }
    for (size_t n = 0; n < f.size(); ++n) {
      int64_t v = f[0];
      for (size_t b = 0; b < images.size(); ++b)
        if (n >> b & 1) v += int64_t(images[b]);
      if (v != f[n]) return false;
    }
    uint64_t seen = 0;
    for (uint64_t i : images) {
      if (seen & i) return false;  // bits_text would XOR
      seen |= i;
    }
    terms.push_back(bits_text(x, images));
    return true;
  }
  for (size_t radix = f.size() - 1; radix > 1; --radix) {
    if (f.size() % radix) continue;
    std::vector<int64_t> low(f.begin(), f.begin() + ptrdiff_t(radix)), high;
    for (size_t n = 0; n < f.size(); n += radix) high.push_back(f[n]);
    bool splits = true;
    for (size_t n = 0; n < f.size() && splits; ++n)
      splits = f[n] == low[n % radix] + high[n / radix] - f[0];
    if (!splits) continue;
    const std::string d = std::to_string(radix), v = in_parens(x);
    std::vector<std::string> found;
    if (digits(low, "(" + v + " % " + d + ")", found) &&
        digits(high, "(" + v + " / " + d + ")", found)) {
      terms.insert(terms.end(), found.begin(), found.end());
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::string> table_text(const std::vector<int64_t>& f, const std::string& x) {
  if (f.empty()) return "0";
  std::vector<std::string> terms;
  if (!digits(f, in_parens(x), terms)) return std::nullopt;
  terms.push_back(std::to_string(f[0]));
  return sum_text(terms);
}

}  // namespace nautilus::cuda
