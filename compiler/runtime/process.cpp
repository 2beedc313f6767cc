#include "compiler/runtime/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <stdexcept>

extern char** environ;

namespace nautilus::runtime {
namespace {

// Descriptors in the child: 0 is /dev/null, 1 and 2 the log, 3.. those handed over.
constexpr int kFirst = 3;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kLimitAddressSpace = false;  // the sanitizer reserves terabytes
#else
constexpr bool kLimitAddressSpace = true;
#endif

// Process groups of children that run now; 0: a free place.
std::atomic<pid_t> running[64] = {};
static_assert(std::atomic<pid_t>::is_always_lock_free);

class Running {
 public:
  explicit Running(pid_t group) {
    for (auto& place : running) {
      pid_t none = 0;
      if (!place.compare_exchange_strong(none, group)) continue;
      place_ = &place;
      return;
    }
  }
  ~Running() {
    if (place_) place_->store(0);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::atomic<pid_t>* place_ = nullptr;
};

// Away from the low numbers that the child's descriptors are copied to.
int lifted(int fd) {
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, 64);
  return high >= 0 ? high : fd;
}

// Only async-signal-safe calls: other threads of the parent may hold any lock. Why the program
// cannot be started goes to `refused`, memory that is shared with the parent.
[[noreturn]] void become(const char* program, char* const* argv, char* const* env, int* fds,
                         int n_fds, int log, int null, pid_t parent, uint64_t memory,
                         int* refused) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int s : {SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGXFSZ}) signal(s, SIG_DFL);
  rlimit core{0, 0};
  setrlimit(RLIMIT_CORE, &core);
  if (memory > 0 && kLimitAddressSpace) {
    rlimit as{memory, memory};
    setrlimit(RLIMIT_AS, &as);
  }
  null = lifted(null);
  for (int k = 0; k < n_fds; ++k) fds[k] = lifted(fds[k]);
  dup2(null, 0);
  dup2(log, 1);
  dup2(log, 2);
  for (int k = 0; k < n_fds; ++k) dup2(fds[k], kFirst + k);
  syscall(SYS_close_range, kFirst + n_fds, ~0u, 0u);
  execve(program, argv, env);
  *refused = errno;
  _exit(127);
}

enum class Waited { Gone, TimedOut, Stopped };

// Until the child is gone (it is not reaped), the time is over or the stop flag is set.
Waited wait_for(pid_t pid, const ChildLimits& limits) {
  constexpr double kLook = 50;  // ms between looks at the stop flag
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limits.seconds);
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  Waited how = Waited::Gone;
  for (;;) {
    siginfo_t info{};
    const int r = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
    if ((r == 0 && info.si_pid == pid) || (r < 0 && errno != EINTR)) break;
    const double left =
        std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count();
    if (limits.stop && limits.stop->load()) {
      how = Waited::Stopped;
      break;
    }
    if (left <= 0) {
      how = Waited::TimedOut;
      break;
    }
    pollfd p{pidfd, POLLIN, 0};
    // Without a pidfd (old kernels): look again every 5 ms.
    poll(pidfd >= 0 ? &p : nullptr, pidfd >= 0 ? 1 : 0,
         pidfd >= 0 ? static_cast<int>(std::min(left * 1000 + 1, limits.stop ? kLook : 1e6)) : 5);
  }
  if (pidfd >= 0) close(pidfd);
  return how;
}

Refusal not_started(const std::string& program, const std::string& why) {
  return {"start a child process", program, why, ""};
}

}  // namespace

