// The views of the program, in order.
#pragma once

#include <QList>

#include "gui/views/view.h"

namespace nautilus::gui {

QList<View*> make_views(Shared shared, QWidget* parent);

}  // namespace nautilus::gui
