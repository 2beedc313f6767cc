#include "gui/views/code_view.h"

#include <QHBoxLayout>
#include <QJsonArray>
#include <QPainter>
#include <algorithm>

#include "gui/models/background.h"
#include "gui/views/code_list.h"

namespace nautilus::gui {

CodeView::CodeView(Shared shared, QWidget* parent)
    : View(shared, QStringLiteral("code"), tr("Code"), parent) {
  build();
  make_actions();
  for (const char* id : {"spec", "tile.rewrite", "cuda"}) add_pane(QString::fromLatin1(id));
  set_active(2);
  connect(&shared_.selection, &Selection::changed, this, [this](unsigned parts) {
    if (parts & Selection::Node) ask();
    if (parts & (Selection::TreeNode | Selection::Statement | Selection::Hover)) light();
    if (parts & (Selection::TreeNode | Selection::Statement))
      for (Pane& p : panes_)
        if (!p.text->hasFocus()) p.text->reveal();
  });
  connect(&shared_.document, &Document::reset, this, &CodeView::ask);
  connect(&shared_.document, &Document::options_changed, this, &CodeView::ask);
  when_bench_fails([this](const QString&, const QString& why) {
    asked_ = false;
    for (Pane& p : panes_) p.text->set_message(why);
  });
  connect(&shared_.theme, &Theme::changed, this, [this] { fill_list(); });
  ask();
}

void CodeView::showEvent(QShowEvent* e) {
  View::showEvent(e);
  if (stale_) ask();
}

// Only what is on screen costs the bench's time; what is hidden catches up when it is shown.
void CodeView::ask() {
  const int node = shared_.selection.now().node;
  if (!isVisible()) {
    stale_ = true;
    return;
  }
  stale_ = waived_ = false;
  if (node < 0 || shared_.document.empty()) {
    ++plans_;
    plan_.reset();
    asked_ = false;
    for (Pane& p : panes_) fill(p);
    return fill_list();
  }
  asked_ = true;
  const sched::Session& session = shared_.document.session();
  const SpecText spec = SpecText::of(session);
  shared_.bench.ask<PlanStagesPtr>(
      this, QStringLiteral("code"),
      [path = Bench::path_nodes(session.result, node), spec](
          const Workpiece& w, const CancelToken& c) { return stages_of(w, c, path, spec); },
      [this](PlanStagesPtr made) { answer(std::move(made)); });
}

void CodeView::answer(PlanStagesPtr made) {
  asked_ = false;
  ++plans_;
  plan_ = std::move(made);
  fill_list();
  for (Pane& p : panes_) fill(p);
  light();
  for (Pane& p : panes_) p.text->reveal();
}

// The last stage of the same syntax before this one.
const Stage* CodeView::before(const Stage& s) const {
  const Stage* last = nullptr;
  for (const Stage& t : plan_->stages) {
    if (t.id == s.id) return last;
    if (t.syntax == s.syntax && !t.refusal) last = &t;
  }
  return nullptr;
}

void CodeView::fill(Pane& p) {
  const Stage* s = plan_ ? plan_->find(p.stage) : nullptr;
  if (!s && plan_ && p.stage.startsWith(QLatin1String("memory."))) s = plan_->find("memory");
  if (!s && plan_ && p.stage == QLatin1String("cuda")) s = plan_->find("cpp");
  if (!s && plan_ && p.stage == QLatin1String("cpp")) s = plan_->find("cuda");
  p.head->setText(s ? s->title : plan_ ? p.stage : tr("Code"));
  if (!s) {
    p.text->set_message(plan_ ? tr("This plan has no such stage: choose one from the list.")
                              : nothing_selected(tr("to see its code")));
    return;
  }
  p.text->set_stage(plan_, *s);
  if (s->on_demand && !s->refusal) {
    p.text->set_message(waived_ ? given_up_text() : tr("The compiler is at work…"));
    if (!waived_) make_on_demand(*s);
  }
  const Stage* last = before(*s);
  p.diff->setEnabled(last && !s->refusal);
  p.diff->setChecked(p.changes);
  if (p.changes && last && !s->refusal) p.text->show_changes(*last);
}

void CodeView::make_on_demand(const Stage& s) {
  if (!plan_->source) return;
  const auto key = std::pair(plans_, s.id);
  if (making_.contains(key)) return;
  if (making_.empty()) {
    stop_ = std::make_shared<std::atomic<bool>>(false);
    works(tr("building %1 with nvcc").arg(s.title));
  }
  making_.insert(key);
  const Assembly what = s.syntax == Syntax::Ptx ? Assembly::Ptx : Assembly::Sass;
  in_background<Stage>(
      this,
      [source = *plan_->source, what, cuda = *plan_->find(QStringLiteral("cuda")), stop = stop_] {
        return make_assembly(source, what, cuda, stop.get());
      },
      [this, key, stop = stop_](Stage made) {
        if (stop->load()) return;
        making_.erase(key);
        if (making_.empty()) works({});
        if (key.first != plans_) return;
        auto with = std::make_shared<PlanStages>(*plan_);
        for (Stage& t : with->stages)
          if (t.id == made.id) t = made;
        plan_ = with;
        for (Pane& p : panes_)
          if (p.stage == made.id) fill(p);
        fill_list();
        light();
      });
}

QString CodeView::given_up_text() { return tr("Given up. Choose it from the list to make it."); }

void CodeView::give_up() {
  waived_ = busy();  // an answer on its way begins nothing either
  if (making_.empty()) return;
  stop_->store(true);
  making_.clear();
  works({});
  for (Pane& p : panes_)
    if (const Stage* s = plan_ ? plan_->find(p.stage) : nullptr; s && s->on_demand && !s->refusal)
      p.text->set_message(given_up_text());
}

void CodeView::show_stage(int n, const QString& id) {
  Pane& p = panes_[size_t(n)];
  p.stage = id;
  waived_ = false;
  fill(p);
  light();
  fill_list();
}

void CodeView::close_pane(int n) {
  if (panes_.size() < 2) return;
  panes_[size_t(n)].box->deleteLater();
  panes_.erase(panes_.begin() + n);
  set_active(std::min(active_, int(panes_.size()) - 1));
}

void CodeView::set_active(int n) {
  active_ = std::clamp(n, 0, int(panes_.size()) - 1);
  for (size_t k = 0; k < panes_.size(); ++k) {
    QFont f = panes_[k].head->font();
    f.setBold(int(k) == active_);
    panes_[k].head->setFont(f);
    panes_[k].close->setEnabled(panes_.size() > 1);
  }
  fill_list();
}

void CodeView::step_pass(int direction) {
  if (!plan_) return;
  std::vector<QString> ids;
  for (const Stage& s : plan_->stages)
    if (s.pass || s.id == QLatin1String("cuda") || s.id == QLatin1String("cpp"))
      ids.push_back(s.id);
  if (ids.empty()) return;
  const QString& now = panes_[size_t(active_)].stage;
  const auto at = std::find(ids.begin(), ids.end(), now);
  int next = direction > 0 ? 0 : int(ids.size()) - 1;
  if (at != ids.end()) next = int(at - ids.begin()) + direction;
  if (next < 0 || next >= int(ids.size())) return;
  show_stage(active_, ids[size_t(next)]);
}

void CodeView::set_diff(bool on) {
  Pane& p = panes_[size_t(active_)];
  if (p.changes == on) return;
  p.changes = on;
  fill(p);
  light();
}

void CodeView::light() {
  const Selected& now = shared_.selection.now();
  const Focus selected{now.tree_node, now.statement};
  const Focus hovered{shared_.selection.hovered_tree_node(), shared_.selection.hovered_statement()};
  for (Pane& p : panes_) p.text->set_focus(selected, hovered);
}

void CodeView::find(bool forward) {
  const int n = panes_[size_t(active_)].text->find(find_->text(), forward);
  found_->setText(find_->text().isEmpty() ? QString() : tr("%n line(s)", nullptr, n));
}

void CodeView::paint_picture(QPainter& p, const QRectF& page) {
  const int count = int(panes_.size()), head = 22;
  const double width = page.width() / count;
  p.fillRect(page, shared_.theme.background());
  for (int n = 0; n < count; ++n) {
    const QRectF box(page.left() + n * width, page.top(), width - 6, page.height());
    p.setFont(shared_.theme.ui());
    p.setPen(shared_.theme.text());
    p.drawText(QRectF(box.left() + 4, box.top(), box.width(), head), Qt::AlignVCenter,
               panes_[size_t(n)].head->text());
    panes_[size_t(n)].text->paint_on(p, box.adjusted(0, head, 0, 0).toRect());
  }
}

QList<QJsonObject> CodeView::export_rows() const {
  QList<QJsonObject> out;
  if (!plan_) return out;
  for (const Stage& s : plan_->stages) {
    QJsonObject row{{"stage", s.id}, {"title", s.title}, {"text", s.lines.join(QLatin1Char('\n'))}};
    if (s.refusal) row["refused"] = QString::fromStdString(s.refusal->text());
    out << row;
  }
  return out;
}

QJsonObject CodeView::viewport() const {
  QJsonArray stages;
  for (const Pane& p : panes_) stages.append(p.stage);
  return {{"panes", stages}, {"active", active_}};
}

void CodeView::set_viewport(const QJsonObject& v) {
  const QJsonArray stages = v["panes"].toArray();
  if (stages.isEmpty() || stages.size() > 8) return;
  while (panes_.size() > size_t(stages.size())) close_pane(int(panes_.size()) - 1);
  for (int n = 0; n < stages.size(); ++n) {
    if (size_t(n) >= panes_.size())
      add_pane(stages[n].toString());
    else
      show_stage(n, stages[n].toString());
  }
  set_active(v["active"].toInt());
}

View* make_code_view(Shared shared, QWidget* parent) { return new CodeView(shared, parent); }

}  // namespace nautilus::gui
