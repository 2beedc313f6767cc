// What takes a while, in the status bar, with a button that gives it up.
#pragma once

#include <QTimer>
#include <QWidget>
#include <functional>
#include <map>

#include "gui/models/background.h"

class QLabel;
class QToolButton;

namespace nautilus::gui {

class WorkShown : public QWidget {
  Q_OBJECT
 public:
  explicit WorkShown(QWidget* parent);
  // Shown until `end`, or until it is given up: then it is forgotten, and `give_up` leaves all as
  // it was before.
  int begin(const QString& what, std::function<void()> give_up);
  bool end(int work);  // false: it was given up
  bool going_on(int work) const { return works_.contains(work); }
  bool any() const { return !works_.empty(); }
  // There is something that has taken long enough to be worth giving up.
  bool can_give_up() const { return !works_.empty() && !soon_.isActive(); }
  void give_up();  // what was begun last

 Q_SIGNALS:
  void changed();

 private:
  void show_last();
  struct Work {
    QString what;
    std::function<void()> give_up;
  };
  std::map<int, Work> works_;
  int next_ = 0;
  QTimer soon_;  // what ends before costs nobody a look
  QLabel* text_;
  QToolButton* cancel_;
};

// As in_background; given up, `done` never runs, and `given_up` does at once.
template <class T>
int in_background(WorkShown& shown, const QString& what, QObject* owner, std::function<T()> job,
                  std::function<void(T)> done, std::function<void()> given_up) {
  const int work = shown.begin(what, std::move(given_up));
  in_background<T>(owner, std::move(job), [&shown, work, done = std::move(done)](T result) {
    if (shown.end(work)) done(std::move(result));
  });
  return work;
}

}  // namespace nautilus::gui
