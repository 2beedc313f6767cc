// The copy that a crash leaves behind. Its name is of one start of the program alone; a lock beside
// it, which the system drops when the program ends however it ends, says whether the owner lives.
#pragma once

#include <QString>
#include <QStringList>

namespace nautilus::gui {

class RecoveryCopy {
 public:
  RecoveryCopy();
  ~RecoveryCopy();  // leaves the files: what is to go is removed before
  RecoveryCopy(const RecoveryCopy&) = delete;
  RecoveryCopy& operator=(const RecoveryCopy&) = delete;

  const QString& file() const { return own_.file; }
  bool claim();  // the folder and the lock, before the first write; false: neither can be had
  // Takes over what a dead program left, so that nobody else does. What another instance took is
  // not removed by this one.
  void take_over(const QString& file);
  void remove_own();
  void remove_all();  // its own, and what it took over

  static bool is_one(const QString& file);
  // Copies of programs that are gone, newest first. Removes what they left of unfinished writes.
  static QStringList left_behind();

 private:
  struct Held {
    QString file;
    int lock = -1;  // an open file
  };
  static void remove(Held& held);
  Held own_, taken_;
};

}  // namespace nautilus::gui
