// Which kernel, at which sizes, on which machine.
#pragma once

#include <QDialog>
#include <QMap>

#include "gui/models/opening.h"

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;

namespace nautilus::gui {

class SpecDialog : public QDialog {
  Q_OBJECT
 public:
  // `now`: what is open: its kernel, sizes and machine are shown first.
  SpecDialog(std::vector<KernelInfo> kernels, const SpecRequest& now, QWidget* parent);
  SpecRequest request() const;
  QLineEdit* size_line(const QString& name) const { return sizes_.value(name); }
  QComboBox* machine_box() const { return machine_; }

 private:
  void show_sizes();
  void check();
  const KernelInfo& kernel() const;
  const std::vector<KernelInfo> kernels_;
  const SpecRequest now_;
  QComboBox *kernel_, *machine_, *model_, *phase_;
  QSpinBox *batch_, *sequence_;
  QFormLayout* size_form_;
  QWidget* size_box_;
  QMap<QString, QLineEdit*> sizes_;
  QLabel* problem_;
  QPushButton* ok_;
};

}  // namespace nautilus::gui
