#include "gui/app/recovery.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QRandomGenerator>
#include <QStandardPaths>

namespace nautilus::gui {
namespace {

constexpr const char* kRecovered = "recovered-";
constexpr const char* kEnding = ".nautilus.json";
constexpr const char* kLock = ".lock";
constexpr int kTries = 3;

QDir folder() { return QDir(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation)); }

QString own_name() {
  return QString("%1%2-%3-%4%5")
      .arg(kRecovered)
      .arg(QCoreApplication::applicationPid())
      .arg(QDateTime::currentMSecsSinceEpoch(), 0, 16)
      .arg(QRandomGenerator::system()->generate64(), 16, 16, QLatin1Char('0'))
      .arg(kEnding);
}

// The lock of a copy as an open file; -1: somebody has it, or it cannot be had.
int lock_of(const QString& file, int flags) {
  const QByteArray name = QFile::encodeName(file + kLock);
  const int fd = ::open(name.constData(), O_RDWR | O_CLOEXEC | flags, S_IRUSR | S_IWUSR);
  if (fd < 0) return -1;
  struct stat now {};  // whoever clears leftovers may have removed it meanwhile
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd, &now) == 0 && now.st_nlink > 0) return fd;
  ::close(fd);
  return -1;
}

// A copy is written only under its lock: one without was left before there were locks.
bool owner_lives(const QString& file) {
  if (!QFile::exists(file + kLock)) return false;
  const int fd = lock_of(file, 0);
  if (fd >= 0) ::close(fd);
  return fd < 0;
}

void release(int& lock) {
  if (lock >= 0) ::close(lock);
  lock = -1;
}

}  // namespace

RecoveryCopy::RecoveryCopy() { own_.file = folder().filePath(own_name()); }

RecoveryCopy::~RecoveryCopy() {
  release(own_.lock);
  release(taken_.lock);
}

bool RecoveryCopy::claim() {
  if (own_.lock >= 0) return true;
  if (!folder().mkpath(".")) return false;
  for (int k = 0; k < kTries && own_.lock < 0; ++k) own_.lock = lock_of(own_.file, O_CREAT);
  return own_.lock >= 0;
}

void RecoveryCopy::take_over(const QString& file) {
  release(taken_.lock);
  taken_ = {file, lock_of(file, O_CREAT)};
}

// The lock last: whoever sees a copy without one takes its owner for dead.
void RecoveryCopy::remove(Held& held) {
  if (held.lock < 0) return;
  QFile::remove(held.file);
  QFile::remove(held.file + kLock);
  release(held.lock);
}

// Nobody else writes a file of this name: it goes also where the lock went before a write that was
// under way ended.
void RecoveryCopy::remove_own() {
  QFile::remove(own_.file);
  remove(own_);
}

void RecoveryCopy::remove_all() {
  remove_own();
  remove(taken_);
  taken_ = {};
}

bool RecoveryCopy::is_one(const QString& file) {
  return QFileInfo(file).fileName().startsWith(kRecovered) &&
         QFileInfo(file).absolutePath() == folder().absolutePath();
}

QStringList RecoveryCopy::left_behind() {
  const QDir dir = folder();
  const auto names = [&](const QString& ending) {
    return dir.entryList({kRecovered + ("*" + ending)}, QDir::Files, QDir::Time);
  };
  for (const QString& f : names(QString(kEnding) + ".tmp*")) {
    const QString of = f.left(f.lastIndexOf(".tmp"));
    if (!owner_lives(dir.filePath(of))) QFile::remove(dir.filePath(f));
  }
  for (const QString& f : names(QString(kEnding) + kLock)) {
    const QString of = dir.filePath(f.chopped(static_cast<int>(qstrlen(kLock))));
    if (QFile::exists(of)) continue;
    int fd = lock_of(of, 0);
    if (fd >= 0) QFile::remove(of + kLock);
    release(fd);
  }
  QStringList out;
  for (const QString& f : names(kEnding))
    if (!owner_lives(dir.filePath(f))) out << dir.filePath(f);
  return out;
}

}  // namespace nautilus::gui
