#include "compiler/backend/torch/wrapper.h"

#include <algorithm>
#include <cctype>

#include "compiler/backend/torch/runtime_text.h"
#include "polyhedral/leaf_geometry.h"

namespace nautilus::torch {
namespace {

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string join(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& i : items) out += (out.empty() ? "" : ", ") + i;
  return out;
}

// "(a, b,)": a tuple also where it has one item or none.
std::string tuple(const std::vector<std::string>& items) {
  return items.empty() ? "()" : "(" + join(items) + ",)";
}

std::string expressions(const std::vector<IndexExpr>& list) {
  std::vector<std::string> items;
  for (const IndexExpr& e : list) items.push_back(python(e));
  return "lambda s: " + tuple(items);
}

std::string dtype(Type t) {
  switch (t) {
    case Type::F16:
      return "torch.float16";
    case Type::BF16:
      return "torch.bfloat16";
    case Type::F32:
      return "torch.float32";
    case Type::F64:
      return "torch.float64";
    case Type::I32:
      return "torch.int32";
    case Type::I8:
      return "torch.int8";
    case Type::Bool:
      return "torch.bool";
    case Type::E4M3:
      return "torch.float8_e4m3fn";
    case Type::E5M2:
      return "torch.float8_e5m2";
  }
  return "torch.float32";
}

std::string kind(poly::TensorKind k) {
  return k == poly::TensorKind::Input ? "input" : k == poly::TensorKind::Output ? "output" : "temp";
}

// A Python identifier: other characters become underscores.
std::string identifier(const std::string& name) {
  std::string out;
  for (const char c : name)
    out += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out = "_" + out;
  static const std::set<std::string> keywords{
      "False",   "None",     "True",     "and",    "as",   "assert", "async",  "await",
      "break",   "class",    "continue", "def",    "del",  "elif",   "else",   "except",
      "finally", "for",      "from",     "global", "if",   "import", "in",     "is",
      "lambda",  "nonlocal", "not",      "or",     "pass", "raise",  "return", "try",
      "while",   "with",     "yield",    "out",    "torch"};
  return keywords.count(out) ? out + "_" : out;
}

// Dimensions that give a size: extents factor*size + offset. Inputs before outputs.
struct Solution {
  std::string size, tensor;
  size_t dim;
  int64_t factor, offset;
};
std::vector<Solution> solutions_of(const cuda::Source& s) {
  std::vector<Solution> rows;
  for (const auto wanted : {poly::TensorKind::Input, poly::TensorKind::Output})
    for (const tile::TensorDecl& t : s.tensors) {
      if (t.kind != wanted) continue;
      for (size_t d = 0; d < t.extents.size(); ++d) {
        std::vector<std::string> vars;
        t.extents[d].collect_vars(vars);
        const std::set<std::string> names(vars.begin(), vars.end());
        if (names.size() != 1) continue;
        const std::string& name = *names.begin();
        const int64_t factor = t.extents[d].coefficient(name);
        const int64_t offset = t.extents[d].substitute({{name, IndexExpr(0)}}).constant();
        // Only what is affine is solved; the rest is checked.
        if (factor <= 0 || !(t.extents[d] == IndexExpr::var(name) * factor + offset)) continue;
        rows.push_back({name, t.name, d, factor, offset});
      }
    }
  return rows;
}

std::set<std::string> told_by_shapes(const cuda::Source& s) {
  std::set<std::string> out;
  for (const Solution& r : solutions_of(s)) out.insert(r.size);
  return out;
}

std::string solutions(const cuda::Source& s) {
  std::string out = "_SOLVE = [  # size, tensor, dimension: extent = factor * size + offset\n";
  for (const Solution& r : solutions_of(s))
    out += "    " +
           tuple({quoted(r.size), quoted(r.tensor), std::to_string(r.dim), std::to_string(r.factor),
                  std::to_string(r.offset)}) +
           ",\n";
  return out + "]\n";
}

std::string tensor_rows(const cuda::Source& s) {
  std::string out = "_TENSORS = [  # the kernels' parameters, in order\n";
  for (const tile::TensorDecl& t : s.tensors)
    out += "    (" + quoted(t.name) + ", " + quoted(kind(t.kind)) + ", " + dtype(t.type) + ", " +
           expressions(t.extents) + "),\n";
  return out + "]\n";
}

std::string launch_rows(const cuda::Source& s) {
  std::string out = "_LAUNCHES = [  # kernel, grid, threads, bytes of shared memory, tensor maps\n";
  for (const cuda::Launch& l : s.launches) {
    std::string maps;
    for (const cuda::TensorMap& m : l.maps) {
      std::vector<std::string> box;
      for (const int b : m.box) box.push_back(std::to_string(b));
      maps += "(" + quoted(m.tensor) + ", " + std::to_string(cuda::tensor_map_type(m.elem)) + ", " +
              std::to_string(type_bytes(m.elem)) + ", " + expressions(m.extents) + ", " +
              tuple(box) + ", " + std::to_string(m.swizzle) + "), ";
    }
    out += "    (" + quoted(l.kernel) + ", " + expressions(l.grid) + ", " +
           std::to_string(l.threads) + ", " + std::to_string(l.shared_bytes) + ", [" + maps +
           "]),\n";
  }
  return out + "]\n";
}

// "f16[2, N, 64]"
std::string shape_text(const tile::TensorDecl& t) {
  std::vector<std::string> items;
  for (const IndexExpr& e : t.extents) items.push_back(to_string(e));
  return std::string(type_name(t.type)) + "[" + join(items) + "]";
}

// Linear combination as Python; `words`: names alone instead of entries of the dict.
struct Terms {
  const std::vector<std::string>& names;
  const std::vector<std::string>& divs;
  bool words;
  std::string operator()(const std::vector<int64_t>& params, const std::vector<int64_t>& ds,
                         int64_t constant) const {
    std::string out;
    const auto add = [&](int64_t c, const std::string& what) {
      if (c == 0) return;
      const int64_t a = c < 0 ? -c : c;
      out += out.empty() ? (c < 0 ? "-" : "") : (c < 0 ? " - " : " + ");
      out += what.empty() ? std::to_string(a) : (a == 1 ? "" : std::to_string(a) + "*") + what;
    };
    for (size_t k = 0; k < params.size(); ++k)
      add(params[k], words ? names[k] : "s[\"" + names[k] + "\"]");
    for (size_t k = 0; k < ds.size(); ++k)
      if (ds[k] != 0) add(ds[k], divs[k]);  // a division reads only those before it
    add(constant, "");
    return out.empty() ? "0" : out;
  }
};

}  // namespace

