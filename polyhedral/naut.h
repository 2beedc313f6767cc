// Pieces of the text form `.naut` that its printer, its parser and validation share.
//
//   naut 1
//   program softmax
//   sizes N M
//   where [N, M] -> { : N >= 0 and M >= 0 }
//   typical N=128 M=64
//   scalars alpha
//   tensor X input f16
//     extent [N] -> { [(N)] }
//   statement S_m(i, j)
//     domain [N, M] -> { S_m[i, j] : 0 <= i < N and 0 <= j < M }
//     write m { S_m[i, j] -> m[i] }
//     read X { S_m[i, j] -> X[i, j] } gather 1=0
//     index { S_m[i, j] -> [(i - j)] }
//     expr $0
//     guard ($1 < 4)
//     reduce max over 1
//     combine (a + b)
//     identity 0
//     at 3 14 "softmax.spec.cpp"
//   original { domain: ..., child: ... }
//
// One fact a line; `#` starts a comment line; indentation is free. `original` is left out when the
// order is textual. Sets, maps and affine values are isl's notation; expressions are expr.h's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "polyhedral/program.h"

namespace nautilus::poly::naut {

std::string_view kind_name(TensorKind k);  // "input" "output" "temp"
std::optional<TensorKind> kind_from_name(std::string_view s);

// [A-Za-z_][A-Za-z0-9_']*, and no word that isl's notation reserves.
bool is_identifier(std::string_view s);
bool is_reserved(std::string_view s);

// What keeps a text from isl's reader, which is recursive and takes numbers of any length: too much
// of it, of nesting or of digits, or other characters; and where.
struct Unreadable {
  size_t at;
  std::string why;
};
std::optional<Unreadable> unreadable(std::string_view isl_text);

// True if `original` orders instances exactly as textual_order.
bool is_textual(const Program& p);

}  // namespace nautilus::poly::naut
