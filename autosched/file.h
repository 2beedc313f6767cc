// Reading whole files, and writing them so that a reader sees the old content or the new, never a
// part.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "polyhedral/expected.h"

namespace nautilus::sched {
// Bytes of a file that is read whole.
inline constexpr size_t kMostBytes = size_t{1} << 30;
// A file that says that it has more than `most` bytes is refused unread; a pipe or a device when it
// has given more. What cannot be opened or read to its end is refused with the system's reason.
Expected<std::string> read_file(const std::string& path, size_t most = kMostBytes);
// Why what is there is no file with something in it to read, in words: "it is a directory", "it is
// a pipe, ...", "there is no such file"; "": it is one. Opens nothing, so waits for nobody.
std::string why_no_file(const std::string& path);

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
