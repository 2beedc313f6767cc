// The cost model against measured kernels: what the search predicts for its best H200 plan, over
// the time of the best kernel that anyone measured for that operator and size. Nothing is fitted to
// these.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "tests/cost/corpus_programs.h"

namespace nautilus::sched {
namespace {

using namespace corpus_programs;

struct Measured {
  double seconds = INFINITY;
  std::string by;
};

std::vector<std::vector<std::string>> csv(const std::string& name) {
  std::ifstream in(std::string(NAUTILUS_SOURCE_DIR "/corpus/measured/") + name);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> cells;
    std::istringstream s(line);
    for (std::string cell; std::getline(s, cell, ',');) cells.push_back(cell);
    if (!cells.empty()) rows.push_back(cells);
  }
  return rows;
}

std::string sizes_text(const poly::Sizes& sizes) {
  std::string out;
  for (const auto& [n, v] : sizes) out += (out.empty() ? "" : " ") + n + "=" + std::to_string(v);
  return out;
}

poly::Sizes sizes_of(const std::string& text) {
  poly::Sizes out;
  std::istringstream s(text);
  for (std::string item; s >> item;) {
    const size_t eq = item.find('=');
    out[item.substr(0, eq)] = std::stoll(item.substr(eq + 1));
  }
  return out;
}

using Table = std::map<std::pair<std::string, std::string>, Measured>;

// The fastest kernel of every operator and size.
Table best_measured() {
  Table t;
  auto take = [&](const std::string& kernel, const poly::Sizes& sizes, const std::string& by,
                  double ms) {
    Measured& m = t[{kernel, sizes_text(sizes)}];
    if (ms * 1e-3 < m.seconds) m = {ms * 1e-3, by};
  };
  auto number = [](const std::string& s) { return std::stoll(s); };
  for (const auto& r : csv("h200-attention.csv"))
    if (r.size() > 11 && r[1] == "prefill" && r[3] == r[4] && r[5] == r[6])
      take(r[8] == "True" ? "attention_causal" : "attention_global",
           {{"B", number(r[2])},
            {"H", number(r[3])},
            {"N", number(r[5])},
            {"M", number(r[6])},
            {"D", number(r[7])}},
           r[10], std::stod(r[11]));
  for (const auto& r : csv("h200-operators.csv")) {
    if (r.size() < 4) continue;
    poly::Sizes s = r[1].find('=') == std::string::npos ? poly::Sizes{} : sizes_of(r[1]);
    if (r[0] == "gemm")
      take("matmul", {{"N", s["M"]}, {"M", s["N"]}, {"K", s["K"]}}, r[2], std::stod(r[3]));
    if (r[0] == "softmax") take("softmax", {{"N", s["T"]}, {"M", s["C"]}}, r[2], std::stod(r[3]));
    if (r[0] == "rmsnorm") take("rmsnorm", {{"N", s["T"]}, {"D", s["C"]}}, r[2], std::stod(r[3]));
  }
  for (const auto& r : csv("h200-own.csv"))
    if (r.size() > 4 && r[0] != "kernel") take(r[0], sizes_of(r[1]), r[2], std::stod(r[3]));
  return t;
}

// Where the best plan's time goes: seconds by unit and level.
std::map<std::string, double> parts_of(const poly::ProgramPtr& p, const SearchResult& r,
                                       const SearchOptions& o) {
  const auto plan = plan_of(p, r, r.best[0]);
  if (!plan) return {};
  auto ops = profile::tile_ops_provider(*tile::numerics_from_name(o.numerics));
  const auto counted = ops->structure_ops(plan->schedule);
  if (!counted) return {};
  const auto profiled = profile(*plan, o.machine, *counted);
  return profiled ? cost(*profiled, o.machine).unit_seconds : std::map<std::string, double>{};
}

TEST(Peers, PredictionsOfTheBestPlans) {
  const Table measured = best_measured();
  ASSERT_GT(measured.size(), 60u);
  struct Case {
    const char* kernel;
    poly::Sizes sizes;
  };
  std::vector<Case> cases;
  for (const char* k : {"attention_global", "attention_causal"}) {
    for (auto [b, h, n, d] : std::vector<std::array<int64_t, 4>>{{1, 16, 16384, 128},
                                                                 {4, 16, 4096, 128},
                                                                 {32, 16, 512, 128},
                                                                 {1, 32, 16384, 64},
                                                                 {4, 32, 4096, 64},
                                                                 {32, 32, 512, 64}})
      cases.push_back({k, {{"B", b}, {"H", h}, {"N", n}, {"M", n}, {"D", d}}});
  }
  for (auto [n, m, k] : std::vector<std::array<int64_t, 3>>{{4096, 4096, 4096},
                                                            {8192, 8192, 8192},
                                                            {4096, 11008, 4096},
                                                            {512, 4096, 4096},
                                                            {16, 4096, 4096}})
    cases.push_back({"matmul", {{"N", n}, {"M", m}, {"K", k}}});
  for (auto [t, c] : std::vector<std::array<int64_t, 2>>{
           {16384, 4096}, {8192, 8192}, {131072, 128}, {1024, 12288}}) {
    cases.push_back({"softmax", {{"N", t}, {"M", c}}});
    cases.push_back({"rmsnorm", {{"N", t}, {"D", c}}});
  }
  std::printf("%-17s %-36s %10s %10s %-14s %5s  %s\n", "operator", "sizes", "predicted", "measured",
              "by", "ratio", "limiter");
  for (const Case& c : cases) {
    const auto m = measured.find({c.kernel, sizes_text(c.sizes)});
    ASSERT_NE(m, measured.end()) << c.kernel << " " << sizes_text(c.sizes);
    const auto p = as_measured(c.kernel, c.sizes);
    SearchOptions o = options("h200");
    o.max_plans = 1500;
    // As in the measured kernels of attention, an operand of a product may be rounded to the
    // other's type (the rule narrow-operand).
    o.numerics = "fast";
    const SearchResult r = run(p, o);
    ASSERT_FALSE(r.best.empty());
    const SearchNode& n = r.nodes[r.best[0]];
    const double ratio = n.seconds / m->second.seconds;
    std::printf("%-17s %-36s %8.4gus %8.4gus %-14s %5.2f  %s\n", c.kernel,
                sizes_text(c.sizes).c_str(), n.seconds * 1e6, m->second.seconds * 1e6,
                m->second.by.c_str(), ratio, n.limiter.c_str());
    std::string knobs;
    for (auto& [k, v] : n.knobs) knobs += " " + k + "=" + std::to_string(v);
    std::printf("    %s;", knobs.c_str());
    for (auto& [part, seconds] : parts_of(p, r, o))
      std::printf(" %s %.4g", part.c_str(), seconds * 1e6);
    std::printf(" structures %d, plans %d, %.1f s\n", r.structures_verified, r.plans_costed,
                r.seconds);
    std::fflush(stdout);
    EXPECT_GT(ratio, 0.5) << c.kernel << " " << sizes_text(c.sizes);
    EXPECT_LT(ratio, 2.2) << c.kernel << " " << sizes_text(c.sizes);
  }
}

}  // namespace
}  // namespace nautilus::sched
