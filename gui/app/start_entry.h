// A line of the start page: a name, and what it is in a lighter colour, beside it or below.
#pragma once

#include <QAbstractButton>

namespace nautilus::gui {

class StartEntry : public QAbstractButton {
 public:
  // `column`: where `about` begins; 0: on a line of its own below the name.
  StartEntry(const QString& name, const QString& about, int column, QWidget* parent);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent*) override;
  void keyPressEvent(QKeyEvent* e) override;

 private:
  int line() const;
  const QString about_;
  const int column_;
};

}  // namespace nautilus::gui
