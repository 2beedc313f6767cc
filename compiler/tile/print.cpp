// Text form `.tile` of the tile IR; parse.cpp reads it back exactly.
#include <charconv>
#include <cmath>

#include "compiler/tile/lines.h"
#include "compiler/tile/text.h"

namespace nautilus::tile {

std::string_view code_name(Code c) {
  switch (c) {
    case Code::Const:
      return "const";
    case Code::Iota:
      return "iota";
    case Code::Load:
      return "load";
    case Code::Store:
      return "store";
    case Code::Map:
      return "map";
    case Code::Cast:
      return "cast";
    case Code::Mask:
      return "mask";
    case Code::Reduce:
      return "reduce";
    case Code::Dot:
      return "dot";
    case Code::Rename:
      return "rename";
    case Code::For:
      return "for";
    case Code::If:
      return "if";
    case Code::Barrier:
      return "barrier";
  }
  return "?";
}

std::string quote_name(const std::string& name) { return to_string(IndexExpr::var(name)); }

std::string quote_text(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '\n')
      out += "\\n";
    else if (c == '"' || c == '\\')
      (out += '\\') += c;
    else
      out += c;
  }
  return out + "\"";
}

std::string number_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  char buf[64];
  auto r = std::to_chars(buf, buf + sizeof buf, v);
  return std::string(buf, r.ptr);
}

std::string_view kind_name(poly::TensorKind k) {
  return k == poly::TensorKind::Input ? "input" : k == poly::TensorKind::Output ? "output" : "temp";
}
std::string_view scope_text(poly::Scope s) {
  return s == poly::Scope::Global ? "global" : s == poly::Scope::Shared ? "shared" : "register";
}

std::string to_string(const TileType& t) {
  std::string s(type_name(t.elem));
  if (t.axes.empty()) return s;
  s += '[';
  for (size_t i = 0; i < t.axes.size(); ++i)
    s += (i ? ", " : "") + quote_name(t.axes[i].name) + ": " + std::to_string(t.axes[i].extent);
  return s + ']';
}

namespace {

std::string value_text(ValueId v) { return "%" + std::to_string(v); }
std::string typed(ValueId v, const Kernel& k) {
  auto it = k.types.find(v);
  return value_text(v) + ": " + (it == k.types.end() ? "?" : to_string(it->second));
}

template <class T, class F>
std::string list(const std::vector<T>& items, F text) {
  std::string s;
  for (size_t i = 0; i < items.size(); ++i) s += (i ? ", " : "") + text(items[i]);
  return s;
}

std::string axis_list(const std::vector<Axis>& axes) {
  return list(axes,
              [](const Axis& a) { return quote_name(a.name) + ": " + std::to_string(a.extent); });
}

// "Q[64*i0 + i, %5]": gathered dims show the value that indexes them.
std::string element(const Instr& i) {
  std::string s = quote_name(i.tensor) + "[";
  for (size_t d = 0; d < i.index.size(); ++d) {
    int g = d < i.gather.size() ? i.gather[d] : -1;
    const bool gathered = g >= 0 && size_t(g) < i.operands.size();
    s += (d ? ", " : "") + (gathered ? value_text(i.operands[size_t(g)]) : to_string(i.index[d]));
  }
  return s + "]";
}
std::string where(const Instr& i) {
  return i.cond == Cond::always() ? "" : " where (" + to_string(i.cond) + ")";
}

std::string operation(const Instr& i, const Kernel& k) {
  auto operands = list(i.operands, value_text);
  switch (i.code) {
    case Code::Const:
      return "const " + number_text(i.value);
    case Code::Iota:
      return "iota " + (i.index.empty() ? "0" : to_string(i.index[0]));
    case Code::Load:
      return "load " + element(i) + where(i) +
             (i.value != 0 || std::signbit(i.value) ? " fill " + number_text(i.value) : "");
    case Code::Store:
      return "store " + element(i) + " = " +
             (i.operands.empty() ? "?" : value_text(i.operands[0])) +
             (i.span.empty() ? "" : " span (" + axis_list(i.span) + ")") + where(i);
    case Code::Map:
      return std::string(op_name(i.op)) + " " + operands;
    case Code::Cast:
      return "cast " + operands;
    case Code::Mask:
      return "mask " + operands + " where (" + to_string(i.cond) + ")";
    case Code::Reduce:
      return "reduce " + std::string(poly::reduce_op_name(i.reduce)) + " " + operands + " over (" +
             list(i.axes, quote_name) + ")" +
             (i.span.empty() ? "" : " span (" + axis_list(i.span) + ")") +
             (i.combine ? " combine " + quote_text(to_string(i.combine)) : "") +
             (i.identity ? " identity " + quote_text(to_string(i.identity)) : "");
    case Code::Dot:
      return "dot " + operands + " over (" + list(i.axes, quote_name) + ")";
    case Code::Rename:
      return "rename " + operands + " (" +
             list(i.renames,
                  [](const auto& r) {
                    return quote_name(r.first) + " -> " + quote_name(r.second);
                  }) +
             ")";
    case Code::For: {
      std::string s = "for " + quote_name(i.iv) + " in [" + to_string(i.lower) + ", " +
                      to_string(i.upper) + ") step " + std::to_string(i.step);
      if (i.regions.empty() || i.regions[0].args.empty()) return s;
      s += " carry (";
      for (size_t n = 0; n < i.regions[0].args.size(); ++n)
        s += (n ? ", " : "") + typed(i.regions[0].args[n], k) + " = " +
             (n < i.operands.size() ? value_text(i.operands[n]) : "?");
      return s + ")";
    }
    case Code::If:
      return i.operands.empty() ? "if (" + to_string(i.cond) + ")" : "if " + operands;
    case Code::Barrier:
      return "barrier";
  }
  return "?";
}

std::string origin_text(const Instr& i) {
  if (i.origin.empty() && i.node < 0) return "";
  return " @" + (i.origin.empty() ? "" : quote_name(i.origin)) +
         (i.node < 0 ? "" : ":" + std::to_string(i.node));
}

void print_region(MappedText& out, const Region& r, const Kernel& k, int indent,
                  const LineOrigin& around);

void print_instr(MappedText& out, const Instr& i, const Kernel& k, int indent) {
  const std::string pad(size_t(indent) * 2, ' ');
  const LineOrigin here{i.origin, i.node};
  out.at(here);
  out += pad + print(i, k);
  if (i.code == Code::For || i.code == Code::If) {
    for (size_t n = 0; n < i.regions.size(); ++n) {
      out += n ? pad + "} else {\n" : " {\n";
      print_region(out, i.regions[n], k, indent + 1, here);
    }
    out += pad + "}";
  }
  out += "\n";
}

void print_region(MappedText& out, const Region& r, const Kernel& k, int indent,
                  const LineOrigin& around) {
  for (const Instr& i : r.body) print_instr(out, i, k, indent);
  out.at(around);
  if (!r.yields.empty())
    out += std::string(size_t(indent) * 2, ' ') + "yield " + list(r.yields, value_text) + "\n";
}

}  // namespace

