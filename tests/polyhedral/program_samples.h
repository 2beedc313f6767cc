// Small programs for tests, as .naut texts.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "polyhedral/program.h"

namespace nautilus::poly::samples {

inline Program parsed(const std::string& text, ContextPtr context = nullptr) {
  auto p = parse_naut(context ? context : make_context(), text, "sample.naut");
  if (!p) throw std::runtime_error(p.error().text());
  return *p;
}

// C[i,k] = sum_j A[i,j] B[j,k]
inline const char* const kMatmul = R"(naut 1
program matmul
sizes N M K
where [N, M, K] -> { : N >= 0 and M >= 0 and K >= 0 }
tensor A input f32
  extent [N] -> { [(N)] }
  extent [M] -> { [(M)] }
tensor B input f32
  extent [M] -> { [(M)] }
  extent [K] -> { [(K)] }
tensor C output f32
  extent [N] -> { [(N)] }
  extent [K] -> { [(K)] }
statement S_C(i, k, j)
  domain [N, M, K] -> { S_C[i, k, j] : 0 <= i < N and 0 <= k < K and 0 <= j < M }
  write C { S_C[i, k, j] -> C[i, k] }
  read A { S_C[i, k, j] -> A[i, j] }
  read B { S_C[i, k, j] -> B[j, k] }
  expr $0 * $1
  reduce sum over 2
)";

// Causal row softmax of S = X Y, times V: max, exp, sum, weighted sum, division.
inline const char* const kCausal = R"(naut 1
program causal
sizes N D
where [N, D] -> { : N >= 0 and D >= 0 }
typical N=64 D=16
tensor Q input f32
  extent [N] -> { [(N)] }
  extent [D] -> { [(D)] }
tensor V input f32
  extent [N] -> { [(N)] }
  extent [D] -> { [(D)] }
tensor S temp f32
  extent [N] -> { [(N)] }
  extent [N] -> { [(N)] }
tensor m temp f32
  extent [N] -> { [(N)] }
tensor P temp f32
  extent [N] -> { [(N)] }
  extent [N] -> { [(N)] }
tensor l temp f32
  extent [N] -> { [(N)] }
tensor acc temp f32
  extent [N] -> { [(N)] }
  extent [D] -> { [(D)] }
tensor O output f32
  extent [N] -> { [(N)] }
  extent [D] -> { [(D)] }
statement S_S(i, j, d)
  domain [N, D] -> { S_S[i, j, d] : 0 <= i < N and 0 <= j < N and 0 <= d < D }
  write S { S_S[i, j, d] -> S[i, j] }
  read Q { S_S[i, j, d] -> Q[i, d] }
  read Q { S_S[i, j, d] -> Q[j, d] }
  expr $0 * $1
  reduce sum over 2
statement S_m(i, j)
  domain [N, D] -> { S_m[i, j] : 0 <= i < N and 0 <= j <= i }
  write m { S_m[i, j] -> m[i] }
  read S { S_m[i, j] -> S[i, j] }
  expr $0
  reduce max over 1
statement S_P(i, j)
  domain [N, D] -> { S_P[i, j] : 0 <= i < N and 0 <= j <= i }
  write P { S_P[i, j] -> P[i, j] }
  read S { S_P[i, j] -> S[i, j] }
  read m { S_P[i, j] -> m[i] }
  expr exp($0 - $1)
statement S_l(i, j)
  domain [N, D] -> { S_l[i, j] : 0 <= i < N and 0 <= j < N }
  write l { S_l[i, j] -> l[i] }
  read P { S_l[i, j] -> P[i, j] }
  expr $0
  reduce sum over 1
statement S_acc(i, d, j)
  domain [N, D] -> { S_acc[i, d, j] : 0 <= i < N and 0 <= j < N and 0 <= d < D }
  write acc { S_acc[i, d, j] -> acc[i, d] }
  read P { S_acc[i, d, j] -> P[i, j] }
  read V { S_acc[i, d, j] -> V[j, d] }
  expr $0 * $1
  reduce sum over 2
statement S_O(i, d)
  domain [N, D] -> { S_O[i, d] : 0 <= i < N and 0 <= d < D }
  write O { S_O[i, d] -> O[i, d] }
  read acc { S_O[i, d] -> acc[i, d] }
  read l { S_O[i, d] -> l[i] }
  expr $0 / $1
)";

// In place: A[i] = X[i]; for t, i: A[i] = A[i-1] + A[i] + A[i+1] (Gauss-Seidel); B[i] = A[i].
inline const char* const kSeidel = R"(naut 1
program seidel
sizes N T
where [N, T] -> { : N >= 2 and T >= 0 }
tensor X input f32
  extent [N] -> { [(N)] }
tensor A temp f32
  extent [N] -> { [(N)] }
tensor B output f32
  extent [N] -> { [(N)] }
statement S_init(i)
  domain [N] -> { S_init[i] : 0 <= i < N }
  write A { S_init[i] -> A[i] }
  read X { S_init[i] -> X[i] }
  expr $0
statement S_A(t, i)
  domain [N, T] -> { S_A[t, i] : 0 <= t < T and 1 <= i < N - 1 }
  write A { S_A[t, i] -> A[i] }
  read A { S_A[t, i] -> A[i - 1] }
  read A { S_A[t, i] -> A[i] }
  read A { S_A[t, i] -> A[i + 1] }
  expr (($0 + $1) + $2) * 0.25
statement S_B(i)
  domain [N] -> { S_B[i] : 0 <= i < N }
  write B { S_B[i] -> B[i] }
  read A { S_B[i] -> A[i] }
  expr $0
)";

// Paged rows: O[i] = sum over j of X[page[j], i] for j < len, by a guard.
inline const char* const kPaged = R"(naut 1
program paged
sizes J P N
where [J, P, N] -> { : J >= 0 and P >= 0 and N >= 0 }
tensor page input i32
  extent [J] -> { [(J)] }
tensor len input i32
tensor X input f32
  extent [P] -> { [(P)] }
  extent [N] -> { [(N)] }
tensor O output f32
  extent [N] -> { [(N)] }
statement S_O(i, j)
  domain [N, J] -> { S_O[i, j] : 0 <= i < N and 0 <= j < J }
  write O { S_O[i, j] -> O[i] }
  read page { S_O[i, j] -> page[j] }
  read X [P] -> { S_O[i, j] -> X[p, i] : 0 <= p < P } gather 0=0
  read len { S_O[i, j] -> len[] }
  index { S_O[i, j] -> [(j)] }
  expr $1
  guard #0 < $2:i32
  reduce sum over 1
)";

}  // namespace nautilus::poly::samples
