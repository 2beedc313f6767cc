// Files that are read whole and replaced whole.
#include "autosched/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <grp.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>

namespace nautilus::sched {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "nautilus-files-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
  fs::path path;
};

struct stat status_of(const std::string& file) {
  struct stat s {};
  EXPECT_EQ(::stat(file.c_str(), &s), 0) << file;
  return s;
}

// A group that we may give files, not the one that new files get; nothing if we have just one.
std::optional<gid_t> other_group() {
  if (::geteuid() == 0) return 12345;
  std::array<gid_t, 64> groups{};
  const int n = ::getgroups(int(groups.size()), groups.data());
  for (int k = 0; k < n; ++k)
    if (groups[size_t(k)] != ::getegid()) return groups[size_t(k)];
  return std::nullopt;
}

TEST(Files, KeepModeAndGroupWhenTheyAreReplaced) {
  const auto group = other_group();
  if (!group) GTEST_SKIP() << "this user has one group";
  const Folder folder;
  const std::string file = folder.file("session.json");
  for (const mode_t mode : {0660, 0640, 0600, 02664}) {
    ASSERT_FALSE(write_file_atomically(file, "old"));
    ASSERT_EQ(::chown(file.c_str(), uid_t(-1), *group), 0);
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
    const struct stat before = status_of(file);
    ASSERT_FALSE(write_file_atomically(file, "new"));
    const struct stat after = status_of(file);
    EXPECT_NE(before.st_ino, after.st_ino);
    EXPECT_EQ(after.st_gid, *group);
    EXPECT_EQ(after.st_mode, before.st_mode);
    EXPECT_EQ(after.st_uid, before.st_uid);
    EXPECT_EQ(*read_file(file), "new");
  }
}

TEST(Files, KeepTheirOwnerWhereWeMayGiveThemAway) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may";
  const Folder folder;
  const std::string file = folder.file("session.json");
  ASSERT_FALSE(write_file_atomically(file, "old"));
  ASSERT_EQ(::chown(file.c_str(), 12345, 12346), 0);
  ASSERT_FALSE(write_file_atomically(file, "new"));
  EXPECT_EQ(status_of(file).st_uid, 12345u);
  EXPECT_EQ(status_of(file).st_gid, 12346u);
}