std::string axes_text(const std::vector<Axis>& axes) { return axis_list(axes); }

std::string declaration_text(const TensorDecl& t) {
  return quote_name(t.name) + ": " + std::string(type_name(t.type)) + "[" +
         list(t.extents, [](const IndexExpr& e) { return to_string(e); }) + "] " +
         std::string(kind_name(t.kind)) + " " + std::string(scope_text(t.scope));
}

std::string multiples_text(const std::map<std::string, int64_t>& multiples) {
  std::string out;
  for (const auto& [size, n] : multiples)
    out += "  multiple " + quote_name(size) + " of " + std::to_string(n) + "\n";
  return out;
}

std::string print(const Instr& i, const Kernel& k) {
  std::string s = list(i.results, [&](ValueId v) { return typed(v, k); });
  if (!s.empty()) s += " = ";
  return s + operation(i, k) + origin_text(i);
}

MappedLines to_lines(const Module& m) {
  MappedText out;
  out += "module " + quote_name(m.name) + " {\n";
  if (!m.sizes.empty()) out += "  sizes " + list(m.sizes, quote_name) + "\n";
  out += multiples_text(m.multiples);
  for (const TensorDecl& t : m.tensors) out += "  tensor " + declaration_text(t) + "\n";
  for (const std::string& r : m.rewrites) out += "  rewrite " + quote_text(r) + "\n";
  for (const std::string& n : m.notes) out += "  note " + quote_text(n) + "\n";
  for (const Kernel& k : m.kernels) {
    out += "  kernel " + quote_name(k.name) + " {\n";
    if (!k.comment.empty()) out += "    comment " + quote_text(k.comment) + "\n";
    for (const GridDim& g : k.grid)
      out += "    grid " + quote_name(g.iv) + " < " + to_string(g.extent) + "\n";
    for (const TensorDecl& t : k.shared) out += "    buffer " + declaration_text(t) + "\n";
    out += "    values " + std::to_string(k.next_value) + "\n";
    print_region(out, k.body, k, 2, {});
    out += "  }\n";
  }
  out += "}\n";
  return std::move(out).take();
}

std::string print(const Module& m) { return to_lines(m).text; }

}  // namespace nautilus::tile
