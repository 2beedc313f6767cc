#include "gui/views/iteration_canvas.h"

#include <QKeyEvent>
#include <climits>

namespace nautilus::gui {

IterationCanvas::IterationCanvas(Theme& theme, QWidget* parent) : Canvas(parent), theme_(theme) {
  setAccessibleName(tr("Iteration space"));
  setToolTip(
      tr("Arrows move between instances, P plays, comma and full stop step, Home and End go "
         "to the first and last step, WASD and the wheel move the view"));
  setToolTipDuration(3000);
  connect(&theme_, &Theme::changed, this, qOverload<>(&QWidget::update));
}

void IterationCanvas::set_scene(const IterationPicture& p, std::vector<PanelChoice> choices,
                                bool together) {
  const QRectF before = scene_.bounds();
  message_.clear();
  scene_.set(p, std::move(choices), together);
  state_.hovered = state_.chosen = -1;
  state_.step = -1;
  if (scene_.bounds() != before || !moved_by_hand()) fit();
  update();
}

void IterationCanvas::set_message(const QString& m) {
  message_ = m;
  scene_.set({}, {}, false);
  state_ = SceneState{-1, -1, -1, state_.kept, -1};
  update();
}

void IterationCanvas::set_step(int step) {
  state_.step = step;
  update();
}

void IterationCanvas::set_arrows(bool kept) {
  state_.kept = kept;
  update();
}

void IterationCanvas::set_chosen(int point) {
  state_.chosen = point;
  if (point >= 0) {
    Viewport v = viewport_;
    const double half = IterationScene::kCell / 2;
    v.reveal(QRectF(scene_.position(point) - QPointF(half, half),
                    QSizeF(IterationScene::kCell, IterationScene::kCell)),
             12);
    if (v.centre != viewport_.centre) set_viewport(v);
    setAccessibleDescription(point_text(scene_.picture(), point));
  }
  update();
  pointed(point);
}

void IterationCanvas::paint_canvas(QPainter& p) {
  p.fillRect(rect(), theme_.background());
  if (scene_.empty()) {
    p.setPen(theme_.muted());
    p.drawText(rect().adjusted(16, 16, -16, -16), Qt::AlignCenter | Qt::TextWordWrap, message_);
    return;
  }
  p.save();
  p.translate(viewport_.to_screen(QPointF(0, 0)));
  p.scale(viewport_.scale, viewport_.scale);
  scene_.paint(p, theme_, viewport_.visible(), viewport_.scale, state_);
  p.restore();
  if (!hasFocus()) return;
  p.setBrush(Qt::NoBrush);
  p.setPen(QPen(theme_.accent(), 1));
  p.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
}

void IterationCanvas::hover_at(QPointF at) {
  const int point = scene_.point_at(viewport_.to_world(at));
  if (point == state_.hovered) return;
  state_.hovered = point;
  update();
  pointed(point >= 0 ? point : state_.chosen);
}

void IterationCanvas::leave() {
  state_.hovered = -1;
  update();
  pointed(state_.chosen);
}

void IterationCanvas::click_at(QPointF at, Qt::KeyboardModifiers) {
  set_chosen(scene_.point_at(viewport_.to_world(at)));
}

bool IterationCanvas::key(QKeyEvent* e) {
  if (scene_.empty() || e->modifiers() != Qt::NoModifier) return false;
  auto go = [&](int dx, int dy) {
    set_chosen(scene_.neighbour(state_.chosen, dx, dy));
    return true;
  };
  switch (e->key()) {
    case Qt::Key_Left:
      return go(-1, 0);
    case Qt::Key_Right:
      return go(1, 0);
    case Qt::Key_Up:
      return go(0, -1);
    case Qt::Key_Down:
      return go(0, 1);
    case Qt::Key_P:
    case Qt::Key_K:
      return play_key(), true;
    case Qt::Key_Comma:
      return step_key(-1), true;
    case Qt::Key_Period:
      return step_key(1), true;
    case Qt::Key_Home:
      return step_key(INT_MIN), true;
    case Qt::Key_End:
      return step_key(INT_MAX), true;
    case Qt::Key_Escape:
      return set_chosen(-1), true;
    default:
      return false;
  }
}

}  // namespace nautilus::gui
