// Where the program begins: recent files, the corpus by family, lessons. One click opens.
#pragma once

#include <QScrollArea>
#include <QStringList>

class QPushButton;

namespace nautilus::gui {

struct LessonEntry {
  QString name, title, about;
};
// The lessons in corpus/lessons, in the order of their numbers or names.
QList<LessonEntry> lesson_entries();

class StartPage : public QScrollArea {
  Q_OBJECT
 public:
  explicit StartPage(QWidget* parent);
  void set_recent(const QStringList& files, const QStringList& recovered);

 Q_SIGNALS:
  void open_requested(const QString& file);
  void kernel_requested(const QString& name);
  void explore_requested(const QString& name);  // opened, and searched at once
  void lesson_requested(const QString& name);
  void browse_requested();

 private:
  QWidget* recent_;
  QPushButton* begin_;
};

}  // namespace nautilus::gui
