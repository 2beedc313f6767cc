// A button that opens a menu below itself. Its arrow is a part of its text: the styles' own are
// drawn over it.
#pragma once

#include <QMenu>
#include <QToolButton>

namespace nautilus::gui {

inline QToolButton* menu_button(const QString& text, const QString& tip, QMenu* menu,
                                QWidget* parent) {
  auto* b = new QToolButton(parent);
  b->setText(text + QStringLiteral(" ▾"));
  b->setToolTip(tip);
  b->setAccessibleName(text);
  QObject::connect(b, &QToolButton::clicked, menu,
                   [b, menu] { menu->popup(b->mapToGlobal(QPoint(0, b->height()))); });
  return b;
}

}  // namespace nautilus::gui
