// Shared by the CPU tests: tile modules from text, compiled and run in this process.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>
#include <string>

#include "compiler/backend/cpu/cpu.h"
#include "compiler/runtime/formats.h"

namespace nautilus::cpu {

inline int64_t elements(const tile::TensorDecl& t) {
  int64_t n = 1;
  for (const IndexExpr& e : t.extents) n *= e.constant();
  return n;
}

inline tile::Module module_of(const std::string& text) {
  auto m = tile::parse(text);
  if (!m) {
    ADD_FAILURE() << m.error().text() << "\n" << text;
    return {};
  }
  if (auto r = tile::verify(*m)) ADD_FAILURE() << r->text() << "\n" << text;
  return *m;
}

inline poly::Buffers random_inputs(const tile::Module& m, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  poly::Buffers in;
  for (const auto& t : m.tensors) {
    if (t.kind != poly::TensorKind::Input) continue;
    auto& b = in[t.name];
    for (int64_t n = elements(t); n > 0; --n)
      b.push_back(is_float(t.type)       ? round_to_type(normal(rng), t.type)
                  : t.type == Type::Bool ? double(rng() % 2)
                                         : double(rng() % 4));
  }
  return in;
}

// A module ready to run: its memory with the inputs in place.
struct Ready {
  std::shared_ptr<Compiled> code;
  std::string source;
  std::vector<std::vector<char>> memory;
  std::vector<void*> pointers;
  std::vector<tile::TensorDecl> tensors;

  Ready(const tile::Module& m, const poly::Buffers& in,
        tile::Numerics numerics = tile::Numerics::Reassociate)
      : tensors(m.tensors) {
    EmitOptions options;
    options.numerics = numerics;
    auto text = emit(m, options);
    if (!text) {
      ADD_FAILURE() << text.error().text();
      return;
    }
    source = *text;
    auto compiled = compile(source, entry_name(m), numerics);
    if (!compiled) {
      ADD_FAILURE() << compiled.error().text() << "\n" << source;
      return;
    }
    code = *compiled;
    for (const auto& t : tensors) {
      const size_t n = size_t(elements(t)), align = 64;
      memory.emplace_back(n * size_t(type_bytes(t.type)) + align);
      void* p = memory.back().data();
      p = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(p) + align - 1) / align * align);
      if (auto it = in.find(t.name); it != in.end())
        runtime::encode(t.type, it->second.data(), n, p);
      pointers.push_back(p);
    }
  }
  void run(int threads = 2) {
    if (code) code->run(pointers.data(), threads);
  }
  poly::Buffers outputs() const {
    poly::Buffers out;
    for (size_t k = 0; k < pointers.size(); ++k) {
      if (tensors[k].kind != poly::TensorKind::Output) continue;
      auto& v = out[tensors[k].name];
      v.resize(size_t(elements(tensors[k])));
      runtime::decode(tensors[k].type, pointers[k], v.size(), v.data());
    }
    return out;
  }
  // Best of a few runs, in seconds.
  double time(int threads, int repeats = 5) {
    double best = 1e30;
    for (int r = 0; r < repeats; ++r) {
      const auto t0 = std::chrono::steady_clock::now();
      run(threads);
      best = std::min(best,
                      std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count());
    }
    return best;
  }
};

inline void expect_close(const poly::Buffers& a, const poly::Buffers& b, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (const auto& [name, x] : a) {
    const auto& y = b.at(name);
    ASSERT_EQ(x.size(), y.size()) << what;
    for (size_t i = 0; i < x.size(); ++i) {
      if ((std::isnan(x[i]) && std::isnan(y[i])) || x[i] == y[i]) continue;
      ASSERT_LE(std::abs(x[i] - y[i]), tolerance * std::max(1.0, std::abs(x[i])))
          << what << ": " << name << "[" << i << "]: " << x[i] << " and " << y[i];
    }
  }
}

// Compiled and interpreted results agree.
inline void expect_as_interpreted(const tile::Module& m, double tolerance, uint64_t seed = 1,
                                  tile::Numerics numerics = tile::Numerics::Reassociate) {
  const poly::Buffers in = random_inputs(m, seed);
  auto want = tile::interpret(m, {}, in);
  if (!want) {
    ADD_FAILURE() << want.error().text() << "\n" << tile::print(m);
    return;
  }
  Ready ready(m, in, numerics);
  ready.run();
  expect_close(
      *want, ready.outputs(), tolerance,
      tile::print(m) + ready.source.substr(ready.source.find("#pragma clang fp reassociate(o",
                                                             ready.source.find("dot_tail"))));
}

}  // namespace nautilus::cpu
