// The script ./nautilus: what it refuses before it installs or builds anything.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "tests/driver/command.h"

namespace nautilus::test {
namespace {

Ran script(const std::string& arguments) {
  const std::string out = write_temp("script.out", ""), err = write_temp("script.err", "");
  const int status = std::system(
      ("'" NAUTILUS_SOURCE_DIR "/nautilus' " + arguments + " >" + out + " 2>" + err).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(out), slurp(err)};
}

TEST(Script, SaysWhatItTakes) {
  const Ran help = script("help");
  EXPECT_EQ(help.status, kGood);
  for (const char* verb : {"demo", "setup", "build", "test", "bench", "fuzz", "run", "cuda"})
    EXPECT_NE(help.out.find(std::string("\n  ") + verb), std::string::npos) << verb;
}

TEST(Script, BadRequestsAreTwo) {
  const auto refused = [](const std::string& arguments, const std::string& why) {
    const Ran r = script(arguments);
    EXPECT_EQ(r.status, kBadInput) << arguments << "\n" << r.err;
    EXPECT_TRUE(r.err.ends_with(why + "\n")) << arguments << "\n" << r.err;
    EXPECT_EQ(r.err.find("set-up"), std::string::npos) << r.err;
  };
  refused("levitate", "nautilus: unknown verb 'levitate'");
  refused("build fastest", "no preset 'fastest' (one of: release debug asan-ubsan gpu-host)");
  refused("test gpu-host", "no preset with tests 'gpu-host' (one of: release debug asan-ubsan)");
  refused("fuzz soon", "fuzz takes a number of seconds a target, not 'soon'");
  refused("fuzz 0", "fuzz takes a number of seconds a target, not '0'");
}

}  // namespace
}  // namespace nautilus::test
