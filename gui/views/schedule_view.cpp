#include "gui/views/schedule_view.h"

#include <QFile>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QSaveFile>
#include <QShortcut>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/views/elided_label.h"
#include "gui/views/menu_button.h"
#include "gui/views/schedule_canvas.h"
#include "gui/views/step_editor.h"
#include "gui/views/view_bar.h"

namespace nautilus::gui {

ScheduleView::ScheduleView(Shared shared, QWidget* parent)
    : View(shared, QStringLiteral("schedule"), tr("Schedule tree"), parent) {
  hand_ = new HandSteps(shared_.document, shared_.selection, shared_.bench,
                        shared_.filters.undo_stack(), this);
  canvas_ = new ScheduleCanvas(shared_.theme, this);
  editor_ = new StepEditor(shared_.theme, this);
  menu_ = new QMenu(tr("Transform"), this);
  menu_->setToolTipsVisible(true);
  note_ = new ElidedLabel({}, this);
  note_->setAccessibleName(tr("remark on the schedule"));
  make_actions();
  auto* row = new QHBoxLayout;
  row->setContentsMargins(0, 0, 6, 0);
  row->setSpacing(0);
  auto* bar = new ViewBar(this);
  transform_button_ =
      menu_button(tr("Transform"), tr("Apply a transform to the selected node (T, or right click)"),
                  menu_, this);
  bar->add(transform_button_);
  for (QAction* a : {undo_, redo_, save_, load_}) {
    auto* b = new QToolButton(this);
    b->setDefaultAction(a);
    b->setAutoRaise(true);
    bar->add(b);
  }
  row->addWidget(bar);
  row->addWidget(note_, 1);
  splitter_ = new QSplitter(Qt::Horizontal, this);
  splitter_->addWidget(canvas_);
  splitter_->addWidget(editor_);
  splitter_->setStretchFactor(0, 3);
  splitter_->setStretchFactor(1, 2);
  splitter_->setChildrenCollapsible(false);
  editor_->hide();
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addLayout(row);
  column->addWidget(splitter_, 1);
  setFocusProxy(canvas_);

  connect(menu_, &QMenu::aboutToShow, this, &ScheduleView::fill_menu);
  connect(canvas_, &ScheduleCanvas::chosen, this, &ScheduleView::on_chosen);
  connect(canvas_, &ScheduleCanvas::hovered_node, this, [this](int id) {
    const int row = tree_.row_of(id);
    QString statement;
    if (row >= 0 && tree_.boxes[static_cast<size_t>(row)].statements.size() == 1)
      statement = QString::fromStdString(tree_.boxes[static_cast<size_t>(row)].statements[0]);
    shared_.selection.hover_tree(id, statement);
  });
  connect(canvas_, &ScheduleCanvas::menu_wanted, this, [this](const QPoint& at) {
    if (!tree_.boxes.empty()) menu_->popup(at);
  });
  connect(canvas_, &ScheduleCanvas::escaped, this, &ScheduleView::close_editor);
  connect(editor_, &StepEditor::asked, this, &ScheduleView::ask_verdict);
  connect(editor_, &StepEditor::apply_clicked, this, &ScheduleView::apply);
  connect(editor_, &StepEditor::closed, this, &ScheduleView::close_editor);
  connect(editor_, &StepEditor::preview, this, &ScheduleView::show_preview);
  connect(editor_, &StepEditor::picking_changed, canvas_, &ScheduleCanvas::set_picking);
  connect(&shared_.selection, &Selection::changed, this, &ScheduleView::on_selection);
  connect(&shared_.document, &Document::reset, this, [this] {
    shown_ = -2;
    waiting_tree_ = waiting_verdict_ = false;
    close_editor();
    ask_tree();
  });
  const auto made_otherwise = [this] {
    const sched::SearchNode* n = shared_.document.node(node());
    if (n && made_of(*n) != made_of_) shown_ = -2, ask_tree();
  };
  connect(&shared_.document, &Document::options_changed, this, made_otherwise);
  connect(&shared_.document, &Document::changed, this,
          [this, made_otherwise](const QList<int>& ids) {
            if (ids.contains(node())) made_otherwise();
          });
  connect(hand_, &HandSteps::refused, this, [this](const QString& why) { say(why, true); });
  connect(hand_, &HandSteps::applied, this, [this](int id) {
    close_editor();
    told_ = id;
    const sched::SearchNode* n = shared_.document.node(id);
    say(tr("Candidate %1: %2").arg(id).arg(QString::fromStdString(n->decision)),
        n->state == sched::NodeState::Illegal);
  });
  when_bench_fails([this](const QString& channel, const QString& why) {
    if (channel == QStringLiteral("verdict")) {
      waiting_verdict_ = false;
      editor_->set_failed(why);
    } else {
      waiting_tree_ = false;
      canvas_->set_message(why);
    }
  });
  ask_tree();
}

void ScheduleView::make_actions() {
  add_command(
      tr("Transform the selected node…"), Qt::Key_T,
      tr("The menu of transforms, for the node that is selected"), [this] {
        if (!tree_.boxes.empty())
          menu_->popup(transform_button_->mapToGlobal(QPoint(0, transform_button_->height())));
      });
  add_command(
      tr("Apply the step"), Qt::CTRL | Qt::Key_Return,
      tr("Applies the transform as its form stands, once its verdict is known"), [this] {
        if (editor_->active() && editor_->attempt() && !editor_->attempt()->verdict.malformed)
          apply(editor_->attempt()->step);
      });
  make_undo_actions();
  save_ = add_command(tr("Save script…"), {},
                      tr("Save the steps that lead to this schedule as STEPS.json, as `nautilusc "
                         "apply` reads it"),
                      [this] {
                        const QString file = QFileDialog::getSaveFileName(
                            this, tr("Save the script"), QStringLiteral("STEPS.json"),
                            tr("Scripts (*.json)"));
                        if (!file.isEmpty()) save_script(file);
                      });
  load_ =
      add_command(tr("Replay script…"), {},
                  tr("Apply the steps of a STEPS.json to the program as it was written"), [this] {
                    const QString file = QFileDialog::getOpenFileName(
                        this, tr("Replay a script"), QString(), tr("Scripts and plans (*.json)"));
                    if (!file.isEmpty()) load_script(file);
                  });
  add_command(tr("Show all of the tree"), {}, tr("Show all of the tree (Space)"),
              [this] { canvas_->show_all(); });
}

// Of the window's one stack.
void ScheduleView::make_undo_actions() {
  undo_ = hand_->undo_stack().createUndoAction(this, tr("Undo"));
  undo_->setIconText(tr("↶ Undo"));
  undo_->setToolTip(
      tr("Take back the last step or filter: back to the candidate that the step was applied to; "
         "what was tried stays in the search tree (Ctrl+Z)"));
  undo_->setShortcut(QKeySequence("Ctrl+Z"));
  redo_ = hand_->undo_stack().createRedoAction(this, tr("Redo"));
  redo_->setIconText(tr("↷ Redo"));
  redo_->setToolTip(tr("Forward again (Ctrl+Shift+Z)"));
  redo_->setShortcuts({QKeySequence("Ctrl+Shift+Z"), QKeySequence("Ctrl+Y")});
  for (QAction* a : {undo_, redo_}) add_command(a);
}

QAction* ScheduleView::own_action(const QKeyEvent& e) const {
  for (const auto& [key, action] :
       {std::pair(QKeySequence::Undo, undo_), {QKeySequence::Redo, redo_}})
    if (e.matches(key) && action->isEnabled()) return action;
  return nullptr;
}

bool ScheduleView::event(QEvent* e) {
  if (e->type() == QEvent::ShortcutOverride && own_action(*static_cast<QKeyEvent*>(e)))
    return e->accept(), true;
  return View::event(e);
}

void ScheduleView::keyPressEvent(QKeyEvent* e) {
  QAction* a = own_action(*e);
  return a ? a->trigger() : View::keyPressEvent(e);
}

// Every transform of the registry; those that do not take the selected node pick the nearest that
// they do, and come after the others.
void ScheduleView::fill_menu() {
  menu_->clear();
  const int row = tree_.row_of(shared_.selection.now().tree_node);
  QList<QAction*> others;
  for (const poly::TransformInfo& t : poly::transforms()) {
    const QString name = QString::fromStdString(t.name);
    auto* a = new QAction(name, menu_);
    a->setToolTip(QString::fromStdString(t.summary));
    a->setStatusTip(a->toolTip());
    connect(a, &QAction::triggered, this, [this, name] { begin_transform(name); });
    if (row < 0 || fits(t, tree_.boxes[static_cast<size_t>(row)].kind))
      menu_->addAction(a);
    else
      others << a;
  }
  if (!others.isEmpty()) menu_->addSection(tr("on another node"));
  menu_->addActions(others);
  for (QAction* a : menu_->actions()) a->setEnabled(a->isSeparator() || !tree_.boxes.empty());
}

void ScheduleView::begin_transform(const QString& name) {
  const poly::TransformInfo* t = poly::transform(name.toStdString());
  if (!t || tree_.boxes.empty()) return;
  show_preview(false);
  const Selected& now = shared_.selection.now();
  editor_->begin(*t, tree_, now.tree_node, now.statement.toStdString());
  editor_->show();
  const bool wide = splitter_->width() > 620;
  splitter_->setOrientation(wide ? Qt::Horizontal : Qt::Vertical);
  if (StepField* f = editor_->field(QString::fromStdString(t->params.front().name))) f->setFocus();
}

void ScheduleView::close_editor() {
  const bool had = editor_->isVisibleTo(this);
  editor_->end();
  editor_->hide();
  if (!had) return;
  show_preview(false);
  canvas_->setFocus();
}

void ScheduleView::ask_tree() {
  const int id = node();
  if (id == shown_ || !isVisible()) return;  // what nobody sees is not made
  shown_ = id;
  close_editor();
  if (id != told_) note_->clear();
  if (!shared_.document.node(id)) {
    waiting_tree_ = false;
    show_tree({{}, nothing_selected(tr("to see its schedule")).toStdString(), false});
    return;
  }
  waiting_tree_ = true;
  made_of_ = made_of(*shared_.document.node(id));
  const Path path = Bench::path_nodes(shared_.document.session().result, id);
  shared_.bench.ask<TreeAnswer>(
      this, QStringLiteral("schedule tree"),
      [path](const Workpiece& w, const CancelToken&) { return tree_job(w, path); },
      [this, id](TreeAnswer a) {
        if (id != shown_) return;
        waiting_tree_ = false;
        show_tree(a);
      });
}

void ScheduleView::show_tree(const TreeAnswer& a) {
  tree_ = a.tree;
  const QString remark = QString::fromStdString(a.remark);
  save_->setEnabled(a.made);
  transform_button_->setEnabled(a.made);
  if (!a.made) return canvas_->set_message(remark);
  canvas_->set_tree(tree_, {});
  if (!remark.isEmpty() && told_ != shown_) say(remark, true);
  const Selected& now = shared_.selection.now();
  canvas_->set_selected(now.tree_node, now.statement);
}

void ScheduleView::on_selection(unsigned parts) {
  if (parts & Selection::Node) ask_tree();
  const Selected& now = shared_.selection.now();
  if (parts & (Selection::TreeNode | Selection::Statement | Selection::Node))
    canvas_->set_selected(now.tree_node, now.statement);
  if (parts & Selection::Hover)
    canvas_->set_hovered(shared_.selection.hovered_tree_node(),
                         shared_.selection.hovered_statement());
}

// A click goes to the parameter that picks, else to the shared selection.
void ScheduleView::on_chosen(int id) {
  if (editor_->active() && editor_->picking()) return editor_->pick(id);
  shared_.selection.select_tree_node(id);
  const int row = tree_.row_of(id);
  if (row < 0) return;
  const TreeBox& b = tree_.boxes[static_cast<size_t>(row)];
  if (b.statements.size() == 1)
    shared_.selection.select_statement(QString::fromStdString(b.statements.front()));
}

void ScheduleView::ask_verdict(const poly::TransformStep& step) {
  const Path path = Bench::path_nodes(shared_.document.session().result, node());
  waiting_verdict_ = true;
  shared_.bench.ask<Attempt>(
      this, QStringLiteral("verdict"),
      [path, step](const Workpiece& w, const CancelToken&) { return attempt_job(w, path, step); },
      [this, step](Attempt a) {
        waiting_verdict_ = false;
        const poly::TransformStep now = editor_->step();
        if (now.name == step.name && now.params == step.params) editor_->set_attempt(a);
      });
}

void ScheduleView::apply(const poly::TransformStep& step) {
  if (!editor_->attempt() || hand_->busy()) return;
  apply_requested(node(), step, editor_->attempt()->verdict);
  say(tr("Applying %1 …").arg(QString::fromStdString(step_text(step))), false);
  hand_->apply(node(), {step});
}

void ScheduleView::show_preview(bool on) {
  const bool after =
      on && editor_->active() && editor_->attempt() && editor_->attempt()->verdict.accepted();
  if (after)
    canvas_->set_tree(editor_->attempt()->after, editor_->attempt()->touched);
  else if (!tree_.boxes.empty())
    canvas_->set_tree(tree_, {});
}

bool ScheduleView::save_script(const QString& file) {
  QSaveFile out(file);
  if (!out.open(QIODevice::WriteOnly) || out.write(HandSteps::script_text(tree_.script)) < 0 ||
      !out.commit()) {
    say(tr("%1: %2").arg(file, out.errorString()), true);
    return false;
  }
  say(tr("%1 steps written to %2").arg(tree_.script.size()).arg(file), false);
  return true;
}

bool ScheduleView::load_script(const QString& file) {
  QFile in(file);
  if (!in.open(QIODevice::ReadOnly)) {
    say(tr("%1: %2").arg(file, in.errorString()), true);
    return false;
  }
  const auto steps = HandSteps::script_from(in.readAll());
  if (!steps) {
    say(QString::fromStdString(steps.error().text()), true);
    return false;
  }
  hand_->replay(*steps);
  return true;
}

void ScheduleView::say(const QString& text, bool bad) {
  QPalette colours = note_->palette();
  colours.setColor(QPalette::WindowText, bad ? shared_.theme.bad() : shared_.theme.muted());
  note_->setPalette(colours);
  note_->setText(text);
  note_->setToolTip(text);
  message(text);
}

QSizeF ScheduleView::picture_size() const {
  return canvas_->layout_of_tree().bounds.size() + QSizeF(40, 60);
}

void ScheduleView::paint_picture(QPainter& p, const QRectF& page) {
  p.fillRect(page, shared_.theme.background());
  const QRectF world = canvas_->layout_of_tree().bounds;
  if (world.isEmpty()) return;
  const double legend = 24;
  const double scale = std::min(
      {(page.width() - 24) / world.width(), (page.height() - 24 - legend) / world.height(), 1.5});
  p.save();
  p.translate(page.left() + 12, page.top() + 12);
  p.scale(scale, scale);
  p.translate(-world.topLeft());
  canvas_->paint_tree(p, world, 1);
  p.restore();
  p.setPen(shared_.theme.muted());
  p.setFont(shared_.theme.ui());
  p.drawText(QRectF(page.left() + 12, page.bottom() - legend, page.width() - 24, legend),
             Qt::AlignVCenter,
             tr("↻ band   ≡ sequence   ▽ filter   ⚑ mark   ×n tile of n   ▦ grid   ▤ warpgroup   "
                "▣ tile of values   ⇊ unrolled   ⚒ correction"));
}

QList<QJsonObject> ScheduleView::export_rows() const {
  QList<QJsonObject> out;
  for (size_t k = 0; k < tree_.boxes.size(); ++k) {
    const TreeBox& b = tree_.boxes[k];
    QJsonObject row;
    row[QStringLiteral("id")] = b.id;
    row[QStringLiteral("parent")] =
        b.parent < 0 ? -1 : tree_.boxes[static_cast<size_t>(b.parent)].id;
    row[QStringLiteral("node")] = row_text(tree_, static_cast<int>(k)).section(u'\n', 0, 0);
    QString members;
    for (const TreeMember& m : b.members)
      members += (members.isEmpty() ? QString() : QStringLiteral("; ")) + member_text(m);
    row[QStringLiteral("members")] = members;
    out << row;
  }
  return out;
}

View* make_schedule_view(Shared shared, QWidget* parent) {
  return new ScheduleView(shared, parent);
}

}  // namespace nautilus::gui