// The user's own group must not get what another group was given.
TEST(Files, AGroupThatCannotBeKeptGivesOursNothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a user with a file of a group that is not theirs";
  const Folder folder;
  const std::string file = folder.file("session.json");
  ASSERT_FALSE(write_file_atomically(file, "old"));
  ASSERT_EQ(::chown(file.c_str(), 12345, 12346), 0);
  ASSERT_EQ(::chmod(file.c_str(), 0664), 0);
  ASSERT_EQ(::chown(folder.path.c_str(), 12345, 12345), 0);
  EXPECT_EXIT(
      {
        if (::setgroups(0, nullptr) != 0 || ::setgid(12345) != 0 || ::setuid(12345) != 0)
          ::_exit(2);
        ::_exit(write_file_atomically(file, "new") ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(*read_file(file), "new");
  EXPECT_EQ(status_of(file).st_gid, 12345u);
  EXPECT_EQ(status_of(file).st_mode & 07777, 0644u);
}

TEST(Files, WhatCannotBeReadIsToldWithTheReason) {
  const Folder folder;
  const auto why = [](const std::string& file) {
    const auto text = read_file(file);
    EXPECT_FALSE(text) << file;
    return text ? "" : text.error().why;
  };
  EXPECT_EQ(why(folder.path.string()), "it is a directory");
  EXPECT_EQ(why(folder.file("none")), "cannot open it: No such file or directory");
  // No page is mapped at its beginning.
  EXPECT_EQ(why("/proc/self/mem"), "cannot read it after 0 bytes: Input/output error");
}

// Refused by their size, unread: 3 GB would take seconds to come.
TEST(Files, ThatAreTooLargeAreRefusedUnread) {
  const Folder folder;
  const std::string file = folder.file("large");
  ASSERT_FALSE(write_file_atomically(file, "x"));
  fs::resize_file(file, uintmax_t{3} << 30);
  const auto start = std::chrono::steady_clock::now();
  const auto text = read_file(file);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().why, "it has 3072 MB, more than the 1024 MB that are read");
  EXPECT_EQ(read_file("/dev/zero", 1 << 20).error().why, "it has more than 1 MB");
  ASSERT_FALSE(write_file_atomically(file, "four"));
  EXPECT_EQ(*read_file(file, 4), "four");
  EXPECT_FALSE(read_file(file, 3));
}

TEST(Files, WhatIsNoneIsToldByName) {
  const Folder folder;
  const std::string pipe = folder.file("pipe"), file = folder.file("file");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_FALSE(write_file_atomically(file, "x"));
  fs::create_symlink(file, folder.file("link"));
  fs::create_symlink(folder.file("none"), folder.file("dangling"));
  EXPECT_EQ(why_no_file(file), "");
  EXPECT_EQ(why_no_file(folder.file("link")), "");
  EXPECT_EQ(why_no_file(folder.path.string()), "it is a directory");
  EXPECT_EQ(why_no_file(pipe), "it is a pipe, not a file");
  EXPECT_EQ(why_no_file("/dev/null"), "it is a device, not a file");
  for (const std::string& absent : {folder.file("none"), folder.file("dangling"), file + "/x"})
    EXPECT_EQ(why_no_file(absent), "there is no such file") << absent;
  EXPECT_NE(why_no_file(std::string(5000, 'x')).find("cannot see it: "), std::string::npos);
}

TEST(Files, ThatEndTooEarlyAreNoWholeFiles) {
  // It says that it has a page, and has a line.
  const std::string file = "/sys/kernel/mm/transparent_hugepage/enabled";
  struct stat s {};
  if (::stat(file.c_str(), &s) != 0 || s.st_size < 1000) GTEST_SKIP() << "no such file here";
  const auto text = read_file(file);
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().why.find(" of " + std::to_string(s.st_size) + " bytes"), std::string::npos)
      << text.error().text();
}

TEST(Files, ThatSayNoSizeAreRead) {
  const auto text = read_file("/proc/self/status");
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_NE(text->find("Pid:"), std::string::npos);
}

// Whoever writes the file, or makes it, while the new one is being written is noticed.
TEST(Files, ChangedMeanwhileAreLeftAsTheyAre) {
  for (const bool exists : {true, false})
    for (const int late : {1, 2}) {
      SCOPED_TRACE(std::to_string(exists) + " " + std::to_string(late));
      const Folder folder;
      const std::string file = folder.file("session.json");
      const auto files = [&] {
        return std::distance(fs::directory_iterator(folder.path), fs::directory_iterator());
      };
      if (exists) {
        ASSERT_FALSE(write_file_atomically(file, "old"));
      }
      int asked = 0;
      WriteOptions how;
      how.keep_old = [&] {
        if (++asked < late) return false;
        EXPECT_EQ(files(), (exists ? 1 : 0) + (late == 2 ? 1 : 0)) << "the new one, beside";
        EXPECT_FALSE(write_file_atomically(file, "of another"));
        return true;
      };
      const auto bad = write_file_atomically(file, "new", how);
      ASSERT_TRUE(bad);
      EXPECT_NE(bad->why.find("changed meanwhile"), std::string::npos) << bad->text();
      EXPECT_EQ(asked, late);
      EXPECT_EQ(*read_file(file), "of another");
      EXPECT_EQ(files(), 1);
    }
  const Folder folder;
  WriteOptions how;
  how.keep_old = [] { return false; };
  EXPECT_FALSE(write_file_atomically(folder.file("a"), "new", how));
  EXPECT_EQ(*read_file(folder.file("a")), "new");
}

TEST(Files, WhatALinkLeadsToIsReplacedOrMade) {
  const Folder folder;
  fs::create_directory(folder.path / "there");
  for (const fs::path& to : {folder.path / "there" / "a", fs::path("there") / "b"}) {
    const std::string link = folder.file(("link-" + to.filename().string()).c_str());
    fs::create_symlink(to, link);
    for (const char* text : {"made", "replaced"}) {
      ASSERT_FALSE(write_file_atomically(link, text));
      EXPECT_TRUE(fs::is_symlink(link));
      EXPECT_EQ(*read_file((folder.path / "there" / to.filename()).string()), text);
    }
  }
}

}  // namespace
}  // namespace nautilus::sched
