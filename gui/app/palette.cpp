#include "gui/app/palette.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>

namespace nautilus::gui {

constexpr int kMostShown = 100;

Palette::Palette(const QString& title, const QString& hint, Find find, QWidget* parent)
    : QDialog(parent), find_(std::move(find)) {
  setWindowTitle(title);
  setAttribute(Qt::WA_DeleteOnClose);
  resize(720, 420);
  line_ = new QLineEdit(this);
  line_->setPlaceholderText(hint);
  line_->setAccessibleName(title);
  line_->setClearButtonEnabled(true);
  line_->installEventFilter(this);
  list_ = new QListWidget(this);
  list_->setAccessibleName(tr("What fits"));
  list_->setUniformItemSizes(true);
  list_->setFocusPolicy(Qt::NoFocus);
  auto* box = new QVBoxLayout(this);
  box->addWidget(line_);
  box->addWidget(list_);
  connect(line_, &QLineEdit::textChanged, this, &Palette::update_list);
  connect(line_, &QLineEdit::returnPressed, this, &Palette::choose);
  connect(list_, &QListWidget::itemClicked, this, &Palette::choose);
  update_list();
}

void Palette::update_list() {
  shown_ = find_(line_->text().simplified(), kMostShown);
  list_->clear();
  for (const PaletteEntry& e : shown_)
    list_->addItem(e.detail.isEmpty() ? e.text : e.text + "    —  " + e.detail);
  if (shown_.isEmpty()) {
    auto* nothing = new QListWidgetItem(tr("nothing fits"), list_);
    nothing->setFlags(Qt::NoItemFlags);
  }
  list_->setCurrentRow(0);
}

void Palette::choose() {
  const int row = list_->currentRow();
  if (row < 0 || row >= shown_.size()) return;
  const auto run = shown_[row].run;
  accept();
  run();
}

bool Palette::eventFilter(QObject* o, QEvent* e) {
  if (o == line_ && e->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(e)->key();
    const int by = key == Qt::Key_Down       ? 1
                   : key == Qt::Key_Up       ? -1
                   : key == Qt::Key_PageDown ? 10
                   : key == Qt::Key_PageUp   ? -10
                                             : 0;
    if (by) {
      list_->setCurrentRow(qBound(0, list_->currentRow() + by, list_->count() - 1));
      return true;
    }
  }
  return QDialog::eventFilter(o, e);
}

int match_quality(const QString& text, const QString& pattern) {
  int quality = 1;
  for (const QString& word : pattern.split(' ', Qt::SkipEmptyParts)) {
    const auto at = text.indexOf(word, 0, Qt::CaseInsensitive);
    if (at < 0) return 0;
    quality += at == 0 ? 3 : text[at - 1].isLetterOrNumber() ? 1 : 2;
  }
  return quality;
}

}  // namespace nautilus::gui
