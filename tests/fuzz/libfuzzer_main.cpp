#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  nautilus::fuzz::NAUTILUS_FUZZ_TARGET(data, size);
  return 0;
}
