// Hand-written tile programs of attention: fused over key tiles with a rolling update, and one
// statement at a time.
#pragma once

#include <cmath>
#include <string>

namespace nautilus::cpu {

inline std::string n(int64_t v) { return std::to_string(v); }

// O[h, i, e] = softmax_j(scale Q.K + causal mask) V, rows in tiles of bi, keys in tiles of bj (both
// dividing N).
inline std::string fused_attention(int64_t h, int64_t N, int64_t D, int64_t bi, int64_t bj,
                                   bool causal, const std::string& type = "f32") {
  const std::string shape = type + "[" + n(h) + ", " + n(N) + ", " + n(D) + "]";
  std::string t = "module attention {\n  tensor Q: " + shape +
                  " input global\n  tensor K: " + shape + " input global\n  tensor V: " + shape +
                  " input global\n  tensor O: " + shape +
                  " output global\n  kernel attention {\n    grid h < " + n(h) +
                  "\n    grid i0 < " + n(N / bi) + "\n    values 99\n";
  const std::string I = "i: " + n(bi), J = "j: " + n(bj), E = "e: " + n(D), d = "d: " + n(D),
                    s = std::to_string(1.4426950408889634 / std::sqrt(double(D)));
  auto tile = [&](int b, const std::string& iv, const std::string& lower, const std::string& upper,
                  bool masked, const std::string& carried) {
    auto v = [&](int k) { return "%" + n(b + k); };
    std::string u;
    u +=
        v(0) + ": f32[" + E + ", " + I + "], " + v(1) + ": f32[" + I + "], " + v(2) + ": f32[" + I +
        "] = for " + iv + " in [" + lower + ", " + upper + ") step 1 carry (" + v(3) + ": f32[" +
        E + ", " + I + "] = " + carried.substr(0, carried.find(' ')) + ", " + v(4) + ": f32[" + I +
        "] = " + carried.substr(carried.find(' ') + 1, carried.rfind(' ') - carried.find(' ') - 1) +
        ", " + v(5) + ": f32[" + I + "] = " + carried.substr(carried.rfind(' ') + 1) + ") {\n";
    u += v(6) + ": " + type + "[" + d + ", " + J + "] = load K[h, " + n(bj) + "*" + iv +
         " + j, d]\n";
    u += v(7) + ": f32[" + I + ", " + J + "] = dot %3, " + v(6) + " over (d)\n";
    u += v(8) + ": f32[" + I + ", " + J + "] = mul " + v(7) + ", %2\n";
    std::string s0 = v(8);
    if (masked) {
      u += v(9) + ": f32[" + I + ", " + J + "] = mask " + v(8) + ", %1 where (" + n(bj) + "*" + iv +
           " + j <= " + n(bi) + "*i0 + i)\n";
      s0 = v(9);
    }
    u += v(10) + ": f32[" + I + "] = reduce max " + s0 + " over (j)\n";
    u += v(11) + ": f32[" + I + "] = max " + v(4) + ", " + v(10) + "\n";
    u += v(12) + ": f32[" + I + "] = sub " + v(4) + ", " + v(11) + "\n" + v(13) + ": f32[" + I +
         "] = exp2 " + v(12) + "\n";
    u += v(14) + ": f32[" + I + ", " + J + "] = sub " + s0 + ", " + v(11) + "\n" + v(15) +
         ": f32[" + I + ", " + J + "] = exp2 " + v(14) + "\n";
    u += v(16) + ": f32[" + I + "] = reduce sum " + v(15) + " over (j)\n";
    u += v(17) + ": f32[" + I + "] = mul " + v(5) + ", " + v(13) + "\n" + v(18) + ": f32[" + I +
         "] = add " + v(17) + ", " + v(16) + "\n";
    u += v(19) + ": " + type + "[" + E + ", " + J + "] = load V[h, " + n(bj) + "*" + iv +
         " + j, e]\n";
    u += v(20) + ": f32[" + E + ", " + I + "] = dot " + v(15) + ", " + v(19) + " over (j)\n";
    u += v(21) + ": f32[" + E + ", " + I + "] = mul " + v(3) + ", " + v(13) + "\n" + v(22) +
         ": f32[" + E + ", " + I + "] = add " + v(21) + ", " + v(20) + "\n";
    u += "yield " + v(22) + ", " + v(11) + ", " + v(18) + "\n}\n";
    return u;
  };
  t += "%0: f32 = const 0\n%1: f32 = const -inf\n%2: f32 = const " + s + "\n%3: " + type + "[" + d +
       ", " + I + "] = load Q[h, " + n(bi) + "*i0 + i, d]\n";
  std::string last = "%0 %1 %0";
  int b = 10;
  if (causal) {
    t += tile(10, "j0", "0", "floor(" + n(bi) + "*i0/" + n(bj) + ")", false, last);
    last = "%10 %11 %12";
    t += tile(40, "j1", "floor(" + n(bi) + "*i0/" + n(bj) + ")",
              "floor((" + n(bi) + "*i0 + " + n(bi + bj - 1) + ")/" + n(bj) + ")", true, last);
    b = 40;
  } else {
    t += tile(10, "j0", "0", n(N / bj), false, last);
  }
  t += "%90: f32[" + E + ", " + I + "] = div %" + n(b) + ", %" + n(b + 2) + "\n";
  std::string out = "%90";
  if (type != "f32") {
    t += "%91: " + type + "[" + E + ", " + I + "] = cast %90\n";
    out = "%91";
  }
  return t + "store O[h, " + n(bi) + "*i0 + i, e] = " + out + "\n  }\n}\n";
}

// The same mathematics, one loop nest a statement, through memory, without tiles.
inline std::string unfused_attention(int64_t h, int64_t N, int64_t D) {
  const std::string shape = "f32[" + n(h) + ", " + n(N) + ", " + n(D) + "]",
                    scores = "f32[" + n(h) + ", " + n(N) + ", " + n(N) + "] temp global\n",
                    rows = "f32[" + n(h) + ", " + n(N) + "] temp global\n";
  std::string t = "module unfused {\n  tensor Q: " + shape + " input global\n  tensor K: " + shape +
                  " input global\n  tensor V: " + shape + " input global\n  tensor S: " + scores +
                  "  tensor P: " + scores + "  tensor M: " + rows + "  tensor L: " + rows +
                  "  tensor O: " + shape + " output global\n";
  auto loop = [&](const std::string& iv, int64_t extent) {
    return "for " + iv + " in [0, " + n(extent) + ") step 1 {\n";
  };
  auto kernel = [&](const std::string& name, const std::string& body) {
    t += "  kernel " + name + " {\n    values 99\n" + body + "  }\n";
  };
  const std::string hi = loop("h", h) + loop("i", N), s = std::to_string(1 / std::sqrt(double(D)));
  kernel("S", hi + loop("j", N) + "%0: f32 = const 0\n%1: f32 = for d in [0, " + n(D) +
                  ") step 1 carry (%2: f32 = %0) {\n%3: f32 = load Q[h, i, d]\n"
                  "%4: f32 = load K[h, j, d]\n%5: f32 = mul %3, %4\n%6: f32 = add %2, %5\nyield "
                  "%6\n}\n%7: f32 = const " +
                  s + "\n%8: f32 = mul %1, %7\nstore S[h, i, j] = %8\n}\n}\n}\n");
  kernel("M", hi + "%0: f32 = const -inf\n%1: f32 = for j in [0, " + n(N) +
                  ") step 1 carry (%2: f32 = %0) {\n%3: f32 = load S[h, i, j]\n"
                  "%4: f32 = max %2, %3\nyield %4\n}\nstore M[h, i] = %1\n}\n}\n");
  kernel("P", hi + loop("j", N) +
                  "%0: f32 = load S[h, i, j]\n%1: f32 = load M[h, i]\n%2: f32 = sub %0, %1\n%3: "
                  "f32 = exp %2\nstore P[h, i, j] = %3\n}\n}\n}\n");
  kernel("L", hi + "%0: f32 = const 0\n%1: f32 = for j in [0, " + n(N) +
                  ") step 1 carry (%2: f32 = %0) {\n%3: f32 = load P[h, i, j]\n"
                  "%4: f32 = add %2, %3\nyield %4\n}\nstore L[h, i] = %1\n}\n}\n");
  kernel("O", hi + loop("e", D) + "%0: f32 = const 0\n%1: f32 = for j in [0, " + n(N) +
                  ") step 1 carry (%2: f32 = %0) {\n%3: f32 = load P[h, i, j]\n"
                  "%4: f32 = load V[h, j, e]\n%5: f32 = mul %3, %4\n%6: f32 = add %2, %5\nyield "
                  "%6\n}\n%7: f32 = load L[h, i]\n"
                  "%8: f32 = div %1, %7\nstore O[h, i, e] = %8\n}\n}\n}\n");
  return t + "}\n";
}

}  // namespace nautilus::cpu