std::string python(const IndexExpr& e) {
  const auto& a = e.args();
  switch (e.kind()) {
    case IndexExpr::Kind::Const:
      return std::to_string(e.constant());
    case IndexExpr::Kind::Var:
      return "s[" + quoted(e.name()) + "]";
    case IndexExpr::Kind::Add: {
      std::string out;
      for (const IndexExpr& x : a) out += (out.empty() ? "" : " + ") + python(x);
      return "(" + out + ")";
    }
    case IndexExpr::Kind::Mul:
      return "(" + std::to_string(e.constant()) + " * " + python(a[0]) + ")";
    case IndexExpr::Kind::FloorDiv:
      return "(" + python(a[0]) + " // " + std::to_string(e.constant()) + ")";
    case IndexExpr::Kind::Mod:
      return "(" + python(a[0]) + " % " + std::to_string(e.constant()) + ")";
    case IndexExpr::Kind::Min:
      return "min(" + python(a[0]) + ", " + python(a[1]) + ")";
    case IndexExpr::Kind::Max:
      return "max(" + python(a[0]) + ", " + python(a[1]) + ")";
  }
  return "0";
}

Expected<std::vector<Fact>> facts_of(const poly::Program& p,
                                     const std::vector<std::string>& sizes) {
  std::vector<Fact> out;
  if (sizes.empty()) return out;
  poly::Sizes fixed = poly::bound_sizes(p);
  for (const std::string& n : sizes) fixed.erase(n);
  const isl::set context = poly::substitute_params(p.param_context, fixed);
  const std::vector<std::string> names = poly::param_names(context);
  for (const std::string& n : names)
    if (std::find(sizes.begin(), sizes.end(), n) == sizes.end())
      return Refusal{"write the facts of " + p.name, "", "size " + n + " is neither bound nor free",
                     "bind it"};
  // One conjunction of constraints a disjoint piece.
  std::string any_words, any_python;
  for (const poly::LinearSet& piece : poly::linear_form(context)) {
    std::vector<std::string> div_words, div_python;
    for (const poly::LinearDiv& d : piece.divs) {
      if (!d.known)
        return Refusal{"write the facts of " + p.name, "",
                       "no arithmetic of the sizes decides them", "simpler facts in the spec"};
      const std::string w = Terms{names, div_words, true}(d.params, d.divs, d.constant),
                        e = Terms{names, div_python, false}(d.params, d.divs, d.constant);
      div_words.push_back("floor((" + w + ")/" + std::to_string(d.denominator) + ")");
      div_python.push_back("((" + e + ") // " + std::to_string(d.denominator) + ")");
    }
    std::string words, py;
    for (const poly::LinearConstraint& c : piece.constraints) {
      const char* relation = c.equality ? " == 0" : " >= 0";
      words += (words.empty() ? "" : " and ") +
               Terms{names, div_words, true}(c.params, c.divs, c.constant) + relation;
      py += (py.empty() ? "" : " and ") +
            Terms{names, div_python, false}(c.params, c.divs, c.constant) + relation;
    }
    if (words.empty()) return out;  // everything is allowed
    any_words += (any_words.empty() ? "" : ", or ") + words;
    any_python += (any_python.empty() ? "(" : " or (") + py + ")";
  }
  if (any_python.empty()) return out;
  return std::vector<Fact>{{any_words, any_python}};
}

