// The session that a lesson begins with, and its numbers in words.
#include <cmath>
#include <cstdio>

#include "compiler/driver/common.h"
#include "compiler/driver/searching.h"
#include "compiler/profile/profile.h"
#include "gui/models/lesson_work.h"

namespace nautilus::gui {
