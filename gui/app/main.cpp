#include <QApplication>

#include "gui/app/main_window.h"

int main(int argc, char** argv) {
  QApplication app(argc, argv);
  QApplication::setApplicationName("nautilus-explorer");
  QApplication::setOrganizationName("nautilus");
  nautilus::gui::MainWindow window;
  if (argc > 1) window.open(QString::fromLocal8Bit(argv[1]));
  window.show();
  return QApplication::exec();
}
