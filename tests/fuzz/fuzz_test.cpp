// The fuzz targets on their seeds and on simple mutations: a smoke test that runs everywhere, with
// a printed seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/fuzz/targets.h"

namespace nautilus::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

// The files of seeds/fuzz_<target>; those named odd_* need not be accepted.
std::vector<Bytes> seeds(const std::string& target, bool odd) {
  std::vector<std::filesystem::path> paths;
  for (const auto& e : std::filesystem::directory_iterator(
           std::string(NAUTILUS_SOURCE_DIR "/tests/fuzz/seeds/fuzz_") + target))
    if (e.path().filename().string().starts_with("odd_") == odd) paths.push_back(e.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> out;
  for (const auto& p : paths) {
    std::ifstream in(p, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return out;
}

// One to four edits: flip, insert, delete, duplicate a run, splice from another seed, replace a
// digit.
Bytes mutate(Bytes b, const std::vector<Bytes>& pool, std::mt19937_64& rng) {
  const int edits = 1 + static_cast<int>(rng() % 4);
  for (int k = 0; k < edits && !b.empty(); ++k) {
    const size_t at = rng() % b.size();
    switch (rng() % 6) {
      case 0:
        b[at] = static_cast<uint8_t>(rng());
        break;
      case 1:
        b.insert(b.begin() + at, static_cast<uint8_t>(32 + rng() % 95));
        break;
      case 2:
        b.erase(b.begin() + at, b.begin() + std::min(b.size(), at + 1 + rng() % 8));
        break;
      case 3: {
        const Bytes run(b.begin() + at, b.begin() + std::min(b.size(), at + rng() % 40));
        b.insert(b.begin() + rng() % b.size(), run.begin(), run.end());
        break;
      }
      case 4: {
        const Bytes& other = pool[rng() % pool.size()];
        if (other.empty()) break;
        const size_t from = rng() % other.size();
        b.insert(b.begin() + at, other.begin() + from,
                 other.begin() + std::min(other.size(), from + rng() % 60));
        break;
      }
      default:
        for (size_t i = at; i < b.size(); ++i)
          if (b[i] >= '0' && b[i] <= '9') {
            b[i] = static_cast<uint8_t>('0' + rng() % 10);
            break;
          }
    }
  }
  return b;
}

class Smoke : public testing::TestWithParam<Target> {};

TEST_P(Smoke, SeedsAndMutations) {
  const Target t = GetParam();
  const std::vector<Bytes> pool = seeds(t.name, false);
  ASSERT_FALSE(pool.empty());
  for (const Bytes& b : pool)
    EXPECT_TRUE(t.run(b.data(), b.size()))
        << std::string(b.begin(), b.begin() + std::min<size_t>(80, b.size()));
  for (const Bytes& b : seeds(t.name, true)) t.run(b.data(), b.size());
  const char* given = std::getenv("NAUTILUS_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : 20261129;
  RecordProperty("seed", std::to_string(seed));
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 rng(seed);
  const int rounds = std::string(t.name) == "spec" ? 40 : 250;
  for (int k = 0; k < rounds; ++k) {
    const Bytes b = mutate(pool[rng() % pool.size()], pool, rng);
    t.run(b.data(), b.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Smoke, testing::ValuesIn(targets()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace nautilus::fuzz
