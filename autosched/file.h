// Reading whole files, and writing them so that a reader sees the old content or the new, never a
// part.
#pragma once

#include <optional>
#include <string>

#include "polyhedral/expected.h"

namespace nautilus::sched {

Expected<std::string> read_file(const std::string& path);
// Temporary file in the same directory, fsync, rename, fsync of the directory.
std::optional<Refusal> write_file_atomically(const std::string& path, const std::string& content);

// Before work whose result goes there: can a file of this path be written, can a directory be
// written to (or be made)? Finds out by doing so; leaves nothing behind.
std::optional<Refusal> check_file(const std::string& path);
std::optional<Refusal> check_directory(const std::string& path);

}  // namespace nautilus::sched
