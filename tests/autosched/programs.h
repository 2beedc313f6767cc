// Small operators as primitive statements, written as .naut text and bound to sizes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "polyhedral/program.h"

namespace nautilus::sched::testing_programs {

// Writes .naut text: every dim `i` of a statement runs over the size given for it.
class Naut {
 public:
  Naut(const std::string& name, std::vector<std::string> sizes) : sizes_(std::move(sizes)) {
    text_ = "naut 1\nprogram " + name + "\nsizes";
    for (const std::string& s : sizes_)
      text_ += " " + s, params_ += (params_.empty() ? "" : ", ") + s;
    text_ += "\nwhere [" + params_ + "] -> { : ";
    for (size_t k = 0; k < sizes_.size(); ++k) text_ += (k ? " and " : "") + sizes_[k] + " >= 0";
    text_ += " }\n";
  }
  Naut& tensor(const std::string& name, const char* kind, const char* type,
               const std::vector<std::string>& extents) {
    text_ += "tensor " + name + " " + kind + " " + type + "\n";
    for (const std::string& e : extents)
      text_ += "  extent [" + params_ + "] -> { [(" + e + ")] }\n";
    return *this;
  }
  using Dims = std::vector<std::pair<std::string, std::string>>;  // {"i", "N"}: 0 <= i < N
  Naut& statement(const std::string& target, const Dims& dims, const std::string& at,
                  const std::vector<std::pair<std::string, std::string>>& reads,
                  const std::string& expr, const std::string& reduce = "",
                  const std::string& extra = "") {
    std::string name = "S_" + target, list, where;
    for (auto& [d, size] : dims) {
      list += (list.empty() ? "" : ", ") + d;
      where += (where.empty() ? "" : " and ") + ("0 <= " + d + " < " + size);
    }
    if (!extra.empty()) where += " and " + extra;
    text_ += "statement " + name + "(" + list + ")\n  domain [" + params_ + "] -> { " + name + "[" +
             list + "] : " + where + " }\n";
    text_ +=
        "  write " + target + " { " + name + "[" + list + "] -> " + target + "[" + at + "] }\n";
    for (auto& [t, index] : reads)
      text_ += "  read " + t + " { " + name + "[" + list + "] -> " + t + "[" + index + "] }\n";
    text_ += "  expr " + expr + "\n";
    if (!reduce.empty()) text_ += "  reduce " + reduce + "\n";
    return *this;
  }
  poly::ProgramPtr done(const poly::Sizes& sizes) const {
    auto p = poly::parse_naut(poly::make_context(), text_, "test.naut");
    if (!p) throw std::runtime_error(p.error().text() + "\n" + text_);
    auto b = poly::bind_sizes(*p, sizes);
    if (!b) throw std::runtime_error(b.error().text());
    return std::make_shared<const poly::Program>(*std::move(b));
  }
  const std::string& text() const { return text_; }

