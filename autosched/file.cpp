#include "autosched/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace nautilus::sched {
namespace {

constexpr size_t kMostBytes = size_t{1} << 30;  // of a file that is read whole
constexpr size_t kWritten = size_t{1} << 20;    // bytes at a time

// Closes (and, unless kept, removes) a temporary file.
class TempFile {
 public:
  explicit TempFile(std::string path, bool for_owner_alone = false) : path_(std::move(path)) {
    ::unlink(path_.c_str());  // of a process with our number that crashed
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                 for_owner_alone ? 0600 : 0644);
  }
  ~TempFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!kept_ && fd_ >= 0) ::unlink(path_.c_str());
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  bool open() const { return fd_ >= 0; }
  bool write(const std::string& s, const std::atomic<bool>* cancelled) {
    for (size_t done = 0; done < s.size();) {
      if (cancelled && cancelled->load()) return errno = ECANCELED, false;
      ssize_t n = ::write(fd_, s.data() + done, std::min(kWritten, s.size() - done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      done += static_cast<size_t>(n);
    }
    return ::fsync(fd_) == 0;
  }
  void set_mode(std::filesystem::perms p) {
    if (::fchmod(fd_, static_cast<mode_t>(p) & 07777) != 0) errno = 0;  // of another file system
  }
  bool rename_to(const std::string& to) { return kept_ = ::rename(path_.c_str(), to.c_str()) == 0; }

 private:
  std::string path_;
  int fd_ = -1;
  bool kept_ = false;
};

void sync_directory(const std::filesystem::path& dir) {
  int fd = ::open(dir.empty() ? "." : dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

Expected<std::string> read_file(const std::string& path) {
  std::error_code ec;
  const std::filesystem::file_status status = std::filesystem::status(path, ec);
  if (std::filesystem::is_directory(status))
    return Refusal{"read a file", path, "it is a directory", "name a file"};
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return Refusal{"read a file", path, std::string("cannot open it: ") + std::strerror(errno), ""};
  std::string text;
  std::vector<char> part(1 << 20);
  while (in.read(part.data(), std::streamsize(part.size())), in.gcount() > 0) {
    text.append(part.data(), size_t(in.gcount()));
    if (text.size() > kMostBytes)  // a device, perhaps: it may never end
      return Refusal{"read a file", path,
                     "it has more than " + std::to_string(kMostBytes >> 20) + " MB",
                     "a smaller file"};
  }
  return text;
}

std::optional<Refusal> write_file_atomically(const std::string& path, const std::string& content,
                                             const WriteOptions& how) {
  auto failed = [&](const char* what) {
    return Refusal{"write a file", path, std::string(what) + ": " + std::strerror(errno),
                   "check the directory and free space"};
  };
  std::error_code ec;
  const std::filesystem::file_status status = std::filesystem::status(path, ec);
  if (std::filesystem::is_directory(status))
    return Refusal{"write a file", path, "it is a directory", "name a file"};
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    // A device or pipe is written through, never replaced.
    std::ofstream out(path, std::ios::binary);
    out << content << std::flush;
    return out ? std::nullopt : std::optional<Refusal>(failed("cannot write"));
  }
  static std::atomic<int> count{0};  // two threads may write the same file
  // What a link leads to is replaced, not the link; a file keeps who may read it.
  const std::filesystem::path real = std::filesystem::canonical(path, ec);
  const std::string to = ec ? path : real.string();
  TempFile temp(to + ".tmp" + std::to_string(::getpid()) + "-" + std::to_string(++count),
                how.for_owner_alone);
  if (!temp.open()) return failed("cannot create a temporary file beside it");
  if (std::filesystem::exists(status) && !how.for_owner_alone) temp.set_mode(status.permissions());
  if (!temp.write(content, how.cancelled)) return failed("cannot write");
  if (how.cancelled && how.cancelled->load()) return errno = ECANCELED, failed("cannot write");
  if (!temp.rename_to(to)) return failed("cannot rename into place");
  sync_directory(std::filesystem::path(to).parent_path());
  return std::nullopt;
}

namespace {

Refusal unwritable(const std::string& path, const std::string& why, const std::string& suggest) {
  return {"write to " + path, "", why, suggest};
}

// A file can be made in a directory that exists.
std::optional<Refusal> check_creation(const std::filesystem::path& dir, const std::string& path) {
  if (TempFile((dir / (".nautilus" + std::to_string(::getpid()))).string()).open())
    return std::nullopt;
  return unwritable(path, "no file can be made in " + dir.string() + ": " + std::strerror(errno),
                    "another place");
}

}  // namespace

std::optional<Refusal> check_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ec;
  if (path.empty()) return unwritable("\"\"", "the name is empty", "name a file");
  const fs::file_status status = fs::status(path, ec);
  if (fs::is_directory(status)) return unwritable(path, "it is a directory", "name a file in it");
  if (fs::exists(status) && ::access(path.c_str(), W_OK) != 0)
    return unwritable(path, std::strerror(errno), "another file");
  if (fs::exists(status) && !fs::is_regular_file(status)) return std::nullopt;  // written through
  fs::path dir = fs::path(path).parent_path();
  if (dir.empty()) dir = ".";
  if (!fs::is_directory(dir, ec))
    return unwritable(path,
                      dir.string() + (fs::exists(dir, ec) ? " is no directory" : " does not exist"),
                      "make the directory first, or name a file elsewhere");
  return check_creation(dir, path);
}

std::optional<Refusal> check_directory(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ec;
  if (path.empty()) return unwritable("\"\"", "the name is empty", "name a directory");
  fs::path there = fs::path(path).lexically_normal();
  // What is not there yet is made later: the nearest that is must be a directory that takes files.
  while (!there.empty() && !fs::exists(there, ec) && there != there.parent_path())
    there = there.parent_path();
  if (there.empty()) there = ".";
  if (!fs::is_directory(there, ec))
    return unwritable(path, there.string() + " is no directory", "name a directory");
  return check_creation(there, path);
}

}  // namespace nautilus::sched
