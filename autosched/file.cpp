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

constexpr size_t kWritten = size_t{1} << 20;  // bytes at a time

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

int open_to_read(const std::string& path) {
  for (;;)
    if (const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
        fd >= 0 || errno != EINTR)
      return fd;
}

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
  // As the file that is replaced: whose it is, as far as we may give it away, and who may use it. A
  // group that cannot be kept is not replaced by ours: that may do what all may.
  void be_like(const struct stat& old) {
    mode_t mode = old.st_mode & 07777;
    if (::fchown(fd_, old.st_uid, old.st_gid) != 0 && ::fchown(fd_, uid_t(-1), old.st_gid) != 0)
      mode &= ~mode_t(S_ISGID | S_IRWXG) | (mode & S_IRWXO) << 3;
    struct stat now {};
    if (::fstat(fd_, &now) == 0 && now.st_uid != old.st_uid) mode &= ~mode_t(S_ISUID);
    if (::fchmod(fd_, mode) != 0) errno = 0;  // of another file system
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

// What a link leads to is replaced, or made, not the link.
std::string target_of(const std::string& path) {
  std::error_code ec;
  if (const auto real = std::filesystem::canonical(path, ec); !ec) return real.string();
  const auto to = std::filesystem::read_symlink(path, ec);
  return ec ? path : (std::filesystem::path(path).parent_path() / to).string();
}

// Rounded up, so that what is more than a limit also reads so.
std::string megabytes(uintmax_t bytes) {
  constexpr uintmax_t kMegabyte = uintmax_t{1} << 20;
  return std::to_string(bytes / kMegabyte + (bytes % kMegabyte != 0)) + " MB";
}

}  // namespace

std::string why_no_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return errno == ENOENT || errno == ENOTDIR
               ? "there is no such file"
               : std::string("cannot see it: ") + std::strerror(errno);
  const mode_t mode = status.st_mode;
  if (S_ISREG(mode)) return "";
  if (S_ISDIR(mode)) return "it is a directory";
  return S_ISFIFO(mode)   ? "it is a pipe, not a file"
         : S_ISSOCK(mode) ? "it is a socket, not a file"
                          : "it is a device, not a file";
}

Expected<std::string> read_file(const std::string& path, size_t most) {
  const auto refused = [&](const std::string& why, const std::string& suggest = "") {
    return Refusal{"read a file", path, why, suggest};
  };
  const Descriptor file(open_to_read(path));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0)
    return refused(std::string("cannot open it: ") + std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return refused("it is a directory", "name a file");
  if (S_ISREG(status.st_mode) && static_cast<uintmax_t>(status.st_size) > most)
    return refused("it has " + megabytes(static_cast<uintmax_t>(status.st_size)) +
                       ", more than the " + megabytes(most) + " that are read",
                   "a smaller file");
  std::string text;
  std::vector<char> part(1 << 20);
  for (;;) {
    const ssize_t n = ::read(file.get(), part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return refused("cannot read it after " + std::to_string(text.size()) +
                     " bytes: " + std::strerror(errno));
    if (n == 0) break;
    text.append(part.data(), size_t(n));
    if (text.size() > most)  // a device, perhaps: it may never end
      return refused("it has more than " + megabytes(most), "a smaller file");
  }
  if (S_ISREG(status.st_mode) && text.size() < size_t(status.st_size))
    return refused("it ends after " + std::to_string(text.size()) + " of " +
                       std::to_string(status.st_size) + " bytes",
                   "see whether another program writes it, then read it again");
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
  const auto kept = [&] {
    return Refusal{"write a file", path, "it was changed meanwhile, and is left as it is",
                   "write to another file"};
  };
  if (how.keep_old && how.keep_old()) return kept();
  static std::atomic<int> count{0};  // two threads may write the same file
  const std::string to = target_of(path);
  struct stat old {};
  const bool replaced = !how.for_owner_alone && ::stat(to.c_str(), &old) == 0;
  // What is replaced may be private: until the new file is as it was, nobody else opens that.
  TempFile temp(to + ".tmp" + std::to_string(::getpid()) + "-" + std::to_string(++count),
                how.for_owner_alone || replaced);
  if (!temp.open()) return failed("cannot create a temporary file beside it");
  if (replaced) temp.be_like(old);
  if (!temp.write(content, how.cancelled)) return failed("cannot write");
  if (how.cancelled && how.cancelled->load()) return errno = ECANCELED, failed("cannot write");
  if (how.keep_old && how.keep_old()) return kept();
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
