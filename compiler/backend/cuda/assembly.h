// What the CUDA toolkit makes of a source, for people to read. Takes seconds.
#pragma once

#include <optional>
#include <string>

#include "compiler/backend/cuda/cuda.h"

namespace nautilus::cuda {

Expected<std::string> ptx_text(const Source& s);   // with .loc lines
Expected<std::string> sass_text(const Source& s);  // line comments where nvdisasm is there
// Path of nvdisasm, else of cuobjdump; nullopt where there is neither.
std::optional<std::string> find_disassembler();

}  // namespace nautilus::cuda
