#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "autosched/search.h"

namespace nautilus::sched {
namespace {

std::string temp_path(const char* name) {
  return ::testing::TempDir() + name + std::to_string(getpid());
}

// A session whose nodes look like those of a search: few distinct words, distinct numbers.
Session made_up(int count) {
  Session s;
  s.spec_path = "a.spec.cpp";
  s.spec_text = "line \"quoted\"\n\xc3\xa9";
  s.spec_hash = "123";
  s.program_naut = "program p";
  s.kernel = "p";
  s.options.machine = *find_machine("h200");
  s.options.sizes = {{"N", 4096}};
  s.options.strategy = Strategy::Beam;
  for (int i = 0; i < count; ++i) {
    SearchNode n;
    n.id = i;
    n.parent = i ? (i - 1) / 7 : -1;
    n.state = static_cast<NodeState>(i % 11);
    n.verdict = static_cast<poly::VerdictKind>(i % 4);
    n.decision = "decision " + std::to_string(i % 300);
    n.reason = i % 3 ? "" : "bound " + std::to_string(i % 5000) + " us is worse than the best";
    if (i % 4 == 0)
      n.steps = {{"tile", "{\"node\":" + std::to_string(i % 900) + ",\"sizes\":[64,64]}"},
                 {"fuse", "{}"}};
    n.duplicate_of = i % 50 ? -1 : i / 2;
    n.seconds = 1e-6 * (i + 1) / 3.0;
    n.lower_bound = n.seconds / 7;
    n.limiter = "memory bound: " + std::to_string(i % 100) + " %";
    for (const char* level : {"hbm", "l2", "shared", "register"})
      n.points.push_back({level, 1.0 / (i + 3), 1e12 / (i + 7), 9e14 / (i + 1)});
    n.knobs = {{"tile.i", 64}, {"tile.j", 1 << (i % 9)}, {"threads", 256}};
    n.shared_bytes = 1024.0 * (i % 200);
    n.register_bytes = 256.0 * (i % 100);
    n.by_hand = i % 40 == 3;
    n.made_at = 0.25 * i;
    s.result.nodes.push_back(n);
  }
  if (count > 3) s.result.best = {2, 3}, s.result.pareto = {1};
  s.result.plans_costed = count;
  s.result.stop_reason = StopReason::TimeBudget;
  s.notes = {{2, "look here"}};
  s.measured = {{1, {1.5e-4, true, "H200, run --on gpu"}},
                {3, {2e-4, false, "store"}},
                {2, {3e-4, {}, "sheet"}}};
  s.pins = {3, 1};
  s.viewport = R"({"roofline":{"level":"l2"}})";
  return s;
}

TEST(SessionFile, RoundTrip) {
  Session s = made_up(500);
  s.result.nodes[7].points[0].roof = INFINITY;
  std::string path = temp_path("session");
  ASSERT_FALSE(save_session(s, path));
  Expected<Session> t = load_session(path);
  ASSERT_TRUE(t) << t.error().text();
  EXPECT_EQ(session_to_json(*t), session_to_json(s));
  EXPECT_EQ(t->result.nodes[8].steps[0].params, s.result.nodes[8].steps[0].params);
  EXPECT_EQ(t->result.nodes[8].points[1].intensity, s.result.nodes[8].points[1].intensity);
  EXPECT_EQ(t->spec_text, s.spec_text);
  EXPECT_EQ(t->notes.at(2), "look here");
  EXPECT_EQ(t->measured.at(1).seconds, 1.5e-4);
  EXPECT_TRUE(t->measured.at(1).right.holds());
  EXPECT_TRUE(t->measured.at(3).right.fails());
  EXPECT_FALSE(t->measured.at(2).right.made());
  EXPECT_EQ(t->pins, (std::vector<int>{3, 1}));
  EXPECT_EQ(t->viewport, s.viewport);
  EXPECT_TRUE(t->result.nodes[43].by_hand);
  EXPECT_EQ(t->result.nodes[43].made_at, 0.25 * 43);
  EXPECT_EQ(t->result.nodes[43].register_bytes, s.result.nodes[43].register_bytes);
  std::filesystem::remove(path);
}

TEST(SessionFile, HundredThousandNodesAreSmall) {
  Session s = made_up(100'000);
  std::string path = temp_path("big_session");
  ASSERT_FALSE(save_session(s, path));
  EXPECT_LT(std::filesystem::file_size(path), 60u << 20);
  Expected<Session> back = load_session(path);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->result.nodes.size(), 100'000u);
  std::filesystem::remove(path);
}

TEST(SessionFile, EveryTruncationIsARefusal) {
  std::string text = session_to_json(made_up(20)).dump();
  std::string path = temp_path("cut_session");
  for (size_t n = 0; n < text.size(); n += 97) {
    std::ofstream(path, std::ios::trunc | std::ios::binary) << text.substr(0, n);
    EXPECT_FALSE(load_session(path)) << n;
  }
  std::filesystem::remove(path);
}

// What stands before the session does no harm; what stands after it is told from a part that lacks.
TEST(SessionFile, WhatIsAroundTheSession) {
  const std::string text = session_to_json(made_up(20)).dump(1), path = temp_path("around_session");
  const auto load = [&](const std::string& content) {
    std::ofstream(path, std::ios::trunc | std::ios::binary) << content;
    return load_session(path);
  };
  for (const std::string before : {"\n", " \t\r\n\n", "\xef\xbb\xbf"})
    EXPECT_TRUE(load(before + text + "\n\n")) << load(before + text).error().text();
  const auto lines = std::count(text.begin(), text.end(), '\n');
  for (const std::string after : {"x", "}", "\n{}", "<<<<<<< HEAD"}) {
    const Expected<Session> s = load(text + "\n" + after);
    ASSERT_FALSE(s);
    const auto line = std::to_string(lines + 2 + (after[0] == '\n'));
    EXPECT_NE(s.error().why.find("text after the end of the session, in line " + line),
              std::string::npos)
        << s.error().text();
  }
  const Expected<Session> part = load(text.substr(0, text.size() - 2));
  ASSERT_FALSE(part);
  EXPECT_NE(part.error().why.find("truncated"), std::string::npos) << part.error().text();
  std::filesystem::remove(path);
}

TEST(SessionFile, DamageIsARefusalNotACrash) {
  nlohmann::json good = session_to_json(made_up(6));
  auto refuses = [&](const std::function<void(nlohmann::json&)>& damage, const char* what) {
    nlohmann::json j = good;
    damage(j);
    EXPECT_FALSE(session_from_json(j)) << what;
  };
  refuses([](auto& j) { j["nautilus_session"] = 99; }, "newer");
  refuses([](auto& j) { j["nautilus_session"] = "x"; }, "version text");
  refuses([](auto& j) { j.erase("nodes"); }, "no nodes");
  refuses([](auto& j) { j["nodes"][5][0] = 19; }, "parent after child");
  refuses([](auto& j) { j["nodes"][5][1] = 77; }, "state");
  refuses([](auto& j) { j["nodes"][5][3] = 100000; }, "string index");
  refuses([](auto& j) { j["nodes"][5] = 3; }, "not a node");
  refuses([](auto& j) { j["result"]["best"] = {400}; }, "best");
  refuses([](auto& j) { j["options"]["machine"].erase("fma"); }, "machine");
  refuses([](auto& j) { j["notes"]["x"] = "y"; }, "note id");
  refuses([](auto& j) { j["notes"]["400"] = "y"; }, "a note of no node");
  refuses([](auto& j) { j["pins"] = {400}; }, "pin");
  refuses([](auto& j) { j["pins"] = "x"; }, "pins");
  refuses([](auto& j) { j["measured"]["400"] = j["measured"]["1"]; }, "measured node");
  refuses([](auto& j) { j["measured"]["1"].erase("seconds"); }, "measurement");
  refuses([](auto& j) { j.erase("viewport"); }, "viewport");
  refuses([](auto& j) { j["nodes"][5][14] = 3; }, "by hand");
  refuses([](auto& j) { j["nodes"][5][5] = 400; }, "duplicate of no node");
  refuses([](auto& j) { j["nodes"][5][0] = -1; }, "a second root");
  refuses([](auto& j) { j["nautilus_session"] = 0; }, "version zero");
  refuses([](auto& j) { j["nodes"][5][0] = 1e300; }, "a huge number");
  refuses([](auto& j) { j["nodes"][5][3] = uint64_t{1} << 63; }, "a huge index");
  refuses([](auto& j) { j["nodes"][5][0] = 2.5; }, "half a node");
  refuses([](auto& j) { j["options"]["sizes"]["N"] = 1e300; }, "a huge size");
  refuses([](auto& j) { j["options"]["max_nodes"] = int64_t{1} << 40; }, "a huge budget");
  refuses([](auto& j) { j["result"]["best"] = {int64_t{1} << 40}; }, "a huge node");
  refuses([](auto& j) { j["notes"]["2x"] = "y"; }, "a note of half a number");
  refuses([](auto& j) { j["nautilus_session"] = uint64_t{1} << 63; }, "a huge version");
  // What, and where.
  nlohmann::json hurt = good;
  hurt["nodes"][5][1] = "open";
  EXPECT_NE(session_from_json(hurt).error().why.find("candidate 5, state: \"open\""),
            std::string::npos)
      << session_from_json(hurt).error().text();
  // Any value in the place of any other is refused or read, and never crashes.
  const nlohmann::json values[] = {nullptr,
                                   true,
                                   -1,
                                   1e300,
                                   uint64_t{1} << 63,
                                   "",
                                   "x",
                                   nlohmann::json::array(),
                                   nlohmann::json::object()};
  const nlohmann::json flat = good.flatten();
  for (const auto& [path, old] : flat.items())
    for (const nlohmann::json& v : values) {
      nlohmann::json j = good;
      j[nlohmann::json::json_pointer(path)] = v;
      (void)session_from_json(j);
    }
  nlohmann::json newer = good;
  newer["nautilus_session"] = 99;
  EXPECT_NE(session_from_json(newer).error().why.find("newer version"), std::string::npos);
  EXPECT_FALSE(session_from_json(nlohmann::json(3)));
}

// Each value of it replaced or taken away: whoever reads the refusal learns where, and nothing of
// how the reader is made.
TEST(SessionFile, DamageIsToldInWordsOfTheFile) {
  const std::string file = NAUTILUS_SOURCE_DIR "/tests/gui/attention_session.json";
  std::ifstream in(file);
  const nlohmann::json searched = nlohmann::json::parse(in);
  ASSERT_TRUE(session_from_json(searched));
  using Pointer = nlohmann::json::json_pointer;
  int refused = 0;
  const auto told = [&](const nlohmann::json& j, const std::string& what) {
    const Expected<Session> s = session_from_json(j);
    if (s) return;
    ++refused;
    const std::string text = s.error().text();
    for (const char* internal : {"vector::", "json.exception", "_M_", "std::", "basic_string"})
      EXPECT_EQ(text.find(internal), std::string::npos) << what << ": " << text;
    EXPECT_TRUE(s.error().why.starts_with("damaged at its ") ||
                what.starts_with("/nautilus_session"))
        << what << ": " << text;
  };
  const nlohmann::json values[] = {
      "many", 1e300, -1, 999999, nullptr, nlohmann::json::array(), true, nlohmann::json::object()};
  for (nlohmann::json good : {session_to_json(made_up(6)), searched}) {
    const nlohmann::json flat = good.flatten();
    std::set<std::string> all;  // values, and what holds them
    for (const auto& [path, old] : flat.items())
      for (Pointer p(path); !p.empty(); p.pop_back()) all.insert(p.to_string());
    for (const std::string& path : all) {
      const Pointer at(path);
      const nlohmann::json old = good[at];
      for (const nlohmann::json& v : values) {
        good[at] = v;
        told(good, path + " = " + v.dump());
      }
      good[at] = old;
      nlohmann::json& holder = good[at.parent_pointer()];
      const nlohmann::json whole = holder;
      if (holder.is_object())
        holder.erase(at.back());
      else
        holder.erase(std::stoul(at.back()));
      told(good, path + " taken away");
      holder = whole;
    }
  }
  EXPECT_GT(refused, 1000);
  const auto why = [&](const char* path, const nlohmann::json& v) {
    nlohmann::json j = session_to_json(made_up(6));
    j[Pointer(path)] = v;
    const Expected<Session> s = session_from_json(j);
    return s ? std::string("read") : s.error().why;
  };
  EXPECT_EQ(why("/nodes/5/3", 4711)
                .find("damaged at its candidate 5, decision: there is no string "
                      "4711 among "),
            0u)
      << why("/nodes/5/3", 4711);
  EXPECT_EQ(why("/result/best/0", 99),
            "damaged at its result, best: there is no candidate 99 among 6");
  EXPECT_EQ(why("/spec", 3), "damaged at its spec: 3 is no object");
  EXPECT_EQ(why("/measured/1/source", 3),
            "damaged at its measurement of candidate 1, source: 3 is no text");
}

TEST(SessionFile, TimesThatNoKernelTakes) {
  const nlohmann::json good = session_to_json(made_up(6));
  for (const nlohmann::json& bad : {nlohmann::json(1e308), nlohmann::json(-1e-6),
                                    nlohmann::json("nan"), nlohmann::json("inf"), nlohmann::json()})
    for (const size_t field : {6, 7}) {
      nlohmann::json j = good;
      j["nodes"][4][field] = bad;
      const Expected<Session> s = session_from_json(j);
      ASSERT_FALSE(s) << bad;
      EXPECT_NE(s.error().why.find(field == 6 ? "candidate 4, predicted time: "
                                              : "candidate 4, lower bound of the time: "),
                std::string::npos)
          << s.error().text();
    }
  // The order as written, of sizes that nobody runs.
  nlohmann::json slow = good;
  slow["nodes"][4][6] = 3e7;
  slow["nodes"][5][6] = 0;
  EXPECT_TRUE(session_from_json(slow));
  for (const nlohmann::json& bad : {nlohmann::json(1e308), nlohmann::json(2e6), nlohmann::json(0),
                                    nlohmann::json(-3), nlohmann::json("nan"), nlohmann::json()}) {
    nlohmann::json j = good;
    j["measured"]["1"]["seconds"] = bad;
    const Expected<Session> s = session_from_json(j);
    ASSERT_TRUE(s) << s.error().text();
    EXPECT_FALSE(s->measured.contains(1)) << bad;
    EXPECT_EQ(s->measured.size(), 2u);
    EXPECT_EQ(s->result.note.find("the measurement of candidate 1 was left out: "), 0u)
        << s->result.note;
  }
}

// A file of the first version, as it was written then.
TEST(SessionFile, OlderVersionsOpen) {
  nlohmann::json j = session_to_json(made_up(20));
  j["nautilus_session"] = 1;
  for (const char* key : {"measured", "pins", "viewport"}) j.erase(key);
  for (auto& n : j["nodes"]) n.erase(n.begin() + 12, n.end());
  auto s = session_from_json(j);
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_EQ(s->result.nodes.size(), 20u);
  EXPECT_FALSE(s->result.nodes[3].by_hand);
  EXPECT_TRUE(s->pins.empty());
  EXPECT_EQ(s->notes.at(2), "look here");
}

TEST(SessionFile, AViewportThatIsNoJsonIsLeftOut) {
  Session s = made_up(4);
  s.viewport = "{nonsense";
  auto back = session_from_json(session_to_json(s));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->viewport, "");
}

TEST(SessionFile, WriteFailureKeepsTheOldFile) {
  EXPECT_TRUE(save_session(made_up(3), "/nonexistent_dir/x.nautilus.json"));
  std::string path = temp_path("kept_session");
  ASSERT_FALSE(save_session(made_up(3), path));
  ASSERT_FALSE(save_session(made_up(5), path));
  Expected<Session> s = load_session(path);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->result.nodes.size(), 5u);
  std::filesystem::remove(path);
}

// A link stays a link, a private file stays private; what is no file of ours is not read for ever.
TEST(SessionFile, WritesThroughLinksAndKeepsWhoMayRead) {
  namespace fs = std::filesystem;
  const std::string real = temp_path("real"), link = temp_path("link");
  ASSERT_FALSE(save_session(made_up(3), real));
  fs::permissions(real, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(real, link);
  ASSERT_FALSE(save_session(made_up(5), link));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(fs::status(real).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const auto back = load_session(real);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->result.nodes.size(), 5u);
  fs::remove(link);
  fs::remove(real);
}
TEST(SessionFile, PipesAndDevicesAreRefused) {
  const std::string pipe = temp_path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    const auto s = load_session(path);
    ASSERT_FALSE(s);
    EXPECT_NE(s.error().why.find(path == pipe ? "it is a pipe" : "it is a device"),
              std::string::npos)
        << s.error().text();
  }
  std::filesystem::remove(pipe);
}

}  // namespace
}  // namespace nautilus::sched
