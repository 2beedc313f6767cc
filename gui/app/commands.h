// What the program can do, each by a name that stays: menus, the palette, the key sheet and lessons
// read it.
#pragma once

#include <QAction>
#include <QList>
#include <QObject>
#include <functional>

namespace nautilus::gui {

class Commands : public QObject {
  Q_OBJECT
 public:
  struct Command {
    QString id, group;  // "search.explore", "Search"
    QAction* action;
  };
  explicit Commands(QWidget* window);
  // `keys`: "F5", or several with a comma between; "" for none. `tip` says what it does, in a sentence.
  QAction* add(const QString& id, const QString& group, const QString& text, const QString& keys,
               const QString& tip, std::function<void()> run);
  // One that exists, of a view.
  void adopt(const QString& id, const QString& group, QAction* action);
  const QList<Command>& all() const { return all_; }
  QAction* action(const QString& id) const;  // nullptr: there is none
  bool run(const QString& id) const;         // false: there is none, or it is disabled now

 private:
  QWidget* window_;
  QList<Command> all_;
};

}  // namespace nautilus::gui
