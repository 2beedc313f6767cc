#include "gui/app/spec_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QVBoxLayout>

namespace nautilus::gui {

SpecDialog::SpecDialog(std::vector<KernelInfo> kernels, const SpecRequest& now, QWidget* parent)
    : QDialog(parent), kernels_(std::move(kernels)), now_(now) {
  setWindowTitle(tr("Operator, sizes, machine"));
  auto* form = new QFormLayout;
  const auto combo = [&](const QString& label, const QString& tip) {
    auto* c = new QComboBox(this);
    c->setToolTip(tip);
    c->setAccessibleName(label);
    form->addRow(label, c);
    return c;
  };
  kernel_ = combo(tr("&Kernel"), tr("Which operator of the file"));
  for (const KernelInfo& k : kernels_) kernel_->addItem(QString::fromStdString(k.name));
  kernel_->setCurrentText(QString::fromStdString(now.kernel));
  machine_ = combo(tr("&Machine"), tr("Whose roofs and costs count; cpu is this host, measured now"));
  machine_->addItems(machine_names());
  machine_->setCurrentText(QString::fromStdString(now.machine));
  model_ = combo(tr("Si&zes of"), tr("Take sizes from a model of the corpus"));
  model_->addItem(tr("(as below)"));
  model_->addItems(corpus_models());
  phase_ = combo(tr("&Phase"), tr("Of the model"));
  phase_->addItems({"prefill", "decode"});
  const auto spin = [&](const QString& label, int value) {
    auto* s = new QSpinBox(this);
    s->setRange(1, 1 << 24);
    s->setValue(value);
    s->setAccessibleName(label);
    s->setToolTip(tr("Of the model"));
    form->addRow(label, s);
    return s;
  };
  batch_ = spin(tr("&Batch"), static_cast<int>(now.batch));
  sequence_ = spin(tr("Se&quence"), static_cast<int>(now.sequence));

  size_box_ = new QWidget(this);
  size_form_ = new QFormLayout(size_box_);
  problem_ = new QLabel(this);
  problem_->setWordWrap(true);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
  ok_ = buttons->button(QDialogButtonBox::Ok);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* box = new QVBoxLayout(this);
  box->addLayout(form);
  box->addWidget(size_box_);
  box->addWidget(problem_);
  box->addWidget(buttons);
  connect(kernel_, &QComboBox::currentIndexChanged, this, &SpecDialog::show_sizes);
  connect(model_, &QComboBox::currentIndexChanged, this, [this](int k) {
    size_box_->setEnabled(k == 0);
    for (QWidget* w : QList<QWidget*>{phase_, batch_, sequence_}) w->setEnabled(k > 0);
    check();
  });
  show_sizes();
  Q_EMIT model_->currentIndexChanged(0);
}

const KernelInfo& SpecDialog::kernel() const {
  return kernels_[static_cast<size_t>(std::max(0, kernel_->currentIndex()))];
}

void SpecDialog::show_sizes() {
  while (size_form_->rowCount() > 0) size_form_->removeRow(0);
  sizes_.clear();
  for (const std::string& name : kernel().params) {
    auto* line = new QLineEdit(size_box_);
    const auto here = now_.sizes.find(name), typical = kernel().typical.find(name);
    if (kernel().name == now_.kernel && here != now_.sizes.end())
      line->setText(QString::number(here->second));
    else if (typical != kernel().typical.end())
      line->setText(QString::number(typical->second));
    line->setPlaceholderText(tr("a whole number"));
    const QString label = QString::fromStdString(name);
    line->setAccessibleName(label);
    line->setToolTip(tr("Size %1").arg(label));
    connect(line, &QLineEdit::textChanged, this, &SpecDialog::check);
    size_form_->addRow(label, line);
    sizes_[label] = line;
  }
  check();
}

void SpecDialog::check() {
  QString bad;
  if (model_->currentIndex() == 0)
    for (auto at = sizes_.begin(); at != sizes_.end(); ++at) {
      bool good = false;
      const qlonglong v = at.value()->text().trimmed().toLongLong(&good);
      if (!good || v < 0 || v > (1LL << 40)) {
        bad = tr("%1 is a whole number from 0 to 2^40").arg(at.key());
        break;
      }
    }
  problem_->setText(bad);
  ok_->setEnabled(bad.isEmpty());
}

SpecRequest SpecDialog::request() const {
  SpecRequest r = now_;
  r.kernel = kernel().name;
  r.machine = machine_->currentText().toStdString();
  r.sizes.clear();
  r.model.clear();
  if (model_->currentIndex() > 0) {
    r.model = model_->currentText().toStdString();
    r.phase = phase_->currentText().toStdString();
    r.batch = batch_->value();
    r.sequence = sequence_->value();
  } else {
    for (auto at = sizes_.begin(); at != sizes_.end(); ++at)
      r.sizes[at.key().toStdString()] = at.value()->text().trimmed().toLongLong();
  }
  return r;
}

}  // namespace nautilus::gui
