#include "autosched/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace nautilus::sched {
namespace {

class MachineFiles : public ::testing::Test {
 protected:
  void SetUp() override { setenv("NAUTILUS_CORPUS", NAUTILUS_SOURCE_DIR "/corpus", 1); }
};

TEST_F(MachineFiles, AllParseAndAreComplete) {
  std::vector<std::string> ids = list_machines();
  for (const char* id : {"h200", "gh200", "h100", "a100", "rtx5090", "rtx4090", "cpu"})
    EXPECT_NE(std::find(ids.begin(), ids.end(), id), ids.end()) << id;
  for (const std::string& id : ids) {
    if (id == "cpu") continue;
    Expected<Machine> m = find_machine(id);
    ASSERT_TRUE(m) << m.error().text();
    EXPECT_EQ(m->id, id);
    EXPECT_EQ(m->kind, "gpu");
    for (const char* level : {"hbm", "l2", "shared", "register"})
      EXPECT_NE(m->level(level), nullptr) << id << level;
    EXPECT_GT(m->matrix_rate(Type::F16), 10 * m->fma.value / 8) << id;
    EXPECT_GT(m->level("l2")->bandwidth.value, m->level("hbm")->bandwidth.value);
    EXPECT_GT(m->level("shared")->bandwidth.value, m->level("l2")->bandwidth.value);
    EXPECT_EQ(m->matrix_rate(Type::F32), m->fma.value);
  }
}

TEST_F(MachineFiles, EveryNumberHasUnitAndSource) {
  for (auto& entry : std::filesystem::directory_iterator(NAUTILUS_SOURCE_DIR "/corpus/machines")) {
    std::ifstream in(entry.path());
    nlohmann::json j = nlohmann::json::parse(in);
    EXPECT_EQ(j.value("target", "").rfind("sm_", 0), 0u) << entry.path() << ": code for what?";
    std::function<void(const nlohmann::json&)> walk = [&](const nlohmann::json& n) {
      if (n.is_object() && n.contains("value")) {
        EXPECT_FALSE(n.value("unit", "").empty()) << entry.path() << n.dump();
        EXPECT_FALSE(n.value("source", "").empty()) << entry.path() << n.dump();
      }
      if (n.is_structured())
        for (const nlohmann::json& c : n) walk(c);
    };
    walk(j);
  }
}

TEST_F(MachineFiles, RoundTrip) {
  Expected<Machine> m = find_machine("h200");
  ASSERT_TRUE(m);
  nlohmann::json j = machine_to_json(*m);
  Expected<Machine> again = machine_from_json(j);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(machine_to_json(*again), j);
}

TEST_F(MachineFiles, RefusesWhatIsMissingOrWrong) {
  Expected<Machine> h = find_machine("h200");
  ASSERT_TRUE(h);
  const nlohmann::json good = machine_to_json(*h);
  struct Case {
    const char* name;
    std::function<void(nlohmann::json&)> damage;
    const char* says;
  };
  const std::vector<Case> cases = {
      {"no fma", [](auto& j) { j.erase("fma"); }, "\"fma\" is missing"},
      {"no source", [](auto& j) { j["special"]["source"] = ""; }, "\"special\" has no source"},
      {"unit", [](auto& j) { j["fma"]["unit"] = "B/s"; }, "expected \"FLOP/s\""},
      {"negative", [](auto& j) { j["fma"]["value"] = -1; }, "must be positive"},
      {"string", [](auto& j) { j["fma"] = "fast"; }, "needs {\"value\""},
      {"kind", [](auto& j) { j["kind"] = "tpu"; }, "expected \"gpu\" or \"cpu\""},
      {"levels", [](auto& j) { j["levels"] = nlohmann::json::array(); }, "\"levels\" is missing"},
      {"units", [](auto& j) { j["units"] = 0; }, "at least 1"},
      {"shape", [](auto& j) { j["matrix_shape"] = {16, 0, 16}; }, "three whole numbers"},
      {"shape of two", [](auto& j) { j["matrix_shape"] = {16, 8}; }, "three whole numbers"},
      {"shape of words", [](auto& j) { j["matrix_shape"] = "wide"; }, "three whole numbers"},
      {"level", [](auto& j) { j["levels"][0] = 3; }, "no object with a \"name\""},
      {"threads", [](auto& j) { j["max_threads_per_unit"] = "all"; }, "whole number of at least 1"},
      {"type", [](auto& j) { j["matrix"]["f13"] = j["fma"]; }, "unknown type \"f13\""},
  };
  for (const Case& c : cases) {
    nlohmann::json j = good;
    c.damage(j);
    Expected<Machine> m = machine_from_json(j);
    ASSERT_FALSE(m) << c.name;
    EXPECT_NE(m.error().why.find(c.says), std::string::npos) << c.name << ": " << m.error().text();
  }
  EXPECT_FALSE(machine_from_json(nlohmann::json::array()));
}

TEST_F(MachineFiles, UnknownMachineNamesTheKnownOnes) {
  Expected<Machine> m = find_machine("h9000");
  ASSERT_FALSE(m);
  EXPECT_NE(m.error().suggest.find("h200"), std::string::npos);
  EXPECT_FALSE(load_machine("/nonexistent/x.json"));
  std::string path = ::testing::TempDir() + "broken" + std::to_string(getpid()) + ".json";
  std::ofstream(path) << "{\"id\": ";
  EXPECT_FALSE(load_machine(path));
  std::ofstream(path) << "{\"id\": 3, \"levels\": [1]}";
  EXPECT_FALSE(load_machine(path));
  std::filesystem::remove(path);
}

TEST_F(MachineFiles, ProbeIsPlausible) {
  Expected<Machine> m = find_machine("cpu");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->kind, "cpu");
  EXPECT_GE(m->units, 1);
  EXPECT_GT(m->fma.value, 1e8);
  EXPECT_LT(m->fma.value, 1e15);
  EXPECT_GT(m->special.value, 1e6);
  for (const char* level : {"dram", "l3", "l2", "l1"}) {
    ASSERT_NE(m->level(level), nullptr);
    EXPECT_GT(m->level(level)->bandwidth.value, 1e7) << level;
  }
  EXPECT_TRUE(machine_from_json(machine_to_json(*m)));
}

}  // namespace
}  // namespace nautilus::sched
