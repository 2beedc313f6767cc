#include "tests/driver/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace nautilus::test {

namespace fs = std::filesystem;

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

static std::string temp_dir() {
  static const std::string dir = [] {
    std::string d = (fs::temp_directory_path() / "nautilus-test-XXXXXX").string();
    return std::string(mkdtemp(d.data()));
  }();
  return dir;
}

std::string write_temp(const std::string& name, const std::string& text) {
  const std::string path = temp_dir() + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

Ran nautilusc(const std::vector<std::string>& args, double interrupt_after) {
  static int counter = 0;
  const std::string base =
      temp_dir() + "/" + std::to_string(getpid()) + "-" + std::to_string(counter++);
  std::vector<std::string> all{NAUTILUS_BIN_DIR "/nautilusc"};
  all.insert(all.end(), args.begin(), args.end());
  const pid_t pid = fork();
  if (pid == 0) {
    const int in = open("/dev/null", O_RDONLY);
    const int out = open((base + ".out").c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    const int err = open((base + ".err").c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    dup2(in, 0), dup2(out, 1), dup2(err, 2);
    std::vector<char*> argv;
    for (std::string& a : all) argv.push_back(a.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  if (interrupt_after > 0) {
    usleep(static_cast<useconds_t>(interrupt_after * 1e6));
    kill(pid, SIGINT);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  Ran r;
  r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  r.out = slurp(base + ".out");
  r.err = slurp(base + ".err");
  fs::remove(base + ".out");
  fs::remove(base + ".err");
  return r;
}

std::string folder(const std::string& name) {
  const std::string path = write_temp(name, "");
  std::filesystem::remove_all(path);
  return path;
}

}  // namespace nautilus::test
