#include "gui/app/main_window.h"

#include <QDockWidget>
#include <QMessageBox>

#include "gui/app/views.h"

namespace nautilus::gui {

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent) {
  setWindowTitle(tr("Nautilus Explorer"));
  resize(1600, 1000);
  setDockNestingEnabled(true);
  connect(&document_, &Document::reset, this, [this] {
    selection_.clear();
    bench_.set_work(document_.session());
  });
  views_ = make_views({document_, selection_, filters_, bench_, theme_}, this);
  QDockWidget* last = nullptr;
  for (View* v : views_) {
    auto* dock = new QDockWidget(v->title(), this);
    dock->setObjectName(v->name());
    dock->setWidget(v);
    addDockWidget(Qt::RightDockWidgetArea, dock);
    if (last) tabifyDockWidget(last, dock);
    last = dock;
  }
}

MainWindow::~MainWindow() = default;

View* MainWindow::view(const QString& name) const {
  for (View* v : views_)
    if (v->name() == name) return v;
  return nullptr;
}

bool MainWindow::open(const QString& path) {
  auto session = sched::load_session(path.toStdString());
  if (!session) {
    QMessageBox::warning(this, tr("Cannot open"), QString::fromStdString(session.error().text()));
    return false;
  }
  document_.set_session(*std::move(session), path);
  return true;
}

}  // namespace nautilus::gui
