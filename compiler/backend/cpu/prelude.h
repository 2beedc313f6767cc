// The text that every emitted translation unit starts with: types, scalar functions that Clang
// vectorizes, conversions of narrow formats, and the register-blocked product kernels.
#pragma once

#include <string>

namespace nautilus::cpu {

// C++20 without any header. Scalar functions are named n_<op> (n_exp, n_tanh, ...) with float and
// double overloads; f32 ones are within 2 ulp (tests/compiler/cpu_prelude.cpp measures), NaN in
// gives NaN out, and infinities are exact. The double ones call libm.
const std::string& prelude_scalar();
// dot<T, M, N, K, strides...>(a, b, c): see the text.
const std::string& prelude_dot();

}  // namespace nautilus::cpu
