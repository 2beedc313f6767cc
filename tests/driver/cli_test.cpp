// The command line: what each verb answers, and its exit status.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tests/driver/command.h"

namespace nautilus::test {
namespace {

using nlohmann::json;

// A spec file with these kernels, which begin in its line 4.
std::string write_spec(const std::string& name, const std::string& kernels) {
  return write_temp(name + ".spec.cpp",
                    "\n#include <nautilus/spec.h>\nusing namespace nautilus::spec;\n" + kernels);
}

const char* const kRows = R"(NAUTILUS_KERNEL(rows) {
  Size N, M;
  Input X(f32, {N, M});
  Output Y(f32, {N, M});
  Index i(N), j(M);
  Y(i, j) = softmax(j, X(i, j));
}
)";

const char* const kLogSumExp = R"(NAUTILUS_KERNEL(lse) {
  Size N, M;
  Input X(f32, {N, M});
  Output Y(f32, {N});
  Index i(N), j(M);
  Y(i) = logsumexp(j, X(i, j));
}
)";

TEST(Cli, HelpAndVersion) {
  EXPECT_EQ(nautilusc({"--help"}).status, kGood);
  EXPECT_EQ(nautilusc({"--version"}).status, kGood);
  for (const char* verb :
       {"check", "explain", "explore", "compile", "run", "apply", "corpus", "transforms"}) {
    const Ran r = nautilusc({verb, "--help"});
    EXPECT_EQ(r.status, kGood) << verb;
    EXPECT_NE(r.out.find("example"), std::string::npos) << verb << " --help has an example";
  }
}

TEST(Cli, BadRequestsAreTwo) {
  EXPECT_EQ(nautilusc({}).status, kBadInput);
  EXPECT_EQ(nautilusc({"frobnicate"}).status, kBadInput);
  EXPECT_EQ(nautilusc({"check"}).status, kBadInput);
  EXPECT_EQ(nautilusc({"check", "no_such_kernel"}).status, kBadInput);
  EXPECT_EQ(nautilusc({"check", "/"}).status, kBadInput);
  EXPECT_EQ(nautilusc({"check", "softmax", "--size", "N"}).status, kBadInput);
  EXPECT_EQ(nautilusc({"check", "softmax", "--size", "NOPE=3"}).status, kBadInput);
  EXPECT_EQ(nautilusc({"explore", "softmax", "--machine", "abacus"}).status, kBadInput);
  EXPECT_EQ(nautilusc({"run", "softmax", "--plan", "/nonexistent"}).status, kBadInput);
  // Also where no search asks for the machine.
  EXPECT_EQ(nautilusc({"run", "softmax", "--schedule", "original", "--machine", "abacus"}).status,
            kBadInput);
  const Ran odd = nautilusc({"run", "softmax", "--plan", write_temp("odd.json", "[]"), "--json"});
  EXPECT_EQ(odd.status, kBadInput);
  EXPECT_NE(odd.json()["error"]["suggest"].get<std::string>().find("explore SPEC --plan"),
            std::string::npos)
      << odd.out;
}

// With --json a wrong option is told on stdout, in the shape of every other error, by every verb.
TEST(Cli, OptionErrorsAreJsonToo) {
  const std::vector<std::vector<std::string>> wrong{
      {"check", "softmax", "--no-such-option", "--json"},
      {"check", "--json"},
      {"explain", "softmax", "--json", "--print", "everything"},
      {"explore", "--json", "softmax", "--seconds", "soon"},
      {"run", "softmax", "--on", "moon", "--json"},
      {"compile", "softmax", "--json"},  // no -o
      {"apply", "softmax", "extra", "--json"},
      {"corpus", "list", "--json", "--frob"},
      {"corpus", "model", "--json"},
      {"transforms", "--json", "--frob"},
      {"frobnicate", "--json"},
      {"--json"}};
  for (const std::vector<std::string>& args : wrong) {
    const Ran r = nautilusc(args);
    std::string line;
    for (const std::string& a : args) line += " " + a;
    EXPECT_EQ(r.status, kBadInput) << line;
    const json j = r.json();
    ASSERT_TRUE(j.is_object() && j.contains("error")) << line << "\n" << r.out << r.err;
    for (const char* key : {"asked", "where", "why", "suggest"})
      EXPECT_TRUE(j["error"][key].is_string()) << line << ": " << key;
    EXPECT_NE(j["error"]["why"], "") << line;
    EXPECT_NE(j["error"]["suggest"].get<std::string>().find("--help"), std::string::npos) << line;
    // Without --json the same status, and words on stderr alone.
    std::vector<std::string> plain;
    for (const std::string& a : args)
      if (a != "--json") plain.push_back(a);
    const Ran words = nautilusc(plain);
    EXPECT_EQ(words.status, kBadInput) << line;
    EXPECT_EQ(words.out, "") << line;
    EXPECT_NE(words.err, "") << line;
  }
  EXPECT_EQ(nautilusc({"corpus", "model", "--json"}).json()["error"]["asked"],
            "nautilusc corpus model");
  // Help is no error.
  EXPECT_NE(nautilusc({"run", "--json", "--help"}).out.find("example"), std::string::npos);
}