SharedMemory::SharedMemory(size_t bytes) : bytes_(bytes) {
  fd_ = memfd_create("nautilus", MFD_CLOEXEC);
  if (const int high = fd_ < 0 ? -1 : lifted(fd_); high != fd_) {
    close(fd_);
    fd_ = high;
  }
  if (fd_ < 0 || ftruncate(fd_, static_cast<off_t>(bytes)) != 0) {
    const std::string why = strerror(errno);
    if (fd_ >= 0) close(fd_);
    throw std::runtime_error("cannot create shared memory: " + why);
  }
  if (bytes == 0) return;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (p == MAP_FAILED) {
    close(fd_);
    throw std::runtime_error("cannot map " + std::to_string(bytes) + " bytes of shared memory");
  }
  data_ = static_cast<char*>(p);
}

SharedMemory::~SharedMemory() {
  if (data_) munmap(data_, bytes_);
  if (fd_ >= 0) close(fd_);
}

std::string SharedMemory::contents() const { return read_descriptor(fd_); }

void SharedMemory::write(const std::string& text) {
  if (ftruncate(fd_, 0) != 0) throw std::runtime_error("cannot write shared memory");
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = pwrite(fd_, text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (n <= 0) throw std::runtime_error("cannot write shared memory");
    at += static_cast<size_t>(n);
  }
}

std::string worker_program() {
  if (const char* w = std::getenv("NAUTILUS_WORKER"); w && *w) return w;
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : "/proc/self/exe";
}

std::string read_descriptor(int fd) {
  struct stat s {};
  if (fstat(fd, &s) != 0) return "";
  std::string out(static_cast<size_t>(s.st_size), '\0');
  size_t at = 0;
  while (at < out.size()) {
    const ssize_t n = pread(fd, out.data() + at, out.size() - at, static_cast<off_t>(at));
    if (n <= 0) break;
    at += static_cast<size_t>(n);
  }
  out.resize(at);
  return out;
}

void write_descriptor(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    at += static_cast<size_t>(n);
  }
}

void crash_by_signal() {
  for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) signal(s, SIG_DFL);
}

std::string signal_text(int s) {
  const char* name = sigabbrev_np(s);
  return name ? "SIG" + std::string(name) : "signal " + std::to_string(s);
}

void kill_children() {
  for (auto& place : running)
    if (const pid_t group = place.load(); group > 0) kill(-group, SIGKILL);
}

Expected<ChildEnd> run_child(const std::string& program, const std::vector<std::string>& arguments,
                             const std::vector<int>& descriptors, const ChildLimits& limits) try {
  ChildEnd end;
  if (limits.stop && limits.stop->load()) {
    end.stopped = true;
    return end;
  }
  SharedMemory log, refused(sizeof(int));
  std::vector<int> fds = descriptors;
  std::vector<char*> argv{const_cast<char*>(program.c_str())}, env;
  for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  for (char** e = environ; *e; ++e) env.push_back(*e);
  std::string marker = "NAUTILUS_IN_WORKER=1";
  if (limits.worker) env.push_back(marker.data());
  env.push_back(nullptr);
  int* const why = reinterpret_cast<int*>(refused.data());
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0)
    become(program.c_str(), argv.data(), env.data(), fds.data(), static_cast<int>(fds.size()),
           log.fd(), null, parent, limits.memory_bytes, why);
  const int not_forked = errno;
  if (null >= 0) close(null);
  if (pid < 0) return not_started(program, strerror(not_forked));
  setpgid(pid, pid);
  {
    const Running noted(pid);
    const Waited how = wait_for(pid, limits);
    // The group may have members left even when its leader is gone. The leader is not reaped yet,
    // so that its number is nobody else's.
    kill(-pid, SIGKILL);
    end.timed_out = how == Waited::TimedOut;
    end.stopped = how == Waited::Stopped;
    if (how != Waited::Gone) kill(pid, SIGKILL);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (*why != 0) return not_started(program, strerror(*why));
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.status = WEXITSTATUS(status);
  end.log = log.contents();
  if (end.log.size() > limits.log_bytes) end.log.erase(0, end.log.size() - limits.log_bytes);
  return end;
} catch (const std::runtime_error& e) {  // of SharedMemory
  return not_started(program, e.what());
}

}  // namespace nautilus::runtime
