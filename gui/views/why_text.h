// Why a candidate is what it is, in rich text. Links: candidate:ID, node:ID (of the schedule tree),
// statement:NAME.
#pragma once

#include <QString>

#include "gui/models/theme.h"
#include "gui/models/why_data.h"

namespace nautilus::gui {

QString why_html(const Why& w, const sched::SearchNode& n, const WhyContext& c, const Theme& theme);
// The sentence under the picture: which instances, when each runs.
QString picture_caption(const Why& w);

}  // namespace nautilus::gui