// Of a file with several kernels none is taken silently; check reads all of them.
TEST(Cli, SeveralKernelsAreNamed) {
  const std::string spec = write_spec("two", R"(NAUTILUS_KERNEL(doubled) {
  Size N;
  Input X(f32, {N});
  Output Y(f32, {N});
  Index i(N);
  Y(i) = 2 * X(i);
}
NAUTILUS_KERNEL(summed) {
  Size M, L;
  Input X(f32, {M, L});
  Output Y(f32, {M});
  Index i(M), j(L);
  Y(i) = sum(j, X(i, j));
}
)");
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"explain"},
                                             {"explore"},
                                             {"run"},
                                             {"compile", "-o", spec + "-out"},
                                             {"apply"},
                                             {"check", "--naut"}}) {
    std::vector<std::string> args = verb;
    args.insert(args.end(), {spec, "--json"});
    const Ran r = nautilusc(args);
    EXPECT_EQ(r.status, kBadInput) << verb[0] << r.out << r.err;
    const json j = r.json();
    ASSERT_TRUE(j.contains("error")) << verb[0] << r.out << r.err;
    EXPECT_EQ(j["error"]["why"], "it holds 2 kernels: doubled, summed") << verb[0];
    EXPECT_EQ(j["error"]["suggest"], "choose one: --kernel doubled") << verb[0];
  }
  const json all = nautilusc({"check", spec, "--json", "--size", "N=3"}).json();
  ASSERT_EQ(all["kernels"].size(), 2u) << all;
  EXPECT_EQ(all["kernels"][0]["name"], "doubled");
  EXPECT_EQ(all["kernels"][0]["sizes"]["N"], 3);
  EXPECT_EQ(all["kernels"][1]["name"], "summed");
  EXPECT_TRUE(all["kernels"][1]["sizes"].empty());
  EXPECT_EQ(nautilusc({"check", spec, "--size", "K=3"}).status, kBadInput);
  const json one = nautilusc({"check", spec, "--kernel", "summed", "--json"}).json();
  EXPECT_EQ(one["name"], "summed");
  EXPECT_EQ(nautilusc({"check", spec, "--kernel", "neither"}).status, kBadInput);
}

// Every kernel of the corpus goes by its name, whichever file holds it.
TEST(Cli, CorpusKernelsGoByTheirNames) {
  const json list = nautilusc({"corpus", "list", "--json"}).json();
  std::set<std::string> names;
  for (const json& k : list["kernels"]) {
    const std::string name = k["name"];
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
    const Ran r = nautilusc({"check", name, "--json"});
    ASSERT_EQ(r.status, kGood) << name << r.out << r.err;
    EXPECT_EQ(r.json()["name"], name);
    const json shown = nautilusc({"corpus", "show", name, "--json"}).json();
    EXPECT_EQ(shown["path"], k["path"]) << name;
  }
  EXPECT_TRUE(names.count("attention_causal") && names.count("matmul_bias_relu"));
  EXPECT_EQ(nautilusc({"run", "matmul_epilogue"}).status, kBadInput);
  EXPECT_EQ(
      nautilusc({"check", "matmul_epilogue", "--kernel", "matmul_bias", "--json"}).json()["name"],
      "matmul_bias");
}

