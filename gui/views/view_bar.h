// The controls of a view in one row. What has no room is behind a button at its end, whole, rather
// than cut: views may be much narrower than their controls.
#pragma once

#include <QToolButton>
#include <QWidget>
#include <vector>

namespace nautilus::gui {

class ViewBar : public QWidget {
  Q_OBJECT
 public:
  explicit ViewBar(QWidget* parent);
  ~ViewBar() override;
  // From left to right; the first ones are the last to go.
  void add(QWidget* w);
  void add(const QString& label, QWidget* w);  // which stay together
  void add_stretching(QWidget* w);             // one, that takes what the others leave
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void resizeEvent(QResizeEvent* e) override;
  bool event(QEvent* e) override;

 private:
  void arrange();
  int width_of(const QWidget* w) const;
  void open();
  void take_back();
  std::vector<QWidget*> items_;
  std::vector<QWidget*> behind_;  // those that have no room
  QWidget* stretching_ = nullptr;
  QToolButton* more_;
  QWidget* popup_ = nullptr;  // while it is open
};

}  // namespace nautilus::gui
