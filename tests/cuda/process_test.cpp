// Child processes: given up with all that they started, output whole, and named where they cannot
// be started; the toolkit's programs among them.
#include "compiler/runtime/process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <thread>

#include "compiler/backend/cuda/assembly.h"
#include "tests/cuda/helpers.h"

namespace nautilus::runtime {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr double kForever = std::numeric_limits<double>::infinity();

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "nautilus it's-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::string script(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    fs::permissions(path / name, fs::perms::owner_all);
    return (path / name).string();
  }
  fs::path path;
};

// A process that `file` names, once it does; 0 if it never does.
pid_t named_in(const fs::path& file) {
  for (const auto end = Clock::now() + 20s; Clock::now() < end; std::this_thread::sleep_for(5ms)) {
    std::ifstream in(file);
    pid_t found = 0;
    std::string whole;
    if (in >> found >> whole && whole == "whole") return found;
  }
  return 0;
}

// Nobody, or one that nobody has asked for its end yet.
bool ended(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  return !std::getline(in, line) || line.find(") Z") != std::string::npos;
}

bool ends_soon(pid_t process) {
  for (const auto end = Clock::now() + 10s; Clock::now() < end; std::this_thread::sleep_for(5ms))
    if (ended(process)) return true;
  return false;
}

std::vector<std::string> sleeper(const fs::path& file) {
  return {"-c", R"(sleep 300 & echo $! whole > "$0"; sleep 300)", file.string()};
}

TEST(RunChild, StoppedItEndsWithWhatItStarted) {
  const Folder folder;
  std::atomic<bool> stop = false;
  pid_t grandchild = 0;
  Clock::time_point set;
  std::thread stopper([&] {
    grandchild = named_in(folder.path / "it");
    set = Clock::now();
    stop = true;
  });
  const auto end = run_child("/bin/sh", sleeper(folder.path / "it"), {}, {kForever, 0, &stop});
  const auto took = Clock::now() - set;
  stopper.join();
  ASSERT_TRUE(end) << end.error().text();
  EXPECT_TRUE(end->stopped);
  EXPECT_FALSE(end->timed_out);
  EXPECT_LT(took, 5s);
  ASSERT_GT(grandchild, 0);
  EXPECT_TRUE(ends_soon(grandchild));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a zombie";
}

TEST(RunChild, StoppedBeforeItIsNotStarted) {
  const Folder folder;
  const std::atomic<bool> stop = true;
  const auto end = run_child("/bin/sh", {"-c", "touch \"$0\"", (folder.path / "it").string()}, {},
                             {kForever, 0, &stop});
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->stopped);
  EXPECT_FALSE(fs::exists(folder.path / "it"));
}

// What Ctrl-C does before it ends the program.
TEST(RunChild, AllAreKilledAtOnce) {
  const Folder folder;
  pid_t grandchild = 0;
  std::thread killer([&] {
    grandchild = named_in(folder.path / "it");
    kill_children();
  });
  const auto end = run_child("/bin/sh", sleeper(folder.path / "it"), {}, {60});
  killer.join();
  ASSERT_TRUE(end) << end.error().text();
  EXPECT_EQ(end->signal, SIGKILL);
  EXPECT_FALSE(end->timed_out);
  EXPECT_TRUE(ends_soon(grandchild));
  kill_children();  // there are none
}

TEST(RunChild, WhatALeaderLeavesBehindEndsWithIt) {
  const Folder folder;
  const auto end = run_child(
      "/bin/sh", {"-c", R"(sleep 300 & echo $! whole > "$0")", (folder.path / "it").string()}, {},
      {60});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, 0);
  EXPECT_TRUE(ends_soon(named_in(folder.path / "it")));
}