TEST(Cli, BrokenSpecHasACaret) {
  const std::string path = write_spec("broken", R"(NAUTILUS_KERNEL(broken) {
  Size N;
  Input X(f32, {N});
  Output Y(f32, {N});
  Index i(N);
  Y(i) = X(i, i);
}
)");
  const Ran r = nautilusc({"check", path});
  EXPECT_EQ(r.status, kBadInput);
  EXPECT_NE(r.err.find("broken.spec.cpp:9:"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("^"), std::string::npos) << r.err;
}

TEST(Cli, CheckPrintsAProgramThatReadsBack) {
  const std::string path = write_spec("rows", kRows);
  const Ran naut = nautilusc({"check", path, "--naut"});
  ASSERT_EQ(naut.status, kGood) << naut.err;
  const std::string copy = write_temp("rows.naut", naut.out);
  const Ran again = nautilusc({"check", copy, "--naut"});
  ASSERT_EQ(again.status, kGood) << again.err;
  EXPECT_EQ(naut.out, again.out);
  const json j = nautilusc({"check", path, "--json"}).json();
  EXPECT_EQ(j["name"], "rows");
  EXPECT_GE(j["dependences"].size(), 4u);
}

TEST(Cli, ExplainTellsIllegalityRepairAndSavings) {
  const Ran r = nautilusc(
      {"explain", "attention_causal_gqa", "--seconds", "20", "--max-plans", "3000", "--json"});
  ASSERT_EQ(r.status, kGood) << r.err << r.out;
  const json j = r.json();
  ASSERT_FALSE(j.is_discarded());
  EXPECT_TRUE(j["verified"].get<bool>());
  EXPECT_LT(j["bytes_final"].get<double>(), 0.5 * j["bytes_unfused"].get<double>());
  bool repaired = false;
  for (const json& s : j["steps"]) {
    EXPECT_TRUE(s.contains("transform") && s.contains("verdict") && s.contains("repairs"));
    if (s["verdict"] != "repairable" || s["repairs"].empty()) continue;
    repaired = true;
    ASSERT_TRUE(s.contains("plain")) << s["transform"];
    EXPECT_EQ(s["plain"]["verdict"], "illegal");
    EXPECT_FALSE(s["plain"]["witness"]["text"].get<std::string>().empty());
    for (const json& repair : s["repairs"]) {
      EXPECT_GE(repair["derivations"].size(), 2u);
      for (const json& o : repair["obligations"]) EXPECT_TRUE(o["discharged"].get<bool>()) << o;
    }
  }
  EXPECT_TRUE(repaired) << "the best plan of attention uses a rolling update";
}

TEST(Cli, ExploreReportsAndSessionReadsBack) {
  const std::string session = write_temp("s.nautilus.json", "");
  const Ran r = nautilusc(
      {"explore", "softmax", "--seconds", "10", "--max-plans", "500", "-o", session, "--json"});
  ASSERT_EQ(r.status, kGood) << r.err;
  const json j = r.json();
  for (const char* field :
       {"plans_costed", "structures_verified", "seconds", "stop_reason", "best"})
    EXPECT_TRUE(j.contains(field)) << field;
  ASSERT_FALSE(j["best"].empty());
  EXPECT_GT(j["structures_verified"].get<int>(), 0);
  const json s = json::parse(slurp(session), nullptr, false);
  EXPECT_EQ(s["nodes"].size(), j["nodes"].get<size_t>());
}

TEST(Cli, SearchOutOfBudgetSaysSo) {
  const Ran r = nautilusc({"explore", "attention_causal_gqa", "--max-nodes", "1", "--json"});
  EXPECT_EQ(r.status, kGood) << "the program's own order is always an answer";
  const json j = r.json();
  EXPECT_EQ(j["stop_reason"], "node budget") << r.out;
  EXPECT_EQ(j["best"].size(), 1u) << r.out;
  EXPECT_NE(j["note"].get<std::string>().find("the program's own order"), std::string::npos)
      << r.out;
}

TEST(Cli, InterruptLeavesAUsableSession) {
  const std::string session = write_temp("interrupted.nautilus.json", "");
  const Ran r = nautilusc({"explore", "attention_causal_gqa", "--seconds", "60", "--max-plans", "0",
                           "--strategy", "exhaustive", "-o", session},
                          2.0);
  EXPECT_TRUE(r.status == kGood || r.status == kBudget) << r.status << r.err;
  const json s = json::parse(slurp(session), nullptr, false);
  ASSERT_FALSE(s.is_discarded());
  EXPECT_GT(s["nodes"].size(), 1u);
}

