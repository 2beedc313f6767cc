// Painting of the list of stages: a mark for what a pass did, in shape and colour.
#pragma once

#include <QListWidget>

#include "gui/models/plan_stages.h"
#include "gui/models/theme.h"

namespace nautilus::gui {

// "●" changed, "○" as before, "✗" refused, "…" made when shown; "·" no pass.
QString stage_mark(const Stage& s);
QListWidgetItem* stage_item(const Stage& s, const Theme& theme, bool shown);

}  // namespace nautilus::gui
