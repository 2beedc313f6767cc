// Files and numbers that nobody means: refused by name, never a crash.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/driver/command.h"

namespace nautilus::test {
namespace {

using nlohmann::json;

// The refusal of a command, complete: asked, why and what to do.
json refusal_of(const std::vector<std::string>& args) {
  const Ran r = nautilusc(args);
  std::string line;
  for (const std::string& a : args) line += " " + a;
  EXPECT_EQ(r.status, kBadInput) << line << "\n" << r.out << r.err;
  const json j = r.json();
  EXPECT_TRUE(j.is_object() && j.contains("error")) << line << "\n" << r.out << r.err;
  if (!j.is_object() || !j.contains("error")) return json::object();
  for (const char* key : {"asked", "why", "suggest"}) {
    EXPECT_TRUE(j["error"][key].is_string()) << line << ": " << key;
    EXPECT_NE(j["error"][key], "") << line << ": " << key;
  }
  return j["error"];
}

// Copying or printing such a value takes a stack frame a level.
TEST(HostileInput, NumbersAreNotReadAsOthers) {
  refusal_of({"check", "softmax", "--json", "--size", "N= 5"});
  refusal_of({"check", "softmax", "--json", "--quota", "-1"});
  for (const char* seed : {"-1", "18446744073709551616"})
    refusal_of({"explore", "softmax", "--max-plans", "1", "--json", "--seed", seed});
  refusal_of({"run", "softmax", "--json", "--data-seed", "-1"});
  refusal_of({"run", "softmax", "--json", "--sample", "-1"});
}

// A length without a model would be left out silently; a model without a length takes the one that
// `corpus model` takes, not none.
TEST(HostileInput, SequenceLengthsBelongToModels) {
  refusal_of({"check", "attention_causal_gqa", "--seq", "16", "--json"});
  refusal_of({"check", "attention_causal_gqa", "--phase", "decode", "--json"});
  const json sizes =
      nautilusc({"check", "matmul", "--model", "qwen3-8b", "--json"}).json()["sizes"];
  EXPECT_EQ(sizes["N"], 4096) << sizes;
}

// What the list names can be shown: this host too, which has no file.
TEST(HostileInput, TheProbedMachineIsShown) {
  const Ran r = nautilusc({"corpus", "show", "cpu"});
  EXPECT_EQ(r.status, kGood) << r.err;
  EXPECT_EQ(r.json()["kind"], "cpu");
  EXPECT_EQ(nautilusc({"corpus", "show", "cpu", "--json"}).json()["kind"], "machines");
}

TEST(HostileInput, ABrokenSpecSaysWhatToDo) {
  refusal_of({"check", write_temp("empty.spec.cpp", ""), "--json"});
}

}  // namespace
}  // namespace nautilus::test
