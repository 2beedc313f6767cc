// The window: views in docks around one shared state.
#pragma once

#include <QMainWindow>

#include "gui/views/view.h"

namespace nautilus::gui {

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(QWidget* parent = nullptr);
  ~MainWindow() override;

  Document& document() { return document_; }
  Selection& selection() { return selection_; }
  FilterStack& filters() { return filters_; }
  Bench& bench() { return bench_; }
  Theme& theme() { return theme_; }
  const QList<View*>& views() const { return views_; }
  View* view(const QString& name) const;  // nullptr: no such view

  // A session file. False: it cannot be read, and why was shown.
  bool open(const QString& path);

 private:
  Document document_;
  Selection selection_;
  FilterStack filters_{document_};
  Bench bench_;
  Theme theme_;
  QList<View*> views_;
};

}  // namespace nautilus::gui
