#include "gui/models/replacing.h"

#include <fcntl.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <cerrno>
#include <cstring>

namespace nautilus::gui {
namespace {

void sync_folder_of(const QString& file) {
  const int fd = ::open(QFile::encodeName(QFileInfo(file).absolutePath()).constData(),
                        O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

Replaced replace_unless(const std::function<bool()>& changed, const QString& file,
                        const sched::Session& session, const sched::WriteOptions& how) {
  const QFileInfo there(file);
  if (changed()) return {std::nullopt, true};  // before the work
  if (there.exists() && !there.isFile())
    return {sched::save_session(session, file.toStdString(), how), false};
  // What a link leads to is replaced, or made.
  const QString real = there.exists()      ? there.canonicalFilePath()
                       : there.isSymLink() ? there.symLinkTarget()
                                           : there.absoluteFilePath();
  const QString beside = QString("%1.tmp%2-next").arg(real).arg(QCoreApplication::applicationPid());
  if (auto bad = sched::save_session(session, beside.toStdString(), how)) {
    bad->where = file.toStdString();
    return {bad, false};
  }
  const QByteArray from = QFile::encodeName(beside), to = QFile::encodeName(real);
  if (!how.for_owner_alone && there.exists())
    QFile::setPermissions(beside, QFile::permissions(real));
  Replaced out;
  const bool given_up = how.cancelled && how.cancelled->load();
  if (given_up)
    out.bad = Refusal{"save", file.toStdString(), std::strerror(ECANCELED), ""};
  else if (changed())
    out.changed_by_another = true;
  else if (::rename(from.constData(), to.constData()) != 0)
    out.bad = Refusal{"save", file.toStdString(),
                      std::string("cannot rename into place: ") + std::strerror(errno),
                      "check the directory and free space"};
  if (out.bad || out.changed_by_another)
    QFile::remove(beside);
  else
    sync_folder_of(real);
  return out;
}

}  // namespace nautilus::gui
