#include "gui/views/budget_view.h"

#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/models/stage_texts.h"

namespace nautilus::gui {

BudgetView::BudgetView(Shared shared, QWidget* parent)
    : View(shared, QStringLiteral("budget"), tr("Memory and time"), parent) {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(2);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(4, 2, 4, 0);
  kernels_ = new QComboBox;
  kernels_->setAccessibleName(tr("Kernel"));
  kernels_->setToolTip(tr("Which kernel of the plan"));
  kernels_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  bar->addWidget(kernels_, 1);
  all->addLayout(bar);
  about_ = new QLabel;
  about_->setWordWrap(true);
  about_->setContentsMargins(6, 0, 6, 0);
  all->addWidget(about_);
  canvas_ = new BudgetCanvas(shared_, nullptr);
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidget(canvas_);
  scroll->setFocusProxy(canvas_);
  all->addWidget(scroll, 1);
  add_command(tr("Zoom in"), Qt::Key_Plus, tr("Less of the timeline"),
              [this] { canvas_->zoom(0.8, 0.5); });
  add_command(tr("Zoom out"), Qt::Key_Minus, tr("More of the timeline"),
              [this] { canvas_->zoom(1.25, 0.5); });
  add_command(tr("Whole timeline"), Qt::Key_Space, tr("Fits the timeline"),
              [this] { canvas_->fit(); });
  add_command(tr("Next kernel"), Qt::Key_J, tr("The next kernel of the plan"),
              [this] { show_kernel(kernel() + 1); });
  add_command(tr("Previous kernel"), Qt::Key_K, tr("The kernel before"),
              [this] { show_kernel(kernel() - 1); });
  connect(kernels_, &QComboBox::currentIndexChanged, this, [this](int k) {
    if (k >= 0 && budget_) canvas_->set_budget(budget_, k);
  });
  connect(&shared_.selection, &Selection::changed, this, [this](unsigned parts) {
    if (parts & Selection::Node) ask();
    if (parts & (Selection::TreeNode | Selection::Statement | Selection::Hover)) canvas_->update();
  });
  connect(&shared_.document, &Document::reset, this, &BudgetView::ask);
  connect(&shared_.document, &Document::options_changed, this, &BudgetView::ask);
  when_bench_fails([this](const QString&, const QString& why) {
    asked_ = false;
    budget_.reset();  // of another candidate
    kernels_->clear();
    show_kernels();
    about_->clear();
    canvas_->set_message(why);
  });
  connect(&shared_.theme, &Theme::changed, canvas_, QOverload<>::of(&QWidget::update));
  ask();
}

void BudgetView::showEvent(QShowEvent* e) {
  View::showEvent(e);
  if (stale_) ask();
}

void BudgetView::ask() {
  if (!isVisible()) {
    stale_ = true;
    return;
  }
  stale_ = false;
  const int node = shared_.selection.now().node;
  if (node < 0 || shared_.document.empty()) {
    budget_.reset();
    asked_ = false;
    kernels_->clear();
    show_kernels();
    about_->clear();
    return canvas_->set_message(nothing_selected(tr("to see what it takes")));
  }
  asked_ = true;
  const sched::Session& session = shared_.document.session();
  const SpecText spec = SpecText::of(session);
  shared_.bench.ask<Budget>(
      this, QStringLiteral("budget"),
      [path = Bench::path_nodes(session.result, node), spec](const Workpiece& w,
                                                             const CancelToken& c) {
        return make_budget(*stages_of(w, c, path, spec), w.options.machine);
      },
      [this](Budget b) { answer(std::move(b)); });
}

void BudgetView::answer(Budget b) {
  asked_ = false;
  budget_ = std::make_shared<const Budget>(std::move(b));
  if (budget_->refusal) {
    kernels_->clear();
    show_kernels();
    about_->clear();
    return canvas_->set_message(refusal_text(*budget_->refusal));
  }
  int longest = 0;
  {
    const QSignalBlocker quiet(kernels_);
    kernels_->clear();
    for (size_t k = 0; k < budget_->kernels.size(); ++k) {
      const KernelBudget& kernel = budget_->kernels[k];
      kernels_->addItem(kernel.comment.isEmpty()
                            ? kernel.name
                            : kernel.name + QStringLiteral(": ") + kernel.comment);
      if (kernel.timeline.seconds * double(kernel.grid) >
          budget_->kernels[size_t(longest)].timeline.seconds *
              double(budget_->kernels[size_t(longest)].grid))
        longest = int(k);
    }
    kernels_->setCurrentIndex(longest);
  }
  show_kernels();
  QString about = tr("%1, %2; counted from the memory IR, no compiler asked")
                      .arg(budget_->machine, budget_->target);
  if (!budget_->lowered_with.isEmpty())
    about = tr("⚠ does not fit as planned, lowered with %1; ").arg(budget_->lowered_with) + about;
  about_->setText(about);
  about_->setToolTip(about_->text());
  canvas_->set_budget(budget_, longest);
}

// A plan that was refused, or for a machine that is not budgeted, has none to choose.
void BudgetView::show_kernels() { kernels_->setVisible(kernels_->count() > 0); }

int BudgetView::kernel() const { return kernels_->currentIndex(); }
void BudgetView::show_kernel(int k) {
  if (k >= 0 && k < kernels_->count()) kernels_->setCurrentIndex(k);
}

void BudgetView::paint_picture(QPainter& p, const QRectF& page) {
  p.fillRect(page, shared_.theme.background());
  p.save();
  p.translate(page.topLeft());
  // All of it, as wide as the page is then.
  QImage nowhere(1, 1, QImage::Format_RGB32);
  QPainter trial(&nowhere);
  const double width = std::max(660, canvas_->width()), height = canvas_->paint_on(trial, width);
  const double scale = height > 0 ? std::min(page.width() / width, page.height() / height) : 1;
  p.scale(scale, scale);
  canvas_->paint_on(p, page.width() / scale);
  p.restore();
  canvas_->update();
}

QList<QJsonObject> BudgetView::export_rows() const {
  QList<QJsonObject> out;
  if (!budget_) return out;
  for (const KernelBudget& k : budget_->kernels) {
    for (const RegisterValue& v : k.live)
      out << QJsonObject{{"kernel", k.name},
                         {"what", "register"},
                         {"name", v.value},
                         {"type", v.type},
                         {"registers", qint64(v.registers)},
                         {"statement", v.statement}};
    for (const SharedBlock& b : k.shared)
      out << QJsonObject{{"kernel", k.name},        {"what", "shared"},
                         {"name", b.name},          {"type", b.type},
                         {"slots", b.slots},        {"offset", qint64(b.offset)},
                         {"bytes", qint64(b.bytes)}};
    for (const TimelineBar& b : k.timeline.bars)
      out << QJsonObject{{"kernel", k.name},        {"what", "pipeline"},
                         {"name", b.what},          {"row", k.timeline.rows[size_t(b.row)].title},
                         {"begin", b.begin},        {"end", b.end},
                         {"iteration", b.iteration}};
  }
  return out;
}

QJsonObject BudgetView::viewport() const {
  return {{"kernel", kernel()}, {"from", canvas_->from()}, {"to", canvas_->to()}};
}
void BudgetView::set_viewport(const QJsonObject& v) {
  show_kernel(v["kernel"].toInt());
  canvas_->set_span(v["from"].toDouble(0), v["to"].toDouble(1));
}

View* make_budget_view(Shared shared, QWidget* parent) { return new BudgetView(shared, parent); }

}  // namespace nautilus::gui
