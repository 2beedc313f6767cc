#include "gui/views/search_tree.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QSlider>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/models/quantity.h"

namespace nautilus::gui {

SearchTreeView::SearchTreeView(Shared shared, QWidget* parent)
    : CanvasView(shared, QStringLiteral("tree"), tr("Search tree"), parent) {
  path_ = new QLabel(this);
  path_->setTextFormat(Qt::PlainText);
  path_->setContentsMargins(8, 3, 8, 3);
  path_->setAccessibleName(tr("Root of the picture"));
  path_->setToolTip(
      tr("The tree is shown from this candidate on. Backspace: one up. Escape: all."));
  path_->setWordWrap(true);
  path_->hide();
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(path_);
  column->addWidget(canvas_, 1);
  column->addWidget(make_replay());
  make_actions();
  connect(canvas_, &SearchTreeCanvas::picture_changed, this, &SearchTreeView::show_replay);
  connect(canvas_, &SearchTreeCanvas::root_changed, this, &SearchTreeView::show_root);
  connect(&timer_, &QTimer::timeout, this, &SearchTreeView::play_step);
  show_replay();
}

void SearchTreeView::make_actions() {
  add_command(tr("Fit"), {}, tr("Show all of the tree (Space)"), [this] { canvas_->fit(); });
  add_command(tr("Readable size"), {}, tr("Back to a size at which the text can be read"),
              [this] { canvas_->home(); });
  add_command(tr("Go to the best plan"), {}, tr("Select the fastest plan so far (B)"), [this] {
    if (canvas_->best() >= 0) canvas_->go_to(canvas_->best());
  });
  add_command(tr("Root here"), {},
              tr("Show the tree from the selected candidate on (double click, Shift+Enter)"),
              [this] { canvas_->set_root(shared_.selection.now().node); });
  add_command(tr("Whole tree"), {}, tr("Show the tree from its root on (Escape)"),
              [this] { canvas_->set_root(0); });
  everything_ = add_command(tr("Show every candidate"), {}, tr("Nothing folded, nothing closed"),
                            [this](bool on) { canvas_->set_everything(on); });
  everything_->setCheckable(true);
  add_command(tr("Fold as at first"), {}, tr("Open along the paths to the three best plans only"),
              [this] {
                everything_->setChecked(false);
                canvas_->fold_all();
              });
  QAction* legend = add_command(tr("Legend"), {}, tr("Show what glyphs and colours mean"),
                                [this](bool on) { canvas_->set_legend(on); });
  legend->setCheckable(true);
  legend->setChecked(true);
}

QWidget* SearchTreeView::make_replay() {
  auto* bar = new QWidget(this);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(8, 2, 8, 2);
  play_ = new QToolButton(bar);
  play_->setText(QStringLiteral("\u25b6"));
  play_->setAutoRaise(true);
  play_->setObjectName(QStringLiteral("replay_play"));
  play_->setAccessibleName(tr("Play the search"));
  play_->setToolTip(tr("Play how the tree grew, in the order in which the search made candidates"));
  slider_ = new QSlider(Qt::Horizontal, bar);
  slider_->setObjectName(QStringLiteral("replay_slider"));
  slider_->setAccessibleName(tr("Replay: candidates made so far"));
  slider_->setToolTip(
      tr("Replay the search. Candidates are numbered in the order they were made; times are not "
         "recorded, so equal distances are equal numbers of candidates, not equal times."));
  step_ = new QLabel(bar);
  step_->setObjectName(QStringLiteral("replay_step"));
  row->addWidget(play_);
  row->addWidget(slider_, 1);
  row->addWidget(step_);
  connect(slider_, &QSlider::valueChanged, this, [this](int at) { canvas_->set_limit(at); });
  connect(play_, &QToolButton::clicked, this, [this] {
    if (timer_.isActive()) return timer_.stop(), show_replay();
    if (!canvas_->replaying()) slider_->setValue(1);
    timer_.start(40);
    show_replay();
  });
  return bar;
}

// All of it in about ten seconds.
void SearchTreeView::play_step() {
  const int n = slider_->maximum(), step = std::max(1, n / 250);
  if (slider_->value() + step >= n) timer_.stop();
  slider_->setValue(std::min(n, slider_->value() + step));
}

void SearchTreeView::show_replay() {
  const int n = static_cast<int>(canvas_->facts().size());
  const QSignalBlocker quiet(slider_);
  slider_->setRange(std::min(n, 1), n);
  slider_->setPageStep(std::max(1, n / 20));
  slider_->setValue(canvas_->limit());
  slider_->setEnabled(n > 1);
  play_->setEnabled(n > 1);
  play_->setText(timer_.isActive() ? QStringLiteral("\u2016") : QStringLiteral("\u25b6"));
  const int best = canvas_->best();
  QString text =
      canvas_->replaying()
          ? tr("%1 of %2 in search order").arg(count_text(canvas_->limit()), count_text(n))
          : tr("%1 candidates").arg(count_text(n));
  if (best >= 0) {
    const float s = canvas_->facts()[best].seconds;
    if (s > 0) text += tr(", best %1").arg(seconds_text(s));
  }
  const SearchTreePicture& p = canvas_->picture();
  if (p.folded_nodes > 0 && !canvas_->replaying())
    text += tr(", %1 folded").arg(count_text(p.folded_nodes));
  step_->setText(text);
}

void SearchTreeView::show_root(int node) {
  path_->setVisible(node != 0);
  QStringList parts;
  if (node != 0)
    for (int id : shared_.document.path(node)) {
      const sched::SearchNode* n = shared_.document.node(id);
      if (n && id != 0) parts << QString::fromStdString(n->decision);
    }
  path_->setText(QStringLiteral("\u2302 ") + parts.join(QStringLiteral("  \u203a  ")));
  root_changed(node);
}

QList<QJsonObject> SearchTreeView::export_rows() const {
  QList<QJsonObject> rows;
  const auto& nodes = shared_.document.nodes();
  for (int id = 0; id < canvas_->limit() && id < static_cast<int>(nodes.size()); ++id) {
    const sched::SearchNode& n = nodes[id];
    QJsonObject row{{"id", n.id},
                    {"parent", n.parent},
                    {"decision", QString::fromStdString(n.decision)},
                    {"state", QString::fromUtf8(sched::state_name(n.state).data())},
                    {"reason", QString::fromStdString(n.reason)}};
    if (n.seconds > 0) row["seconds"] = n.seconds;
    if (n.lower_bound > 0) row["lower_bound"] = n.lower_bound;
    if (!n.limiter.empty()) row["limiter"] = QString::fromStdString(n.limiter);
    if (n.duplicate_of >= 0) row["duplicate_of"] = n.duplicate_of;
    if (const auto m = shared_.document.measured(n.id)) {
      row["measured_seconds"] = m->seconds;
      row["right"] = m->right;
    }
    rows << row;
  }
  return rows;
}

View* make_search_tree_view(Shared shared, QWidget* parent) {
  return new SearchTreeView(shared, parent);
}

}  // namespace nautilus::gui
