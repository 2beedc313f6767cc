#include "gui/app/commands.h"

#include <QKeySequence>
#include <QWidget>

namespace nautilus::gui {

Commands::Commands(QWidget* window) : QObject(window), window_(window) {}

QAction* Commands::add(const QString& id, const QString& group, const QString& text,
                       const QString& keys, const QString& tip, std::function<void()> run) {
  auto* a = new QAction(text, window_);
  a->setObjectName(id);
  QList<QKeySequence> sequences;
  for (const QString& k : keys.split(", ", Qt::SkipEmptyParts)) sequences << QKeySequence(k);
  a->setShortcuts(sequences);
  a->setToolTip(keys.isEmpty() ? tip : tip + " (" + keys + ")");
  a->setStatusTip(tip);
  connect(a, &QAction::triggered, this, [run = std::move(run)] { run(); });
  window_->addAction(a);
  all_ << Command{id, group, a};
  return a;
}

void Commands::adopt(const QString& id, const QString& group, QAction* action) {
  all_ << Command{id, group, action};
}

QAction* Commands::action(const QString& id) const {
  for (const Command& c : all_)
    if (c.id == id) return c.action;
  return nullptr;
}

bool Commands::run(const QString& id) const {
  QAction* a = action(id);
  if (!a || !a->isEnabled()) return false;
  a->trigger();
  return true;
}

}  // namespace nautilus::gui
