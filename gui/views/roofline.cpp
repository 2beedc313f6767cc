#include "gui/views/roofline.h"

#include <QComboBox>
#include <QVBoxLayout>

#include "gui/views/menu_button.h"
#include "gui/views/view_bar.h"

namespace nautilus::gui {

RooflineView::RooflineView(Shared shared, QWidget* parent)
    : CanvasView(shared, QStringLiteral("roofline"), tr("Roofline"), parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  make_actions();
  column->addWidget(make_bar());
  column->addWidget(canvas_, 1);
  connect(canvas_, &RooflineCanvas::roofs_changed, this, &RooflineView::show_roofs);
  connect(canvas_, &RooflineCanvas::settings_changed, this, &RooflineView::show_settings);
  show_roofs();
  show_settings();
}

void RooflineView::make_actions() {
  add_command(tr("Machine frame"), {},
              tr("Freeze the axes to whole decades around the machine's roofs (Space)"),
              [this] { canvas_->fit(); });
  add_command(tr("Fit to data"), {}, tr("Show every candidate that is lit (F)"),
              [this] { canvas_->fit_data(); });
  path_ = add_command(tr("Path"), {},
                      tr("Draw the path of transforms to the selected candidate, or to the best"),
                      [this](bool on) { canvas_->set_path_shown(on); });
  path_->setCheckable(true);
}

QWidget* RooflineView::make_bar() {
  auto* bar = new ViewBar(this);
  auto combo = [&](const QString& label, const QString& tip, const QString& object) {
    auto* c = new QComboBox(bar);
    c->setToolTip(tip);
    c->setAccessibleName(label);
    c->setObjectName(object);
    c->setSizeAdjustPolicy(QComboBox::AdjustToContents);  // the levels come later
    bar->add(label, c);
    return c;
  };
  level_ = combo(tr("Level"), tr("The memory level whose traffic gives the intensity (L: next)"),
                 QStringLiteral("roofline_level"));
  colour_ =
      combo(tr("Colour"), tr("By structure or by state (C)"), QStringLiteral("roofline_colour"));
  colour_->addItems({tr("structure"), tr("state")});
  connect(level_, &QComboBox::activated, this,
          [this] { canvas_->set_level(level_->currentData().toString()); });
  connect(colour_, &QComboBox::activated, this,
          [this](int k) { canvas_->set_colour(k == 1 ? ColourBy::State : ColourBy::Family); });
  roofs_menu_ = new QMenu(bar);
  roofs_menu_->setToolTipsVisible(true);
  bar->add(menu_button(tr("Roofs"), tr("Which roofs are drawn, with their values and sources"),
                       roofs_menu_, bar));
  for (QAction* a : view_actions()) {
    auto* b = new QToolButton(bar);
    b->setDefaultAction(a);
    b->setAutoRaise(true);
    b->setAccessibleName(a->text());
    bar->add(b);
  }
  return bar;
}

void RooflineView::show_roofs() {
  roofs_menu_->clear();
  for (size_t k = 0; k < canvas_->roofs().size(); ++k) {
    const Roof& r = canvas_->roofs()[k];
    QAction* a = roofs_menu_->addAction(r.label());
    a->setCheckable(true);
    a->setChecked(r.shown);
    a->setToolTip(r.explanation());
    connect(
        a, &QAction::triggered, this, [this, k](bool on) { canvas_->set_roof_shown(k, on); },
        Qt::QueuedConnection);
  }
  const QSignalBlocker quiet(level_);
  level_->clear();
  level_->addItem(tr("all but registers"), QString());
  for (const std::string& l : canvas_->cloud().levels)
    level_->addItem(QString::fromStdString(l), QString::fromStdString(l));
  show_settings();
}

void RooflineView::show_settings() {
  const QSignalBlocker quiet_level(level_), quiet_colour(colour_);
  level_->setCurrentIndex(std::max(0, level_->findData(canvas_->level())));
  colour_->setCurrentIndex(canvas_->colour() == ColourBy::State ? 1 : 0);
  path_->setChecked(canvas_->path_shown());
}

QList<QJsonObject> RooflineView::export_rows() const {
  QList<QJsonObject> rows;
  const QString machine = QString::fromStdString(shared_.document.session().options.machine.name);
  for (const CloudPoint& c : canvas_->cloud().points) {
    const sched::SearchNode* n = shared_.document.node(c.node);
    if (!n) continue;
    const QString level = QString::fromStdString(canvas_->cloud().levels[c.level]);
    QJsonObject row{{"id", c.node},
                    {"plan", QString::fromStdString(n->decision)},
                    {"machine", machine},
                    {"level", level},
                    {"intensity", world_intensity({c.x, c.y})},
                    {"flops_per_second", world_flops({c.x, c.y})},
                    {"predicted_seconds", n->seconds},
                    {"measured", c.measured},
                    {"right", c.right},
                    {"wrong", c.wrong},
                    {"above_a_roof", c.suspicious}};
    for (const sched::RooflinePoint& p : n->points)
      if (QString::fromStdString(p.level) == level) row["roof"] = p.roof;
    rows << row;
  }
  return rows;
}

View* make_roofline_view(Shared shared, QWidget* parent) {
  return new RooflineView(shared, parent);
}

}  // namespace nautilus::gui