std::vector<Fact> facts_of(const Cond& facts) {
  if (facts.is_always()) return {};
  std::string any;
  for (const Cond::Conj& conj : facts.any) {
    std::string all;
    for (const Cond::Atom& a : conj)
      all += (all.empty() ? "" : " and ") + python(a.expr) + (a.equality ? " == 0" : " >= 0");
    any += (any.empty() ? "(" : " or (") + (all.empty() ? "True" : all) + ")";
  }
  return {{to_string(facts), any.empty() ? "False" : any}};
}

std::string wrapper(const cuda::Source& s, const std::vector<Fact>& facts,
                    const std::string& cubin) {
  std::vector<std::string> parameters, inputs, outputs, sizes, zeroed;
  const std::set<std::string> told = told_by_shapes(s);
  std::string named, named_values;  // sizes that are arguments
  for (const std::string& n : s.sizes)
    if (!told.count(n)) {
      named += identifier(n) + ", ";
      named_values += quoted(n) + ": " + identifier(n) + ", ";
    }
  for (const tile::TensorDecl& t : s.tensors) {
    if (t.kind == poly::TensorKind::Input) parameters.push_back(identifier(t.name));
    if (t.kind == poly::TensorKind::Input) inputs.push_back(t.name + ": " + shape_text(t));
    if (t.kind == poly::TensorKind::Output) outputs.push_back(t.name + ": " + shape_text(t));
  }
  for (const std::string& n : s.sizes) sizes.push_back(quoted(n));
  for (const std::string& n : s.zeroed) zeroed.push_back(quoted(n));
  const std::string name = identifier(s.name);
  std::string out =
      "\"\"\"" + name + "(" + join(parameters) + ", *, " + named + "out=None) for " + s.target +
      ", generated by nautilusc.\n\n    inputs:  " + join(inputs) +
      "\n    outputs: " + join(outputs) +
      "\n\nContiguous CUDA tensors in, outputs out (or into `out`); runs on the current "
      "stream.\n\"\"\"\nimport ctypes\nimport os\nimport threading\n\nimport torch\n\n";
  out += "__all__ = [" + quoted(name) + "]\n_NAME = " + quoted(s.name) +
         "\n_TARGET = " + quoted(s.target) + "\n_CUBIN = " + quoted(cubin) + "\n_SIZES = [" +
         join(sizes) + "]\n" + solutions(s) + tensor_rows(s) + "_FACTS = [\n";
  for (const Fact& f : facts) out += "    (" + quoted(f.words) + ", lambda s: " + f.python + "),\n";
  out += "]\n_ZEROED = [" + join(zeroed) + "]  # zero before the first kernel\n" + launch_rows(s);
  out += kRuntimeText;
  std::string given;
  for (const std::string& n : parameters) given += n + ", ";
  out += "\n\ndef " + name + "(" + given + "*, " + named + "out=None):\n    \"\"\"" + join(inputs) +
         " -> " + join(outputs) + "\"\"\"\n    return _call((" + given + "), out" +
         (named.empty() ? "" : ", {" + named_values + "}") + ")\n";
  return out;
}

}  // namespace nautilus::torch
