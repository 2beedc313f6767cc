#include <algorithm>
#include <array>
#include <cctype>

#include "polyhedral/naut.h"

namespace nautilus::poly {

namespace naut {

std::string_view kind_name(TensorKind k) {
  switch (k) {
    case TensorKind::Input:
      return "input";
    case TensorKind::Output:
      return "output";
    case TensorKind::Temp:
      return "temp";
  }
  return "?";
}

std::optional<TensorKind> kind_from_name(std::string_view s) {
  for (TensorKind k : {TensorKind::Input, TensorKind::Output, TensorKind::Temp})
    if (kind_name(k) == s) return k;
  return std::nullopt;
}

bool is_reserved(std::string_view s) {
  static constexpr std::array<std::string_view, 22> kWords{
      "and",  "or",    "not",      "implies", "exists", "mod",   "floor", "floord",
      "ceil", "ceild", "min",      "max",     "true",   "false", "infty", "infinity",
      "NaN",  "rat",   "rational", "div",     "True",   "False"};
  return std::find(kWords.begin(), kWords.end(), s) != kWords.end();
}

bool is_identifier(std::string_view s) {
  if (s.empty() || s.size() > 200 || is_reserved(s)) return false;
  auto start = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  auto rest = [&](char c) {
    return start(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '\'';
  };
  return start(s[0]) && std::all_of(s.begin() + 1, s.end(), rest);
}

bool is_textual(const Program& p) {
  const isl::schedule plain = textual_order(p);
  return isl_text(plain) == isl_text(p.original) ||
         plain.map()
             .intersect_domain(p.domain())
             .is_equal(p.original.map().intersect_domain(p.domain()));
}

}  // namespace naut

namespace {

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    out += c;
  }
  return out + "\"";
}

template <class T, class Fn>
std::string joined(const std::vector<T>& items, const std::string& separator, Fn text) {
  std::string out;
  for (size_t k = 0; k < items.size(); ++k) out += (k ? separator : "") + text(items[k]);
  return out;
}

std::string access_text(const char* keyword, const Access& a) {
  std::string out = std::string("  ") + keyword + " " + a.tensor + " " + isl_text(a.map);
  if (!a.gathers.empty())
    out += " gather " + joined(a.gathers, ", ", [](const Access::Gather& g) {
             return std::to_string(g.dim) + "=" + std::to_string(g.read);
           });
  return out + "\n";
}

std::string reduction_text(const Reduction& r) {
  std::string out = "  reduce " + std::string(reduce_op_name(r.op));
  if (!r.dims.empty())
    out += " over " + joined(r.dims, ", ", [](int d) { return std::to_string(d); });
  out += "\n";
  if (r.combine) out += "  combine " + to_string(r.combine) + "\n";
  if (r.identity) out += "  identity " + to_string(r.identity) + "\n";
  return out;
}

std::string statement_text(const Statement& s) {
  std::string out = "statement " + s.name + "(" +
                    joined(dim_names(s.domain), ", ", [](const std::string& n) { return n; }) +
                    ")\n";
  out += "  domain " + isl_text(s.domain) + "\n";
  out += access_text("write", s.write);
  for (const Access& a : s.reads) out += access_text("read", a);
  for (const isl::aff& a : s.indices) out += "  index " + isl_text(a) + "\n";
  out += "  expr " + to_string(s.expr) + "\n";
  if (s.guard) out += "  guard " + to_string(s.guard) + "\n";
  if (s.reduction) out += reduction_text(*s.reduction);
  if (s.loc.line > 0)
    out += "  at " + std::to_string(s.loc.line) + " " + std::to_string(s.loc.column) + " " +
           quoted(s.loc.file) + "\n";
  return out;
}

}  // namespace

std::string print_naut(const Program& p) {
  auto self = [](const std::string& n) { return n; };
  std::string out = "naut 1\nprogram " + p.name + "\n";
  if (!p.params.empty()) out += "sizes " + joined(p.params, " ", self) + "\n";
  out += "where " + isl_text(p.param_context) + "\n";
  if (!p.typical.empty()) {
    out += "typical";
    for (const auto& [name, value] : p.typical) out += " " + name + "=" + std::to_string(value);
    out += "\n";
  }
  if (!p.scalars.empty()) out += "scalars " + joined(p.scalars, " ", self) + "\n";
  for (const Tensor& t : p.tensors) {
    out += "tensor " + t.name + " " + std::string(naut::kind_name(t.kind)) + " " +
           std::string(type_name(t.type)) + "\n";
    for (const isl::pw_aff& e : t.extents) out += "  extent " + isl_text(e) + "\n";
  }
  for (const Statement& s : p.statements) out += statement_text(s);
  if (!naut::is_textual(p)) out += "original " + isl_text(p.original) + "\n";
  return out;
}

}  // namespace nautilus::poly
