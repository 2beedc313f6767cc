#include "compiler/runtime/reference/reference_text.h"

#include <algorithm>
#include <map>

#include "compiler/runtime/extents.h"
#include "compiler/runtime/reference/reference_expr.h"

namespace nautilus::runtime {
namespace {

// Where a tensor's kept elements lie: low corner as text over the row, constant extents.
struct Box {
  std::vector<std::string> low;
  std::vector<int64_t> extent;
};

// Per dimension a text of the index, over the statement's dims; gathered dims are empty.
std::vector<std::string> index_texts(const poly::Access& a, const isl::set& domain,
                                     const std::vector<std::string>& dims) {
  if (domain.is_empty())
    return std::vector<std::string>(poly::n_out(a.map), "0");  // never executed
  isl::map map = a.map.gist_domain(domain);
  const unsigned rank = poly::n_out(map);
  std::vector<bool> gathered(rank, false);
  for (const auto& g : a.gathers) gathered.at(g.dim) = true;
  for (unsigned d = rank; d-- > 0;)
    if (gathered[d]) map = poly::project_out_out(map, d, 1);
  const isl::pw_multi_aff f = map.as_pw_multi_aff();
  std::vector<std::string> out(rank);
  unsigned k = 0;
  for (unsigned d = 0; d < rank; ++d) {
    if (gathered[d]) continue;
    std::string text;  // the last piece needs no test
    f.at(static_cast<int>(k++)).foreach_piece([&](isl::set where, isl::multi_aff value) {
      const std::string v = affine_text(value.at(0), dims);
      text = text.empty() ? v : "(" + condition_text(where, dims) + " ? " + v + " : " + text + ")";
    });
    out[d] = text;
  }
  return out;
}

class Generator {
 public:
  Generator(const poly::Program& q, const std::vector<std::string>& row_params,
            const isl::set& rows, Arithmetic arithmetic)
      : q_(q),
        row_params_(row_params),
        rows_(rows),
        arithmetic_(arithmetic),
        build_(isl::ast_build::from_context(rows)) {}

  Expected<ReferenceText> generate(const std::string& output, const std::string& entry) {
    ReferenceText result;
    std::string params, args;
    for (size_t k = 0; k < q_.tensors.size(); ++k) {
      const poly::Tensor& t = q_.tensors[k];
      const bool whole = t.kind == poly::TensorKind::Input || row_params_.empty();
      if (whole) {
        const auto extents = extents_of(q_, t.name);
        boxes_[t.name] = Box{std::vector<std::string>(extents.size(), "0"), extents};
      } else if (auto bad = box_of(t, t.name == output)) {
        return *bad;
      }
      result.box.push_back(
          t.kind == poly::TensorKind::Input ? 0 : element_count(boxes_[t.name].extent));
      params += (k ? ", " : "") + std::string(t.kind == poly::TensorKind::Input ? "const " : "") +
                "double* __restrict T_" + t.name;
      args += (k ? ", " : "") + std::string("t[") + std::to_string(k) + "]";
    }
    std::string body;
    for (size_t k = 0; k < row_params_.size(); ++k)
      body += "const long " + row_params_[k] + " = row[" + std::to_string(k) + "];\n";
    body += low_corners();
    for (const poly::Statement& s : q_.statements) body += initialization(s);
    for (const poly::Statement& s : q_.statements) body += statement(s);
    body += loops();
    if (!row_params_.empty()) body += copy_row(output);
    if (!params.empty()) params += ", ";
    result.text =
        "static void " + entry + "_body(" + params + "const long* row, double* __restrict out) {\n";
    if (arithmetic_ == Arithmetic::Double) result.text += "#pragma clang fp reassociate(on)\n";
    result.text += body + "}\nextern \"C\" void " + entry +
                   "(double* const* t, const long* row, double* out) {\n  " + entry + "_body(" +
                   args + (args.empty() ? "" : ", ") + "row, out);\n}\n";
    return result;
  }

