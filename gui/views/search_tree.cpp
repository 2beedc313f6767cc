#include "gui/views/search_tree.h"

#include <QLabel>
#include <QVBoxLayout>

#include "gui/views/replay_bar.h"

namespace nautilus::gui {

SearchTreeView::SearchTreeView(Shared shared, QWidget* parent)
    : View(shared, parent), canvas_(new SearchTreeCanvas(shared, this)) {
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
  setFocusProxy(canvas_);
  make_actions();
  connect(canvas_, &SearchTreeCanvas::root_changed, this, &SearchTreeView::show_root);
}

void SearchTreeView::make_actions() {
  auto add = [this](const QString& text, const QString& tip, bool checkable, auto run) {
    auto* a = new QAction(text, this);
    a->setToolTip(tip);
    a->setStatusTip(tip);
    a->setCheckable(checkable);
    connect(a, &QAction::triggered, this, run);
    actions_ << a;
    return a;
  };
  add(tr("Fit"), tr("Show all of the tree (Space)"), false, [this] { canvas_->fit(); });
  add(tr("Readable size"), tr("Back to a size at which the text can be read"), false,
      [this] { canvas_->home(); });
  add(tr("Go to the best plan"), tr("Select the fastest plan so far (B)"), false, [this] {
    if (canvas_->best() >= 0) canvas_->go_to(canvas_->best());
  });
  add(tr("Root here"),
      tr("Show the tree from the selected candidate on (double click, Shift+Enter)"), false,
      [this] { canvas_->set_root(shared_.selection.now().node); });
  add(tr("Whole tree"), tr("Show the tree from its root on (Escape)"), false,
      [this] { canvas_->set_root(0); });
  add(tr("Show every candidate"), tr("Nothing folded, nothing closed"), true,
      [this](bool on) { canvas_->set_everything(on); });
  add(tr("Fold as at first"), tr("Open along the paths to the three best plans only"), false,
      [this] {
        for (QAction* a : actions_)
          if (a->isCheckable() && a->text() == tr("Show every candidate")) a->setChecked(false);
        canvas_->fold_all();
      });
  add(tr("Legend"), tr("Show what glyphs and colours mean"), true, [this](bool on) {
    canvas_->set_legend(on);
  })->setChecked(true);
  QAction* by_time = replay_->by_time();
  by_time->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  addAction(by_time);
  actions_ << by_time;
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
