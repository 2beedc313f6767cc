// What the roofs need to know of the program: found out on the bench, where isl objects live.
#pragma once

#include "gui/models/bench.h"
#include "gui/views/roofline_geometry.h"

namespace nautilus::gui {

ProgramUse program_use(const Workpiece& w);

}  // namespace nautilus::gui