 private:
  std::vector<std::string> sizes_;
  std::string text_, params_;
};

inline poly::ProgramPtr attention(int64_t heads, int64_t n, int64_t d, bool causal = false,
                                  const char* type = "f16") {
  Naut b("attention", {"H", "N", "D"});
  for (const char* t : {"Q", "K", "V"}) b.tensor(t, "input", type, {"H", "N", "D"});
  b.tensor("S_sum", "temp", "f32", {"H", "N", "N"}).tensor("S", "temp", "f32", {"H", "N", "N"});
  b.tensor("m", "temp", "f32", {"H", "N"})
      .tensor("E", "temp", "f32", {"H", "N", "N"})
      .tensor("l", "temp", "f32", {"H", "N"});
  b.tensor("P", "temp", "f32", {"H", "N", "N"})
      .tensor("O_acc", "temp", "f32", {"H", "N", "D"})
      .tensor("O", "output", type, {"H", "N", "D"});
  const std::string limit = causal ? "j <= i" : "";
  const Naut::Dims hij = {{"h", "H"}, {"i", "N"}, {"j", "N"}};
  Naut::Dims hijd = hij, hije = hij;
  hijd.push_back({"d", "D"});
  hije.push_back({"e", "D"});
  b.statement("S_sum", hijd, "h,i,j", {{"Q", "h,i,d"}, {"K", "h,j,d"}}, "$0 * $1", "sum over 3",
              limit);
  b.statement("S", hij, "h,i,j", {{"S_sum", "h,i,j"}}, "$0 * 0.125", "", limit);
  b.statement("m", hij, "h,i", {{"S", "h,i,j"}}, "$0", "max over 2", limit);
  b.statement("E", hij, "h,i,j", {{"S", "h,i,j"}, {"m", "h,i"}}, "exp(($0 - $1))", "", limit);
  b.statement("l", hij, "h,i", {{"E", "h,i,j"}}, "$0", "sum over 2", limit);
  b.statement("P", hij, "h,i,j", {{"E", "h,i,j"}, {"l", "h,i"}}, "$0 / $1", "", limit);
  b.statement("O_acc", hije, "h,i,e", {{"P", "h,i,j"}, {"V", "h,j,e"}}, "$0 * $1", "sum over 2",
              limit);
  b.statement("O", {{"h", "H"}, {"i", "N"}, {"e", "D"}}, "h,i,e", {{"O_acc", "h,i,e"}},
              type == std::string("f16") ? "f16($0)" : "$0");
  return b.done({{"H", heads}, {"N", n}, {"D", d}});
}

inline poly::ProgramPtr matmul(int64_t m, int64_t n, int64_t k, const char* type = "f16") {
  Naut b("matmul", {"M", "N", "K"});
  b.tensor("A", "input", type, {"M", "K"})
      .tensor("B", "input", type, {"K", "N"})
      .tensor("C", "output", "f32", {"M", "N"});
  b.statement("C", {{"i", "M"}, {"j", "N"}, {"k", "K"}}, "i,j", {{"A", "i,k"}, {"B", "k,j"}},
              "$0 * $1", "sum over 2");
  return b.done({{"M", m}, {"N", n}, {"K", k}});
}

inline poly::ProgramPtr softmax(int64_t n, int64_t m) {
  Naut b("softmax", {"N", "M"});
  b.tensor("X", "input", "f32", {"N", "M"})
      .tensor("m", "temp", "f32", {"N"})
      .tensor("E", "temp", "f32", {"N", "M"});
  b.tensor("l", "temp", "f32", {"N"}).tensor("Y", "output", "f32", {"N", "M"});
  const Naut::Dims ij = {{"i", "N"}, {"j", "M"}};
  b.statement("m", ij, "i", {{"X", "i,j"}}, "$0", "max over 1");
  b.statement("E", ij, "i,j", {{"X", "i,j"}, {"m", "i"}}, "exp(($0 - $1))");
  b.statement("l", ij, "i", {{"E", "i,j"}}, "$0", "sum over 1");
  b.statement("Y", ij, "i,j", {{"E", "i,j"}, {"l", "i"}}, "$0 / $1");
  return b.done({{"N", n}, {"M", m}});
}

inline poly::ProgramPtr rmsnorm(int64_t n, int64_t m) {
  Naut b("rmsnorm", {"N", "M"});
  b.tensor("X", "input", "f32", {"N", "M"})
      .tensor("W", "input", "f32", {"M"})
      .tensor("s", "temp", "f32", {"N"});
  b.tensor("r", "temp", "f32", {"N"}).tensor("Y", "output", "f32", {"N", "M"});
  const Naut::Dims ij = {{"i", "N"}, {"j", "M"}};
  b.statement("s", ij, "i", {{"X", "i,j"}}, "$0 * $0", "sum over 1");
  b.statement("r", {{"i", "N"}}, "i", {{"s", "i"}}, "rsqrt((($0 * 0.001) + 0.00001))");
  b.statement("Y", ij, "i,j", {{"X", "i,j"}, {"r", "i"}, {"W", "j"}}, "($0 * $1) * $2");
  return b.done({{"N", n}, {"M", m}});
}

inline poly::ProgramPtr variance(int64_t n, int64_t m) {
  Naut b("variance", {"N", "M"});
  b.tensor("X", "input", "f32", {"N", "M"})
      .tensor("s", "temp", "f32", {"N"})
      .tensor("v", "output", "f32", {"N"});
  const Naut::Dims ij = {{"i", "N"}, {"j", "M"}};
  b.statement("s", ij, "i", {{"X", "i,j"}}, "$0", "sum over 1");
  b.statement("v", ij, "i", {{"X", "i,j"}, {"s", "i"}}, "($0 - ($1 * 0.01)) * ($0 - ($1 * 0.01))",
              "sum over 1");
  return b.done({{"N", n}, {"M", m}});
}

// O = (A B) C.
inline poly::ProgramPtr chained(int64_t n, int64_t k, int64_t d) {
  Naut b("chained", {"N", "K", "D"});
  b.tensor("A", "input", "f16", {"N", "K"})
      .tensor("B", "input", "f16", {"K", "N"})
      .tensor("C", "input", "f16", {"N", "D"});
  b.tensor("T", "temp", "f32", {"N", "N"}).tensor("O", "output", "f32", {"N", "D"});
  b.statement("T", {{"i", "N"}, {"j", "N"}, {"k", "K"}}, "i,j", {{"A", "i,k"}, {"B", "k,j"}},
              "$0 * $1", "sum over 2");
  b.statement("O", {{"i", "N"}, {"j", "N"}, {"e", "D"}}, "i,e", {{"T", "i,j"}, {"C", "j,e"}},
              "$0 * $1", "sum over 1");
  return b.done({{"N", n}, {"K", k}, {"D", d}});
}

// Point-wise statements in a row, with a row maximum now and then.
inline poly::ProgramPtr long_chain(int count, int64_t n, int64_t m) {
  Naut b("chain", {"N", "M"});
  b.tensor("T0", "input", "f32", {"N", "M"});
  const Naut::Dims ij = {{"i", "N"}, {"j", "M"}};
  std::string before = "T0";
  for (int k = 1; k <= count; ++k) {
    bool last = k == count;
    std::string t = "T" + std::to_string(k);
    if (k % 10 == 0 && !last) {
      b.tensor("r" + std::to_string(k), "temp", "f32", {"N"});
      b.statement("r" + std::to_string(k), ij, "i", {{before, "i,j"}}, "$0", "max over 1");
      b.tensor(t, "temp", "f32", {"N", "M"});
      b.statement(t, ij, "i,j", {{before, "i,j"}, {"r" + std::to_string(k), "i"}}, "$0 - $1");
    } else {
      b.tensor(t, last ? "output" : "temp", "f32", {"N", "M"});
      b.statement(t, ij, "i,j", {{before, "i,j"}}, "($0 * 0.5) + 1");
    }
    before = t;
  }
  return b.done({{"N", n}, {"M", m}});
}

// y = x + 1.
inline poly::ProgramPtr pointwise(int64_t n) {
  Naut b("pointwise", {"N"});
  b.tensor("X", "input", "f32", {"N"}).tensor("Y", "output", "f32", {"N"});
  b.statement("Y", {{"i", "N"}}, "i", {{"X", "i"}}, "$0 + 1");
  return b.done({{"N", n}});
}

}  // namespace nautilus::sched::testing_programs