TEST(Cli, ApplyReplaysAndRefuses) {
  const std::string spec = write_spec("lse", kLogSumExp);
  const Ran start = nautilusc({"apply", spec, "--json"});
  ASSERT_EQ(start.status, kGood) << start.err;
  const int root = start.json()["schedule"]["tree"]["id"].get<int>();
  auto fuse = [&](const char* name) {
    return json::array({{{"transform", name},
                         {"params", {{"node", root}, {"first", 0}, {"last", 1}, {"depth", 2}}}}})
        .dump();
  };
  const Ran plain =
      nautilusc({"apply", spec, "--script", write_temp("plain.json", fuse("fuse")), "--json"});
  EXPECT_EQ(plain.status, kNo) << plain.out;
  EXPECT_EQ(plain.json()["steps"][0]["verdict"], "illegal");
  EXPECT_FALSE(plain.json()["steps"][0]["witness"]["text"].get<std::string>().empty());
  const Ran rolled = nautilusc(
      {"apply", spec, "--script", write_temp("rolled.json", fuse("rolling_update")), "--json"});
  EXPECT_EQ(rolled.status, kGood) << rolled.out << rolled.err;
  EXPECT_EQ(rolled.json()["steps"][0]["verdict"], "repairable");
  EXPECT_TRUE(rolled.json()["verified"].get<bool>());
  EXPECT_EQ(nautilusc({"apply", spec, "--script", write_temp("junk.json", "{{{")}).status,
            kBadInput);
  EXPECT_EQ(nautilusc({"apply", spec, "--script",
                       write_temp("unknown.json", R"([{"transform": "levitate"}])")})
                .status,
            kBadInput);
}

TEST(Cli, CorpusListsWhatShips) {
  const json j = nautilusc({"corpus", "list", "--json"}).json();
  EXPECT_GE(j["kernels"].size(), 12u);
  EXPECT_GE(j["models"].size(), 5u);
  EXPECT_GE(j["machines"].size(), 6u);
  EXPECT_EQ(nautilusc({"corpus", "show", "softmax"}).status, kGood);
  EXPECT_EQ(nautilusc({"corpus", "show", "nothing"}).status, kBadInput);
}

// What a plan's code takes for granted is said, and only where it does.
TEST(Cli, AssumptionsAreSaid) {
  const std::vector<std::string> small{
      "--size", "N=40",      "--size", "M=40",      "--max-plans",
      "150",    "--seconds", "60",     "--machine", NAUTILUS_SOURCE_DIR "/tests/autosched/cpu.json",
      "--json"};
  const auto notes = [&](std::vector<std::string> args) {
    args.insert(args.end(), small.begin(), small.end());
    const Ran r = nautilusc(args);
    EXPECT_EQ(r.status, kGood) << r.err << r.out;
    const json j = r.json();
    EXPECT_TRUE(!j.is_discarded() && j.contains("notes")) << r.out;
    return j.is_discarded() ? json::array() : j["notes"];
  };
  const json causal = notes({"run", "attention_causal"});
  ASSERT_EQ(causal.size(), 1u) << causal;
  EXPECT_NE(causal[0].get<std::string>().find("assumes finite operands of masked terms: V"),
            std::string::npos)
      << causal;
  EXPECT_EQ(notes({"explain", "attention_causal"}), causal);
  EXPECT_EQ(notes({"run", "attention_causal", "--numerics", "strict"}), json::array());
  EXPECT_EQ(notes({"run", "attention_global"}), json::array());
}

TEST(Cli, PlanFileRunsAgain) {
  const std::string plan = write_temp("plan.json", "");
  ASSERT_EQ(
      nautilusc({"explore", "softmax", "--machine", "cpu", "--max-plans", "200", "--plan", plan})
          .status,
      kGood);
  const Ran r = nautilusc({"run", "softmax", "--plan", plan, "--json"});
  ASSERT_EQ(r.status, kGood) << r.err << r.out;
  EXPECT_TRUE(r.json()["passed"].get<bool>());
}

