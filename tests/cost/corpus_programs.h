// Corpus kernels at sizes, from their program texts: searches with lowering and rewriting, no
// Clang.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "autosched/search.h"
#include "compiler/profile/profile.h"

namespace nautilus::sched::corpus_programs {

inline std::string text_of(const std::string& kernel) {
  std::ifstream in(std::string(NAUTILUS_SOURCE_DIR "/tests/golden/") + kernel + ".naut");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline poly::ProgramPtr bound(const std::string& text, const poly::Sizes& sizes) {
  auto p = poly::parse_naut(poly::make_context(), text, "corpus");
  if (!p) throw std::runtime_error(p.error().text());
  auto b = poly::bind_sizes(*p, sizes);
  if (!b) throw std::runtime_error(b.error().text());
  return std::make_shared<const poly::Program>(poly::restrict_to_demanded(*b));
}

inline poly::ProgramPtr program(const std::string& kernel, const poly::Sizes& sizes) {
  return bound(text_of(kernel), sizes);
}

inline poly::ProgramPtr edited(const std::string& kernel,
                               const std::vector<std::pair<std::string, std::string>>& edits,
                               const poly::Sizes& sizes) {
  std::string text = text_of(kernel);
  for (const auto& [from, to] : edits) {
    const size_t at = text.find(from);
    if (at == std::string::npos) throw std::runtime_error("no \"" + from + "\" in " + kernel);
    text.replace(at, from.size(), to);
  }
  return bound(text, sizes);
}

// The corpus kernel as other implementations of it were measured: softmax with f16 in and out.
inline poly::ProgramPtr as_measured(const std::string& kernel, const poly::Sizes& sizes) {
  if (kernel == "softmax")
    return edited(kernel,
                  {{"X input f32", "X input f16"},
                   {"Y output f32", "Y output f16"},
                   {"expr $0\n  reduce max", "expr $0:f16\n  reduce max"},
                   {"exp($0 - $1)", "exp($0:f16 - $1)"},
                   {"expr $0 / $1", "expr f16($0 / $1)"}},
                  sizes);
  return program(kernel, sizes);
}

inline SearchOptions options(const std::string& machine) {
  SearchOptions o;
  o.machine =
      *load_machine(std::string(NAUTILUS_SOURCE_DIR "/corpus/machines/") + machine + ".json");
  o.seconds = 0;
  return o;
}

inline SearchResult run(const poly::ProgramPtr& p, const SearchOptions& o) {
  auto ops = profile::tile_ops_provider(*tile::numerics_from_name(o.numerics));
  auto r = search(p, o, *ops);
  EXPECT_TRUE(r) << r.error().text();
  return r ? *std::move(r) : SearchResult{};
}

}  // namespace nautilus::sched::corpus_programs