 private:
  // The elements of the output that the row is: its leading dims equal the row parameters.
  isl::set row_of(const poly::Tensor& t) const {
    std::string params, index;
    for (size_t d = 0; d < t.rank(); ++d) {
      const bool fixed = d < row_params_.size();
      if (fixed) params += (d ? ", " : "") + row_params_[d];
      index += (d ? ", " : "") + (fixed ? row_params_[d] : std::string("x"));
    }
    return isl::set(q_.context->get(), "[" + params + "] -> { " + t.name + "[" + index + "] }")
        .intersect(q_.elements(t));
  }

  // Rectangular hull of the elements that instances touch, over the row; of the output, the row
  // itself belongs to it, since it is copied whole even where no instance writes.
  std::optional<Refusal> box_of(const poly::Tensor& t, bool is_output) {
    isl::set touched = q_.elements(t);
    touched = is_output ? row_of(t) : touched.subtract(touched);
    for (const poly::Statement& s : q_.statements) {
      auto add = [&](const poly::Access& a) {
        if (a.tensor == t.name) touched = touched.unite(a.map.intersect_domain(s.domain).range());
      };
      add(s.write);
      for (const poly::Access& a : s.reads) add(a);
    }
    touched = touched.intersect(q_.elements(t)).intersect_params(rows_).coalesce();
    Box box;
    const isl::set rows = touched.params();
    for (unsigned d = 0; d < t.rank(); ++d) {
      if (touched.is_empty()) {
        box.low.push_back("0");
        box.extent.push_back(0);
        continue;
      }
      const isl::pw_aff low = touched.min_multi_pw_aff().at(static_cast<int>(d)).coalesce(),
                        high = touched.max_multi_pw_aff().at(static_cast<int>(d)).coalesce();
      const isl::val span = high.sub(low).max_val();
      if (!span.is_int())
        return Refusal{"evaluate the reference", t.name,
                       "the demanded elements have no bounded box", ""};
      box.extent.push_back(poly::to_int(span) + 1);
      box.low.push_back(build_.expr_from(low.gist(rows)).to_C_str());
    }
    boxes_[t.name] = box;
    return std::nullopt;
  }

  std::string low_corners() const {
    std::string out;
    for (const auto& [name, box] : boxes_)
      for (size_t d = 0; d < box.low.size(); ++d)
        if (box.low[d] != "0")
          out += "const long low_" + name + "_" + std::to_string(d) + " = " + box.low[d] + ";\n";
    return out;
  }
  std::string element(const std::string& tensor, const std::vector<std::string>& index) const {
    const Box& box = boxes_.at(tensor);
    std::string at;
    int64_t stride = 1;
    for (size_t d = index.size(); d-- > 0;) {
      std::string i = index[d];
      if (box.low[d] != "0") i = "(" + i + " - low_" + tensor + "_" + std::to_string(d) + ")";
      at = i + (stride == 1 ? "" : " * " + std::to_string(stride) + "L") +
           (at.empty() ? "" : " + " + at);
      stride *= std::max<int64_t>(box.extent[d], 1);
    }
    return "T_" + tensor + "[" + (at.empty() ? "0" : at) + "]";
  }

  std::string initialization(const poly::Statement& s) const {
    if (!s.reduction) return "";
    const std::string n = std::to_string(element_count(boxes_.at(s.write.tensor).extent)) + "L";
    const Type type = q_.tensor(s.write.tensor)->type;
    double identity = poly::identity_value(*s.reduction);
    if (!is_float(type)) identity = round_to_type(identity, type);
    return "for (long x = 0; x < " + n + "; ++x) T_" + s.write.tensor +
           "[x] = " + number(identity) + ";\n";
  }