// A plan says under which numerics its code is made; others are used where they are asked for.
TEST(Cli, PlanKeepsItsNumerics) {
  const std::string plan = write_temp("strict_plan.json", "");
  ASSERT_EQ(
      nautilusc({"explore", "softmax", "--machine", NAUTILUS_SOURCE_DIR "/tests/autosched/cpu.json",
                 "--max-plans", "100", "--numerics", "strict", "--plan", plan})
          .status,
      kGood);
  EXPECT_EQ(json::parse(slurp(plan))["numerics"], "strict");
  const std::vector<std::string> run{"run", "softmax", "--size", "N=33", "M=65", "--json"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> args = run;
    args.insert(args.end(), more.begin(), more.end());
    const Ran r = nautilusc(args);
    EXPECT_EQ(r.status, kGood) << r.out << r.err;
    return r.json();
  };
  const json own = with({"--plan", plan});
  EXPECT_EQ(own["numerics"], "strict");
  EXPECT_EQ(own["notes"], json::array());
  const json asked = with({"--plan", plan, "--numerics", "reassociate"});
  EXPECT_EQ(asked["numerics"], "reassociate");
  EXPECT_NE(asked["notes"].dump().find("the plan was made for numerics strict"), std::string::npos)
      << asked["notes"];
  EXPECT_NE(asked["rewrites"], own["rewrites"]);
}

// Where a result cannot be written, that is said before a search takes its time.
TEST(Cli, BadOutputsAreToldFirst) {
  const std::string file = write_temp("a_file", ""), folder = file.substr(0, file.rfind('/'));
  const auto refused = [&](std::vector<std::string> args, const std::string& why) {
    args.insert(args.end(), {"attention_causal", "--seconds", "10", "--json"});
    const Ran r = nautilusc(args);
    EXPECT_EQ(r.status, kBadInput) << args[0] << " " << why << r.out << r.err;
    const json j = r.json();
    ASSERT_TRUE(j.contains("error")) << r.out << r.err;
    EXPECT_NE(j["error"]["why"].get<std::string>().find(why), std::string::npos) << j;
    EXPECT_NE(j["error"]["suggest"], "") << j;
  };
  for (const char* option : {"-o", "--plan"}) {
    refused({"explore", option, folder + "/absent/s.json"}, "does not exist");
    refused({"explore", option, folder}, "it is a directory");
    refused({"explore", option, file + "/s.json"}, "is no directory");
    refused({"explore", option, "/proc/s.json"}, "no file can be made");
  }
  refused({"explore", "-o", folder + "/same", "--plan", folder + "/same"}, "two files");
  refused({"compile", "-o", file}, "is no directory");
  refused({"compile", "-o", file + "/deeper/still"}, "is no directory");
  refused({"compile", "-o", "/proc/out"}, "no file can be made");
  // Nothing is left behind by finding out.
  EXPECT_FALSE(std::filesystem::exists(folder + "/same"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/absent"));
}

// A wrong result says which assumption does not hold, and what assumes less: an infinity that a
// mask keeps out of the sum is multiplied by 0 unless numerics are strict.
TEST(Cli, OverflowSuggestsStrictNumerics) {
  const std::string spec = write_spec("triangle", R"(NAUTILUS_KERNEL(triangle) {
  Size N, K;
  Input A(f16, {N, N}), B(f16, {N, K});
  Output Y(f32, {N, K});
  Index i(N), j(N), k(K);
  Y(i, k) = sum(j, where(j < i), A(i, j) * B(j, k));
}
)");
  const auto run = [&](const char* numerics) {
    return nautilusc({"run", spec, "--size", "N=33", "K=16", "--scale", "30000", "--numerics",
                      numerics, "--machine", NAUTILUS_SOURCE_DIR "/tests/autosched/cpu.json",
                      "--max-plans", "60", "--json"});
  };
  const Ran plain = run("reassociate");
  EXPECT_EQ(plain.status, kNo) << plain.out << plain.err;
  const std::string suggest = plain.json()["suggest"];
  EXPECT_NE(suggest.find("assume finite operands"), std::string::npos) << suggest;
  EXPECT_NE(suggest.find("--numerics strict"), std::string::npos) << suggest;
  const Ran strict = run("strict");
  EXPECT_EQ(strict.status, kGood) << strict.out << strict.err;
  EXPECT_EQ(strict.json()["suggest"], "");
}

}  // namespace
}  // namespace nautilus::test
