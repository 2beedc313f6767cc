#include "gui/views/search_tree.h"

#include <QLabel>
#include <QVBoxLayout>

#include "gui/views/replay_bar.h"

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
  replay_ = new ReplayBar(shared.document, *canvas_, this);
  column->addWidget(replay_);
  make_actions();
  connect(canvas_, &SearchTreeCanvas::root_changed, this, &SearchTreeView::show_root);
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
  add_command(replay_->by_time());
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
      if (m->right.made()) row["right"] = m->right.holds();
    }
    rows << row;
  }
  return rows;
}

QJsonObject SearchTreeView::viewport() const {
  QJsonObject j = CanvasView::viewport();
  j["replay_by_time"] = replay_->wants_time();
  return j;
}

// What sessions of before do not say is the order.
void SearchTreeView::set_viewport(const QJsonObject& j) {
  CanvasView::set_viewport(j);
  replay_->set_wants_time(j["replay_by_time"].toBool());
}

View* make_search_tree_view(Shared shared, QWidget* parent) {
  return new SearchTreeView(shared, parent);
}

}  // namespace nautilus::gui
