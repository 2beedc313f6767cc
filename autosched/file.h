// Reading whole files, and writing them so that a reader sees the old content or the new, never a
// part.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "polyhedral/expected.h"

namespace nautilus::sched {
// At most 1 GB. What cannot be opened or read to its end is refused with the system's reason.
Expected<std::string> read_file(const std::string& path);

struct WriteOptions {
  bool for_owner_alone = false;  // to read, too; also while it is written
  const std::atomic<bool>* cancelled =
      nullptr;  // once set, a file that is not yet whole is dropped
  // Asked before the work and once more when the new file is ready to take its place: true leaves
  // what is there as it is, and is a refusal.
  std::function<bool()> keep_old = {};
};
// Temporary file beside it, fsync, rename. A file keeps its mode and group (and owner, if we may).
std::optional<Refusal> write_file_atomically(const std::string& path, const std::string& content,
                                             const WriteOptions& how = {});

// Before work whose result goes there: can a file of this path be written, can a directory be
// written to (or be made)? Finds out by doing so; leaves nothing behind.
std::optional<Refusal> check_file(const std::string& path);
std::optional<Refusal> check_directory(const std::string& path);

}  // namespace nautilus::sched