  // A local function of the domain's dims that executes one instance.
  std::string statement(const poly::Statement& s) const {
    std::vector<std::string> dims;
    std::string params;
    for (const std::string& n : poly::dim_names(s.domain)) {
      dims.push_back("d_" + n);
      params += (params.empty() ? "long d_" : ", long d_") + n;
    }
    std::string lets;
    std::map<int, std::string> reads;
    auto access = [&](const poly::Access& a) {
      auto index = index_texts(a, s.domain, dims);
      for (const auto& g : a.gathers) index.at(g.dim) = "(long)r" + std::to_string(g.read);
      return element(a.tensor, index);
    };
    // Index tensors first: others gather through them.
    std::vector<size_t> order;
    for (const bool gathers : {false, true})
      for (size_t k = 0; k < s.reads.size(); ++k)
        if (s.reads[k].gathers.empty() != gathers) order.push_back(k);
    for (const size_t k : order)
      lets += "const double r" + std::to_string(k) + " = " + access(s.reads[k]) + ";\n";
    const LeafText leaves{[](int k) { return "r" + std::to_string(k); },
                          [&](int k) { return affine_text(s.indices.at(k), dims); },
                          [](const std::string& n) { return "T_" + n + "[0]"; }};
    std::string guard;
    if (s.guard)
      guard = "if (!(" + expression_text(s.guard, arithmetic_, leaves, "g", lets) + ")) return;\n";
    const poly::Tensor& target = *q_.tensor(s.write.tensor);
    const std::string to = access(s.write);
    std::string tail;
    Expr value = s.expr;
    const bool last = arithmetic_ == Arithmetic::Double &&
                      target.kind == poly::TensorKind::Output && !s.reduction;
    if (last && value->op == Op::Cast && is_float(value->type) && is_float(value->args[0]->type))
      value = value->args[0];
    std::string v = expression_text(value, arithmetic_, leaves, "x", tail);
    if (s.reduction) {
      // The accumulator and the term as variables of the combination, in the tensor's own
      // arithmetic.
      const Expr a = Expr::var("a", target.type), b = Expr::var("b", value->type);
      tail += "const double a_ = " + to + ", b_ = " + v + ";\n";
      const LeafText pair{leaves.read, leaves.index, [](const std::string& n) { return n + "_"; }};
      v = expression_text(poly::combine_expr(*s.reduction, a, b), arithmetic_, pair, "y", tail);
    }
    const bool exact = arithmetic_ == Arithmetic::Double && is_float(target.type);
    if (!exact)
      v = rounded("(" + c_type(target.type, arithmetic_) + ")" + v, target.type, arithmetic_);
    return "auto " + s.name + " = [=](" + params + ") __attribute__((always_inline)) {\n" + lets +
           guard + tail + to + " = " + v + ";\n};\n";
  }

  std::string loops() const {
    if (q_.statements.empty()) return "";
    const isl::schedule s = q_.original;
    if (s.domain().is_empty()) return "";
    std::string text = build_.node_from(s).to_C_str();
    for (size_t at = 0; (at = text.find("(int ", at)) != std::string::npos;)
      text.replace(at, 5, "(long ");
    return text;
  }

  std::string copy_row(const std::string& output) const {
    const auto extents = extents_of(q_, output);
    std::vector<std::string> index;
    for (size_t d = 0; d < extents.size(); ++d)
      index.push_back(d < row_params_.size() ? row_params_[d] : std::string("x"));
    const bool element_only = row_params_.size() == extents.size();
    const std::string n = std::to_string(element_only ? 1 : extents.back()) + "L";
    return "for (long x = 0; x < " + n + "; ++x) out[x] = " + element(output, index) + ";\n";
  }

  const poly::Program& q_;
  const std::vector<std::string>& row_params_;
  isl::set rows_;
  Arithmetic arithmetic_;
  isl::ast_build build_;
  std::map<std::string, Box> boxes_;
};

}  // namespace

Expected<ReferenceText> reference_text(const poly::Program& q, const std::string& output,
                                       const std::vector<std::string>& row_params,
                                       const isl::set& rows, Arithmetic arithmetic,
                                       const std::string& entry) {
  try {
    return Generator(q, row_params, rows, arithmetic).generate(output, entry);
  } catch (const isl::exception& e) {
    return Refusal{"evaluate the reference", q.name, e.what(), ""};
  }
}

}  // namespace nautilus::runtime
