// Pieces of the text form shared by printers and parsers of this folder.
#pragma once

#include "compiler/memory/layout.h"
#include "compiler/tile/cursor.h"

namespace nautilus::memory {

// Readers stop at what is not theirs; errors stay in the cursor.
Linear read_linear(tile::Cursor& c);
Placement read_placement(tile::Cursor& c);

}  // namespace nautilus::memory
