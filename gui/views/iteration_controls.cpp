// The controls of the iteration space: what is shown, at which sizes, and the player.
#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>
#include <QWidgetAction>
#include <climits>

#include "gui/views/iteration_canvas.h"
#include "gui/views/iteration_view.h"
#include "gui/views/view_bar.h"

namespace nautilus::gui {
namespace {

constexpr int kLargestSize = 64;

void say_what(QWidget* w, const QString& name, const QString& tip) {
  w->setAccessibleName(name);
  w->setToolTip(tip);
}

}  // namespace

void IterationView::make_bar() {
  auto* bar = new ViewBar(this);
  auto box = [&](const QString& label, const QString& name, const QString& tip) {
    auto* b = new QComboBox(this);
    b->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    b->setMaximumWidth(150);
    say_what(b, name, tip);
    bar->add(label, b);
    return b;
  };
  first_ = box(QString(), tr("statement"), tr("The statement whose instances are shown"));
  second_ = box(tr("and"), tr("second statement"),
                tr("A second statement beside it, with the dependences between them"));
  x_ = box(tr("across"), tr("dimension across"), tr("The dimension shown from left to right"));
  y_ = box(tr("down"), tr("dimension down"), tr("The dimension shown from top to bottom"));
  auto* slices = new QWidget(bar);
  slices_ = new QHBoxLayout(slices);
  slices_->setContentsMargins(0, 0, 0, 0);
  slices_->setSpacing(4);
  bar->add(slices);
  sizes_ = new QToolButton(this);
  sizes_->setText(tr("Sizes…"));
  say_what(sizes_, tr("sizes"), tr("The sizes at which the picture is made"));
  bar->add(sizes_);
  layout()->addWidget(bar);
  connect(sizes_, &QToolButton::clicked, this, &IterationView::open_sizes);
  auto statements = [this] {
    if (!filling_)
      show_statements(first_->currentText(),
                      second_->currentIndex() > 0 ? second_->currentText() : QString());
  };
  connect(first_, &QComboBox::activated, this, statements);
  connect(second_, &QComboBox::activated, this, statements);
  // Dimensions of the same name are chosen in both panels.
  auto dims = [this] {
    for (size_t k = 0; k < choices_.size(); ++k) {
      const IterStatement& s = picture_.statements[k];
      auto dim = [&](const QComboBox* b, int otherwise) {
        for (size_t d = 0; d < s.dims.size(); ++d)
          if (s.dims[d] == b->currentText().toStdString()) return static_cast<int>(d);
        return k == 0 ? -1 : otherwise;
      };
      PanelChoice c = first_choice(s);
      c.x = dim(x_, s.x);
      c.y = dim(y_, s.y);
      if (c.x == c.y) c.y = -1;
      c.fixed.clear();
      for (int d = 0; d < static_cast<int>(s.low.size()); ++d)
        if (d != c.x && d != c.y && !s.reduced[static_cast<size_t>(d)])
          c.fixed[d] = s.low[static_cast<size_t>(d)];
      choices_[k] = c;
    }
    fill_slices();
    redraw();
  };
  connect(x_, &QComboBox::activated, this, dims);
  connect(y_, &QComboBox::activated, this, dims);
}

void IterationView::make_player() {
  auto* bar = new ViewBar(this);
  auto button = [&](const QString& text, const QString& name, const QString& tip) {
    auto* b = new QToolButton(this);
    b->setText(text);
    say_what(b, name, tip);
    bar->add(b);
    return b;
  };
  begin_ = button(QStringLiteral("|◀"), tr("first step"), tr("To the first step (Home)"));
  back_ = button(QStringLiteral("◀"), tr("step back"), tr("One step back (,)"));
  play_ = button(QStringLiteral("▶"), tr("play"), tr("Play the order of execution (P)"));
  forward_ = button(QStringLiteral("▷"), tr("step forward"), tr("One step forward (.)"));
  end_ = button(QStringLiteral("▶|"), tr("last step"), tr("All has run (End)"));
  slider_ = new QSlider(Qt::Horizontal, this);
  say_what(slider_, tr("moment"), tr("The moment of the execution that is shown"));
  bar->add_stretching(slider_);
  moment_ = new QLabel(this);
  moment_->setMinimumWidth(moment_->fontMetrics().horizontalAdvance(tr("step 9999 of 9999")));
  bar->add(moment_);
  speed_ = new QComboBox(this);
  for (const auto& [text, ms] : {std::pair{tr("slow"), 600}, {tr("normal"), 200}, {tr("fast"), 40}})
    speed_->addItem(text, ms);
  speed_->setCurrentIndex(1);
  say_what(speed_, tr("speed"), tr("How fast it plays"));
  bar->add(speed_);
  together_ = new QCheckBox(tr("blocks at once"), this);
  say_what(together_, tr("blocks at once"),
           tr("Let what different blocks compute run at the same time, as on the machine"));
  arrows_ = new QCheckBox(tr("all arrows"), this);
  arrows_->setChecked(true);
  say_what(arrows_, tr("all arrows"), tr("Show also the dependences that the order keeps"));
  bar->add(together_);
  bar->add(arrows_);
  layout()->addWidget(bar);
  connect(begin_, &QToolButton::clicked, this, [this] { step_by(INT_MIN + 1); });
  connect(end_, &QToolButton::clicked, this, [this] { step_by(INT_MAX); });
  connect(back_, &QToolButton::clicked, this, [this] { step_by(-1); });
  connect(forward_, &QToolButton::clicked, this, [this] { step_by(1); });
  connect(play_, &QToolButton::clicked, this, [this] { play(!playing()); });
  connect(slider_, &QSlider::valueChanged, this, [this](int v) {
    if (filling_) return;
    play(false);
    set_step(v);
  });
  connect(speed_, &QComboBox::currentIndexChanged, this, [this] {
    if (playing()) clock_.setInterval(speed_->currentData().toInt());
  });
  connect(together_, &QCheckBox::toggled, this, &IterationView::redraw);
  connect(arrows_, &QCheckBox::toggled, canvas_, &IterationCanvas::set_arrows);
}

void IterationView::make_actions() {
  add_command(tr("Play or pause the order of execution"), {},
              tr("Lets the instances run one after the other (P)"), [this] { play(!playing()); });
  add_command(tr("First step"), {}, tr("Nothing has run yet but the first step (Home)"),
              [this] { step_by(INT_MIN + 1); });
  add_command(tr("All steps"), {}, tr("All has run (End)"), [this] { step_by(INT_MAX); });
  add_command(tr("Show all iterations"), {}, tr("The whole picture in the window (Space)"),
              [this] { canvas_->fit(); });
  add_command(tr("Show what is out of order"), {},
              tr("The statements of a violated dependence, or those of the most instances"),
              [this] { show_statements(QString(), QString()); });
}

void IterationView::fill_choices() {
  filling_ = true;
  first_->clear();
  second_->clear();
  second_->addItem(tr("none"));
  for (const std::string& s : picture_.available) {
    first_->addItem(QString::fromStdString(s));
    second_->addItem(QString::fromStdString(s));
  }
  const auto& shown = picture_.statements;
  if (!shown.empty()) first_->setCurrentText(QString::fromStdString(shown[0].name));
  second_->setCurrentIndex(
      shown.size() > 1 ? second_->findText(QString::fromStdString(shown[1].name)) : 0);
  x_->clear();
  y_->clear();
  y_->addItem(tr("none"));
  if (!shown.empty()) {
    for (const std::string& d : shown[0].dims) {
      x_->addItem(QString::fromStdString(d));
      y_->addItem(QString::fromStdString(d));
    }
    x_->setCurrentIndex(shown[0].x);
    y_->setCurrentIndex(shown[0].y + 1);
  }
  filling_ = false;
}

// One number a dimension of the first statement that is not shown; its lowest value less one is
// all.
void IterationView::fill_slices() {
  while (QLayoutItem* item = slices_->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  slice_spins_.clear();
  if (choices_.empty()) return;
  const IterStatement& s = picture_.statements[0];
  for (int d = 0; d < static_cast<int>(s.low.size()); ++d) {
    const size_t k = static_cast<size_t>(d);
    if (d == choices_[0].x || d == choices_[0].y || s.low[k] == s.high[k]) continue;
    const QString name = QString::fromStdString(s.dims[k]);
    auto* spin = new QSpinBox(this);
    spin->setRange(static_cast<int>(s.low[k]) - 1, static_cast<int>(s.high[k]));
    spin->setSpecialValueText(tr("%1 all").arg(name));
    spin->setPrefix(name + u'=');
    const auto fixed = choices_[0].fixed.find(d);
    spin->setValue(fixed == choices_[0].fixed.end() ? spin->minimum()
                                                    : static_cast<int>(fixed->second));
    say_what(spin, tr("slice at %1").arg(name), tr("Only instances with this %1").arg(name));
    connect(spin, &QSpinBox::valueChanged, this, [this, spin, name](int value) {
      for (size_t p = 0; p < choices_.size(); ++p) {
        const IterStatement& st = picture_.statements[p];
        for (int dim = 0; dim < static_cast<int>(st.dims.size()); ++dim) {
          if (st.dims[static_cast<size_t>(dim)] != name.toStdString()) continue;
          if (dim == choices_[p].x || dim == choices_[p].y) continue;
          choices_[p].fixed.erase(dim);
          if (value > spin->minimum()) choices_[p].fixed[dim] = value;
        }
      }
      redraw();
    });
    slices_->addWidget(spin);
    slice_spins_ << spin;
  }
}

void IterationView::open_sizes() {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  auto* page = new QWidget(menu);
  auto* form = new QFormLayout(page);
  QList<QPair<std::string, QSpinBox*>> spins;
  for (const auto& [name, value] : picture_.sizes) {
    auto* spin = new QSpinBox(page);
    const auto real = shared_.document.session().options.sizes.find(name);
    const int64_t most =
        real == shared_.document.session().options.sizes.end() ? kLargestSize : real->second;
    spin->setRange(0, static_cast<int>(std::min<int64_t>(most, kLargestSize)));
    spin->setValue(static_cast<int>(value));
    say_what(spin, QString::fromStdString(name), tr("Size %1").arg(QString::fromStdString(name)));
    form->addRow(QString::fromStdString(name), spin);
    spins << qMakePair(name, spin);
  }
  auto* buttons = new QDialogButtonBox(page);
  auto* set = buttons->addButton(tr("Use these"), QDialogButtonBox::AcceptRole);
  auto* automatic = buttons->addButton(tr("Automatic"), QDialogButtonBox::ResetRole);
  form->addRow(buttons);
  auto again = [this, menu] {
    menu->close();
    shown_ = -2;
    ask();
  };
  connect(set, &QPushButton::clicked, this, [this, spins, again] {
    wanted_sizes_.clear();
    for (const auto& [name, spin] : spins) wanted_sizes_[name] = spin->value();
    again();
  });
  connect(automatic, &QPushButton::clicked, this, [this, again] {
    wanted_sizes_.clear();
    again();
  });
  auto* action = new QWidgetAction(menu);
  action->setDefaultWidget(page);
  menu->addAction(action);
  menu->popup(sizes_->mapToGlobal(QPoint(0, sizes_->height())));
}

}  // namespace nautilus::gui
