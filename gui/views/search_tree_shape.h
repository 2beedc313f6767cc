// The first half of make_tree_picture: items and their tree, without places.
#pragma once

#include "gui/views/search_tree_picture.h"

namespace nautilus::gui {

void shape_tree(const TreeQuestion& q, SearchTreePicture& picture);

}  // namespace nautilus::gui
