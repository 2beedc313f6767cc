#include "gui/app/chips_bar.h"

#include <QCompleter>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QToolButton>
#include <QToolTip>
#include <QWheelEvent>

namespace nautilus::gui {
namespace {

constexpr int kMostChipWidth = 240, kChipMargins = 24;

// What does not fit is reached by the wheel and by Tab; the window stays as wide as it is.
class ChipsArea : public QScrollArea {
 public:
  using QScrollArea::QScrollArea;

 protected:
  void wheelEvent(QWheelEvent* e) override {
    const QPoint by = e->angleDelta();
    auto* bar = horizontalScrollBar();
    bar->setValue(bar->value() - (by.x() ? by.x() : by.y()));
    e->accept();
  }
};

}  // namespace

ChipsBar::ChipsBar(const Document& document, FilterStack& filters, QWidget* parent)
    : QWidget(parent), document_(document), filters_(filters) {
  auto* box = new QHBoxLayout(this);
  box->setContentsMargins(4, 2, 4, 2);
  line_ = new QLineEdit(this);
  line_->setPlaceholderText(tr("Filter: state != dominated"));
  line_->setToolTip(
      tr("Only candidates that meet every condition are lit: state, seconds, bound, "
         "verdict, limiter, knob, depth, below, text (Ctrl+Shift+F)"));
  line_->setAccessibleName(tr("New filter"));
  line_->setMaxLength(kMostFilterText);
  line_->setMinimumWidth(220);
  line_->setMaximumWidth(360);
  auto* completer =
      new QCompleter({"state != dominated", "state != illegal", "state = complete",
                      "state = illegal", "state = best", "state = measured", "state = pinned",
                      "state = noted", "seconds < 1e-3", "bound < 1e-3", "verdict = repairable",
                      "limiter memory", "knob stages >= 2", "depth <= 5", "text rolling"},
                     line_);
  completer->setCaseSensitivity(Qt::CaseInsensitive);
  completer->setFilterMode(Qt::MatchContains);
  line_->setCompleter(completer);
  box->addWidget(line_);
  chips_ = new QWidget(this);
  row_ = new QHBoxLayout(chips_);
  row_->setContentsMargins(0, 0, 0, 0);
  auto* area = new ChipsArea(this);
  area->setObjectName("chips");
  area->setFrameShape(QFrame::NoFrame);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setFocusPolicy(Qt::NoFocus);
  area->setWidgetResizable(true);
  area->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  QToolButton sample;
  sample.setText("✕");
  area->setFixedHeight(sample.sizeHint().height());
  area->setWidget(chips_);
  chips_->setAutoFillBackground(false);
  area->viewport()->setAutoFillBackground(false);
  box->addWidget(area, 1);
  count_ = new QLabel(this);
  box->addWidget(count_);
  connect(line_, &QLineEdit::returnPressed, this, &ChipsBar::enter);
  connect(line_, &QLineEdit::textEdited, this, [this] { QToolTip::hideText(); });
  connect(&filters_, &FilterStack::edited, this, &ChipsBar::show_chips);
  connect(&filters_, &FilterStack::edited, this, &ChipsBar::show_count);
  connect(&filters_, &FilterStack::changed, this, &ChipsBar::show_count);
  connect(&document_, &Document::reset, this, &ChipsBar::show_count);
  connect(&document_, &Document::appended, this, &ChipsBar::show_count);
  show_chips();
  show_count();
}

void ChipsBar::edit_new() {
  editing_ = -1;
  line_->clear();
  line_->setFocus();
}

void ChipsBar::enter() {
  if (line_->text().trimmed().isEmpty()) return;
  QString why;
  const auto f = filter_from_string(line_->text(), &why);
  if (!f) {
    QToolTip::showText(line_->mapToGlobal(QPoint(0, line_->height())), why, line_);
    line_->setAccessibleDescription(why);
    return;
  }
  line_->setAccessibleDescription({});
  if (editing_ >= 0 && editing_ < static_cast<int>(filters_.filters().size()))
    filters_.replace(static_cast<size_t>(editing_), *f);
  else
    filters_.add(*f);
  editing_ = -1;
  line_->clear();
}

void ChipsBar::show_chips() {
  while (QLayoutItem* item = row_->takeAt(0)) {
    if (QWidget* w = item->widget()) {
      w->hide();  // until it is gone
      w->deleteLater();
    }
    delete item;
  }
  for (size_t k = 0; k < filters_.filters().size(); ++k) {
    const QString text = to_string(filters_.filters()[k]);
    auto* chip = new QToolButton(chips_);
    chip->setMaximumWidth(kMostChipWidth);
    chip->setText(chip->fontMetrics()
                      .elidedText(text, Qt::ElideRight, kMostChipWidth - kChipMargins)
                      .replace("&", "&&"));
    chip->setToolTip(
        QString("<p>%1</p><p>%2</p>").arg(text.toHtmlEscaped(), tr("Change this condition")));
    chip->setAccessibleName(tr("Filter %1").arg(text));
    connect(chip, &QToolButton::clicked, this, [this, k, text] {
      editing_ = static_cast<int>(k);
      line_->setText(text);
      line_->setFocus();
      line_->selectAll();
    });
    auto* cross = new QToolButton(chips_);
    cross->setText("✕");
    cross->setToolTip(tr("Remove this condition"));
    cross->setAccessibleName(tr("Remove filter %1").arg(text));
    cross->setAutoRaise(true);
    connect(cross, &QToolButton::clicked, this, [this, k] { filters_.remove(k); });
    row_->addWidget(chip);
    row_->addWidget(cross);
  }
  row_->addStretch(1);
}

void ChipsBar::show_count() {
  const QLocale l;
  const auto all = static_cast<int>(document_.nodes().size());
  count_->setText(
      filters_.filters().empty()
          ? tr("%1 candidates").arg(l.toString(all))
          : tr("%1 of %2 candidates").arg(l.toString(filters_.passing()), l.toString(all)));
}

}  // namespace nautilus::gui
