// One line to type into, and what fits it: commands, candidates, statements, views. Ctrl+P and
// Ctrl+F.
#pragma once

#include <QDialog>
#include <functional>

class QLineEdit;
class QListWidget;

namespace nautilus::gui {

struct PaletteEntry {
  QString text, detail;  // detail: to the right: keys, a time
  std::function<void()> run;
};

class Palette : public QDialog {
  Q_OBJECT
 public:
  // `find`: the entries for a text, best first, at most as many as asked for.
  using Find = std::function<QList<PaletteEntry>(const QString& text, int most)>;
  Palette(const QString& title, const QString& hint, Find find, QWidget* parent);
  QLineEdit* line() const { return line_; }
  QListWidget* list() const { return list_; }

 protected:
  bool eventFilter(QObject* o, QEvent* e) override;

 private:
  void update_list();
  void choose();
  Find find_;
  QLineEdit* line_;
  QListWidget* list_;
  QList<PaletteEntry> shown_;
};

// How well `text` has the words of `pattern`, in any order; 0: not.
int match_quality(const QString& text, const QString& pattern);

}  // namespace nautilus::gui
