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

}  // namespace nautilus::sched
