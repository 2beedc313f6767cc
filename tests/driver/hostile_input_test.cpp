// Files and numbers that nobody means: refused by name, never a crash.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
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
TEST(HostileInput, JsonThatNestsTooDeeplyIsRefused) {
  const std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
  const std::string text =
      write_temp("text.json", "[{\"name\": \"tile\", \"params\": \"" + deep + "\"}]");
  for (const std::string& script :
       {"{\"steps\": " + deep + "}", "[{\"transform\": \"tile\", \"params\": " + deep + "}]"})
    refusal_of({"apply", "softmax", "--json", "--script", write_temp("deep.json", script)});
  const Ran as_text = nautilusc({"apply", "softmax", "--json", "--script", text});
  EXPECT_EQ(as_text.status, kBadInput) << as_text.err;
  const std::string plan =
      write_temp("deep.plan.json",
                 "{\"nautilus_plan\": 1, \"program\": \"softmax\", \"script\": [" + deep + "]}");
  EXPECT_EQ(nautilusc({"run", "softmax", "--json", "--plan", plan}).status, kBadInput);
  refusal_of({"corpus", "model", "--json",
              write_temp("deep.config.json", "{\"hidden_size\": " + deep + "}")});
  refusal_of({"explore", "softmax", "--json", "--machine",
              write_temp("deep.machine.json", "{\"rates\": " + deep + "}")});
}

TEST(HostileInput, ADirectoryIsNoScriptAndNoPlan) {
  const std::string here = std::filesystem::temp_directory_path().string();
  EXPECT_EQ(refusal_of({"apply", "softmax", "--json", "--script", here})["why"],
            "it is a directory");
  EXPECT_EQ(refusal_of({"run", "softmax", "--json", "--plan", here})["why"], "it is a directory");
}

// What is there is named, and never waited for; nothing that is too large is read.
TEST(HostileInput, WhatIsNoFileIsSaidToBeWhatItIs) {
  namespace fs = std::filesystem;
  const std::string pipe = write_temp("pipe.spec.cpp", "");
  fs::remove(pipe);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string folder = fs::temp_directory_path().string();
  for (const char* verb : {"check", "explore", "run", "explain"}) {
    EXPECT_EQ(refusal_of({verb, pipe, "--json"})["why"], "it is a pipe, not a file") << verb;
    EXPECT_EQ(refusal_of({verb, folder, "--json"})["why"], "it is a directory") << verb;
    EXPECT_EQ(refusal_of({verb, "/dev/stdin", "--json"})["why"], "it is a device, not a file");
  }
  EXPECT_EQ(refusal_of({"compile", pipe, "--json", "-o", folder})["why"],
            "it is a pipe, not a file");
  EXPECT_EQ(refusal_of({"corpus", "model", "--json", pipe})["why"], "it is a pipe, not a file");
  fs::remove(pipe);
  const std::string large = write_temp("large.naut", "naut 1\n");
  fs::resize_file(large, uintmax_t{3} << 30);
  const auto start = std::chrono::steady_clock::now();
  const json r = refusal_of({"check", large, "--json"});
  EXPECT_NE(r.dump().find("it has 3072 MB, more than "), std::string::npos) << r;
  const json script = refusal_of({"apply", "softmax", "--json", "--script", large});
  EXPECT_NE(script.dump().find("it has 3072 MB, more than "), std::string::npos) << script;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
  fs::remove(large);
}

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

TEST(HostileInput, MachinesHaveWholeUnits) {
  const std::string path = nautilusc({"corpus", "show", "h200", "--json"}).json()["path"];
  const json good = json::parse(slurp(path));
  for (const json& wrong : {json("x"), json(0), json(1e308), json::array()})
    for (const char* key : {"units", "max_threads_per_unit"}) {
      json m = good;
      m[key] = wrong;
      const json e = refusal_of({"explore", "softmax", "--json", "--machine",
                                 write_temp("wrong.machine.json", m.dump())});
      EXPECT_NE(e.value("why", "").find(key), std::string::npos) << e;
    }
}

// What the list names can be shown: this host too, which has no file.
TEST(HostileInput, TheProbedMachineIsShown) {
  const Ran r = nautilusc({"corpus", "show", "cpu"});
  EXPECT_EQ(r.status, kGood) << r.err;
  EXPECT_EQ(r.json()["kind"], "cpu");
  EXPECT_EQ(nautilusc({"corpus", "show", "cpu", "--json"}).json()["kind"], "machines");
}

// "check SPEC --naut > k.naut" on a full disk is no success.
TEST(HostileInput, AnAnswerThatCannotBeWrittenIsNone) {
  const std::string err = write_temp("full.txt", "");
  const std::string program =
      " \"" + std::string(NAUTILUS_BIN_DIR) + "/nautilusc\" check softmax --naut 2>\"" + err + "\"";
  const int full = std::system((program + " >/dev/full").c_str());
  EXPECT_EQ(WEXITSTATUS(full), kEnvironment);
  EXPECT_NE(slurp(err).find("standard output"), std::string::npos) << slurp(err);
  const int closed = std::system((program + " >&-").c_str());
  EXPECT_EQ(WEXITSTATUS(closed), kGood) << slurp(err);
}

TEST(HostileInput, ABrokenSpecSaysWhatToDo) {
  refusal_of({"check", write_temp("empty.spec.cpp", ""), "--json"});
}

}  // namespace
}  // namespace nautilus::test