TEST(RunChild, BigOutputIsWhole) {
  const std::vector<std::string> words = {"-c", "seq -f 'line %g' 0 39999; echo end >&2"};
  std::string expected;
  for (int k = 0; k < 40'000; ++k) expected += "line " + std::to_string(k) + "\n";
  expected += "end\n";
  auto end = run_child("/bin/sh", words, {}, {60, 0, nullptr, kWholeLog});
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->log == expected) << end->log.size() << " of " << expected.size() << " bytes";
  end = run_child("/bin/sh", words, {}, {60});
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->log == expected.substr(expected.size() - 4000));
}

TEST(RunChild, ProgramsThatCannotBeStartedAreNamed) {
  const Folder folder;
  const auto missing = run_child("/nonexistent/nvcc", {}, {}, {60});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find("/nonexistent/nvcc: No such file"), std::string::npos)
      << missing.error().text();
  const auto directory = run_child(folder.path.string(), {}, {}, {60});
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().text().find("Permission denied"), std::string::npos);
  const auto own = run_child("/bin/sh", {"-c", "exit 127"}, {}, {60});  // its own word, no refusal
  ASSERT_TRUE(own);
  EXPECT_EQ(own->status, 127);
}

TEST(RunChild, HasNoDescriptorsButItsOwn) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);  // inherited by what knows no better
  const int high = ::dup2(ends[0], 200);
  SharedMemory given;
  given.write("given");
  const auto end =
      run_child("/bin/sh", {"-c", "cat <&3; ls /proc/$$/fd | tr '\\n' ' '"}, {given.fd()}, {60});
  for (const int fd : {ends[0], ends[1], high}) ::close(fd);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->log.substr(0, 14), "given0 1 2 3 ") << end->log;
  EXPECT_EQ(end->log.find("200"), std::string::npos) << end->log;
}

// A compiler and a disassembler in a folder whose name a shell would take apart.
class Toolkit : public ::testing::Test {
 protected:
  Toolkit() {
    const char* now = std::getenv("NAUTILUS_NVCC");
    before_ = now ? now : "";
  }
  ~Toolkit() override {
    before_.empty() ? ::unsetenv("NAUTILUS_NVCC") : ::setenv("NAUTILUS_NVCC", before_.c_str(), 1);
  }
  void use(const std::string& compiler) {
    ::setenv("NAUTILUS_NVCC", folder.script("nvcc", compiler).c_str(), 1);
  }
  static constexpr const char* kCopies =
      "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = -o ] && out=$2; shift; done\ncp \"$1\" "
      "\"$out\"\n";
  const Folder folder;
  const cuda::Source source = cuda::source_of(cuda::sample("ampere_product"));

 private:
  std::string before_;
};

TEST_F(Toolkit, TextsAreWhole) {
  use(kCopies);
  folder.script("nvdisasm", "#!/bin/sh\n[ \"$1\" = -g ] && cat \"$2\" \"$2\" \"$2\" \"$2\"\n");
  const auto ptx = cuda::ptx_text(source);
  ASSERT_TRUE(ptx) << ptx.error().text();
  EXPECT_TRUE(*ptx == source.text);
  const auto sass = cuda::sass_text(source);
  ASSERT_TRUE(sass) << sass.error().text();
  EXPECT_GT(sass->size(), 4000u);
  EXPECT_TRUE(*sass == source.text + source.text + source.text + source.text);
}

TEST_F(Toolkit, WhatCannotBeStartedIsNamed) {
  use("#!/nonexistent/interpreter\n");
  const auto code = cuda::compile(source);
  ASSERT_FALSE(code);
  const std::string told = code.error().text();
  EXPECT_NE(told.find((folder.path / "nvcc").string() + ": No such file"), std::string::npos)
      << told;
}

TEST_F(Toolkit, ItsWordsAndItsEndAreTold) {
  use("#!/bin/sh\necho wrong here >&2\nkill -9 $$\n");
  const auto code = cuda::compile(source);
  ASSERT_FALSE(code);
  EXPECT_NE(code.error().why.find("killed by SIGKILL: wrong here"), std::string::npos)
      << code.error().text();
}

}  // namespace
}  // namespace nautilus::runtime
