#include "compiler/runtime/formats.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace nautilus::runtime {
namespace {

float bf16_value(uint16_t b) { return std::bit_cast<float>(static_cast<uint32_t>(b) << 16); }

uint16_t bf16_bits(double v) {
  return static_cast<uint16_t>(
      std::bit_cast<uint32_t>(static_cast<float>(round_to_type(v, Type::BF16))) >> 16);
}

// The 256 values of an 8-bit float with `mantissa` bits; e4m3 has no infinity.
std::array<double, 256> byte_values(int mantissa, int bias, bool infinities) {
  std::array<double, 256> out{};
  for (int b = 0; b < 256; ++b) {
    const int e = (b & 0x7f) >> mantissa, m = b & ((1 << mantissa) - 1);
    double v =
        e ? std::ldexp(1 + std::ldexp(m, -mantissa), e - bias) : std::ldexp(m, 1 - bias - mantissa);
    const bool top = e == (0x7f >> mantissa);
    if (infinities && top) v = m ? NAN : INFINITY;
    if (!infinities && (b & 0x7f) == 0x7f) v = NAN;
    out[b] = b & 0x80 ? -v : v;
  }
  return out;
}
const std::array<double, 256>& table(Type t) {
  static const auto e4m3 = byte_values(3, 7, false), e5m2 = byte_values(2, 15, true);
  return t == Type::E4M3 ? e4m3 : e5m2;
}

// Position of |round(v)| among the non-negative values, by bisection (they ascend up to infinity or
// NaN).
uint8_t byte_bits(Type t, double v) {
  const double r = round_to_type(v, t);
  const uint8_t sign = std::signbit(r) ? 0x80 : 0;
  if (std::isnan(r)) return sign | 0x7f;
  const auto& values = table(t);
  int lo = 0, hi = t == Type::E4M3 ? 0x7e : 0x7c;
  while (lo < hi) {
    const int mid = (lo + hi) / 2;
    if (values[mid] < std::abs(r))
      lo = mid + 1;
    else
      hi = mid;
  }
  return static_cast<uint8_t>(sign | lo);
}

template <class T, class F>
void each(const double* values, size_t n, void* bytes, F&& f) {
  T* out = static_cast<T*>(bytes);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<T>(f(values[i]));
}
template <class T, class F>
void back(const void* bytes, size_t n, double* values, F&& f) {
  const T* in = static_cast<const T*>(bytes);
  for (size_t i = 0; i < n; ++i) values[i] = f(in[i]);
}

}  // namespace

double round_value(Type t, double v) {
  switch (t) {
    case Type::F64:
      return v;
    case Type::F32:
      return static_cast<float>(v);
    case Type::F16:
      return static_cast<double>(static_cast<_Float16>(v));
    default:
      return round_to_type(v, t);
  }
}

void encode(Type t, const double* values, size_t n, void* bytes) {
  switch (t) {
    case Type::F64:
      std::memcpy(bytes, values, n * sizeof(double));
      break;
    case Type::F32:
      each<float>(values, n, bytes, [](double v) { return v; });
      break;
    case Type::F16:
      each<_Float16>(values, n, bytes, [](double v) { return v; });
      break;
    case Type::BF16:
      each<uint16_t>(values, n, bytes, bf16_bits);
      break;
    case Type::I32:
      each<int32_t>(values, n, bytes, [](double v) { return round_to_type(v, Type::I32); });
      break;
    case Type::I8:
      each<int8_t>(values, n, bytes, [](double v) { return round_to_type(v, Type::I8); });
      break;
    case Type::Bool:
      each<uint8_t>(values, n, bytes, [](double v) { return v != 0; });
      break;
    case Type::E4M3:
    case Type::E5M2:
      each<uint8_t>(values, n, bytes, [t](double v) { return byte_bits(t, v); });
      break;
  }
}

void decode(Type t, const void* bytes, size_t n, double* values) {
  switch (t) {
    case Type::F64:
      std::memcpy(values, bytes, n * sizeof(double));
      break;
    case Type::F32:
      back<float>(bytes, n, values, [](float v) { return v; });
      break;
    case Type::F16:
      back<_Float16>(bytes, n, values, [](_Float16 v) { return static_cast<double>(v); });
      break;
    case Type::BF16:
      back<uint16_t>(bytes, n, values, bf16_value);
      break;
    case Type::I32:
      back<int32_t>(bytes, n, values, [](int32_t v) { return v; });
      break;
    case Type::I8:
      back<int8_t>(bytes, n, values, [](int8_t v) { return v; });
      break;
    case Type::Bool:
      back<uint8_t>(bytes, n, values, [](uint8_t v) { return v != 0; });
      break;
    case Type::E4M3:
    case Type::E5M2:
      back<uint8_t>(bytes, n, values, [t](uint8_t v) { return table(t)[v]; });
      break;
  }
}

}  // namespace nautilus::runtime
