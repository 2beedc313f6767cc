// A child process in its own group, with limits, that can neither outlive its parent nor leave
// files behind.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "polyhedral/expected.h"

namespace nautilus::runtime {

// Anonymous memory with a file descriptor; gone when the last process that holds it is.
class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes = 0);  // throws std::runtime_error if the system refuses
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  int fd() const { return fd_; }
  char* data() const { return data_; }  // bytes as given; nullptr if 0
  std::string contents() const;         // as long as the file is now
  void write(const std::string& text);  // replaces the contents

 private:
  int fd_ = -1;
  char* data_ = nullptr;
  size_t bytes_ = 0;
};

struct ChildLimits {
  double seconds = 60;                      // infinity: none
  uint64_t memory_bytes = 0;                // address space; 0: none
  const std::atomic<bool>* stop = nullptr;  // once set, the child is ended (within 50 ms)
  size_t log_bytes = 4000;                  // of the end of what it printed that are kept
  bool worker = true;                       // it starts no workers itself (NAUTILUS_IN_WORKER)
};
inline constexpr size_t kWholeLog = SIZE_MAX;
struct ChildEnd {
  bool timed_out = false, stopped = false;
  int signal = 0;   // that killed it, 0 if none
  int status = 0;   // exit status if it exited
  std::string log;  // what it printed to stdout and stderr
};
// Runs `program` (a path; no search on PATH) with `arguments` (after argv[0]); descriptors become
// 3, 4, ... in the child, and it has no others of this process. Returns when the child is gone; its
// whole process group is killed with it. A program that cannot be started is a refusal with the
// system's reason.
Expected<ChildEnd> run_child(const std::string& program, const std::vector<std::string>& arguments,
                             const std::vector<int>& descriptors, const ChildLimits& limits);
// Kills the process groups of all children that run now. For a signal handler that ends this
// program: what children started would outlive it.
void kill_children();
// In a worker: a crash ends it by its signal, whatever handlers a sanitizer or library put there.
void crash_by_signal();
std::string signal_text(int signal);  // "SIGSEGV"

// The program that workers run: $NAUTILUS_WORKER, else this one.
std::string worker_program();
// What is in a file, from its start, and text added to one: how workers get jobs and report.
std::string read_descriptor(int fd);
void write_descriptor(int fd, const std::string& text);

}  // namespace nautilus::runtime
