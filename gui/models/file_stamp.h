// Whether a file is still the one that was read or written: by what the file system says of it.
#pragma once

#include <sys/stat.h>

#include <QFile>

namespace nautilus::gui {

struct FileStamp {
  bool there = false;
  ino_t number = 0;
  off_t bytes = 0;
  time_t seconds = 0;
  long nanoseconds = 0;
  bool operator==(const FileStamp&) const = default;

  static FileStamp of(const QString& file) {
    struct stat s {};
    if (::stat(QFile::encodeName(file).constData(), &s) != 0) return {};
    return {true, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
  }
};

}  // namespace nautilus::gui
