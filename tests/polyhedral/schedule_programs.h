// Small programs for the tests of schedules, built directly from isl text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "polyhedral/program.h"

namespace nautilus::poly::testing_programs {

class Builder {
 public:
  Builder(ContextPtr ctx, std::string name, std::vector<std::string> params,
          const std::string& facts) {
    p_.context = ctx;
    p_.name = std::move(name);
    p_.params = std::move(params);
    p_.param_context = isl::set(ctx->get(), facts);
  }
  Builder& tensor(const std::string& name, TensorKind kind,
                  const std::vector<std::string>& extents) {
    Tensor t;
    t.name = name;
    t.kind = kind;
    for (const std::string& e : extents)
      t.extents.push_back(
          isl::pw_aff(p_.context->get(), "[" + params() + "] -> { [(" + e + ")] }"));
    p_.tensors.push_back(t);
    return *this;
  }
  // domain "i,j : 0 <= i < N and ..."; write {"T","i"}; reads likewise.
  Builder& statement(const std::string& target, const std::string& dims, const std::string& where,
                     const std::string& at,
                     const std::vector<std::pair<std::string, std::string>>& reads, Expr expr,
                     std::optional<Reduction> reduction = {}) {
    Statement s;
    s.name = "S_" + target;
    s.domain = isl::set(p_.context->get(),
                        "[" + params() + "] -> { " + s.name + "[" + dims + "] : " + where + " }");
    s.write = access(s.name, dims, target, at);
    for (const auto& [tensor, index] : reads)
      s.reads.push_back(access(s.name, dims, tensor, index));
    s.expr = std::move(expr);
    s.reduction = std::move(reduction);
    p_.statements.push_back(std::move(s));
    return *this;
  }
  ProgramPtr done() {
    p_.original = textual_order(p_);
    return std::make_shared<const Program>(p_);
  }

 private:
  std::string params() const {
    std::string out;
    for (const std::string& q : p_.params) out += (out.empty() ? "" : ", ") + q;
    return out;
  }
  Access access(const std::string& stmt, const std::string& dims, const std::string& tensor,
                const std::string& at) {
    Access a;
    a.tensor = tensor;
    a.map = isl::map(p_.context->get(), "[" + params() + "] -> { " + stmt + "[" + dims + "] -> " +
                                            tensor + "[" + at + "] }");
    return a;
  }
  Program p_;
};

inline Expr rd(int k) { return Expr::read(k, Type::F32); }
inline Reduction over(ReduceOp op, std::vector<int> dims) {
  Reduction r;
  r.op = op;
  r.dims = std::move(dims);
  return r;
}

// Attention over h heads as primitive statements; causal restricts j to j <= i.
inline ProgramPtr attention(ContextPtr ctx, bool causal = true) {
  const std::string hij =
      std::string("0 <= h < H and 0 <= i < N and 0 <= j < N") + (causal ? " and j <= i" : "");
  const std::string hid = "0 <= h < H and 0 <= i < N and 0 <= d < D";
  Builder b(ctx, "attention", {"H", "N", "D"}, "[H, N, D] -> { : H >= 0 and N >= 0 and D >= 0 }");
  for (const char* t : {"Q", "K", "V"}) b.tensor(t, TensorKind::Input, {"H", "N", "D"});
  b.tensor("S_sum", TensorKind::Temp, {"H", "N", "N"})
      .tensor("S", TensorKind::Temp, {"H", "N", "N"});
  b.tensor("m", TensorKind::Temp, {"H", "N"}).tensor("P", TensorKind::Temp, {"H", "N", "N"});
  b.tensor("l", TensorKind::Temp, {"H", "N"}).tensor("Oa", TensorKind::Temp, {"H", "N", "D"});
  b.tensor("O", TensorKind::Output, {"H", "N", "D"});
  b.statement("S_sum", "h,i,j,d", hij + " and 0 <= d < D", "h,i,j",
              {{"Q", "h,i,d"}, {"K", "h,j,d"}}, rd(0) * rd(1), over(ReduceOp::Sum, {3}));
  b.statement("S", "h,i,j", hij, "h,i,j", {{"S_sum", "h,i,j"}}, rd(0) * Expr::constant(0.125));
  b.statement("m", "h,i,j", hij, "h,i", {{"S", "h,i,j"}}, rd(0), over(ReduceOp::Max, {2}));
  b.statement("P", "h,i,j", hij, "h,i,j", {{"S", "h,i,j"}, {"m", "h,i"}}, exp(rd(0) - rd(1)));
  b.statement("l", "h,i,j", hij, "h,i", {{"P", "h,i,j"}}, rd(0), over(ReduceOp::Sum, {2}));
  b.statement("Oa", "h,i,j,d", hij + " and 0 <= d < D", "h,i,d", {{"P", "h,i,j"}, {"V", "h,j,d"}},
              rd(0) * rd(1), over(ReduceOp::Sum, {2}));
  b.statement("O", "h,i,d", hid, "h,i,d", {{"Oa", "h,i,d"}, {"l", "h,i"}}, rd(0) / rd(1));
  return b.done();
}

// B[i] = A[i]; C[i] = B[i] with an offset and another size.
inline ProgramPtr two_pointwise(ContextPtr ctx, const std::string& read_at = "i") {
  Builder b(ctx, "two", {"N"}, "[N] -> { : N >= 0 }");
  b.tensor("A", TensorKind::Input, {"N"})
      .tensor("B", TensorKind::Temp, {"N"})
      .tensor("C", TensorKind::Output, {"N"});
  b.statement("B", "i", "0 <= i < N", "i", {{"A", "i"}}, rd(0));
  b.statement("C", "i", "0 <= i < N and 0 <= " + read_at + " < N", "i", {{"B", read_at}}, rd(0));
  return b.done();
}

// A 2-d recurrence in place: A[i,j] = A[i-1,j+1] (carried by i with distance (1,-1)).
inline ProgramPtr recurrence(ContextPtr ctx) {
  Builder b(ctx, "recurrence", {"N"}, "[N] -> { : N >= 2 }");
  b.tensor("A", TensorKind::Output, {"N", "N"});
  b.statement("A", "i,j", "1 <= i < N and 0 <= j < N - 1", "i,j", {{"A", "i-1,j+1"}}, rd(0));
  return b.done();
}

// C[i,j] = sum_k A[i,k] B[k,j].
inline ProgramPtr matmul(ContextPtr ctx) {
  Builder b(ctx, "matmul", {"M", "N", "K"}, "[M, N, K] -> { : M >= 0 and N >= 0 and K >= 0 }");
  b.tensor("A", TensorKind::Input, {"M", "K"})
      .tensor("B", TensorKind::Input, {"K", "N"})
      .tensor("C", TensorKind::Output, {"M", "N"});
  b.statement("C", "i,j,k", "0 <= i < M and 0 <= j < N and 0 <= k < K", "i,j",
              {{"A", "i,k"}, {"B", "k,j"}}, rd(0) * rd(1), over(ReduceOp::Sum, {2}));
  return b.done();
}

}  // namespace nautilus::poly::testing_programs
