// What the CUDA toolkit makes of a source, for people to read. Takes seconds; `stop`, once set,
// ends it with a refusal.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "compiler/backend/cuda/cuda.h"

namespace nautilus::cuda {

// With .loc lines.
Expected<std::string> ptx_text(const Source& s, const std::atomic<bool>* stop = nullptr);
// With line comments where nvdisasm is there.
Expected<std::string> sass_text(const Source& s, const std::atomic<bool>* stop = nullptr);
// Path of nvdisasm, else of cuobjdump; nullopt where there is neither.
std::optional<std::string> find_disassembler();

}  // namespace nautilus::cuda
