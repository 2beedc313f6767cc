#include <cmath>
#include <nlohmann/json.hpp>

#include "compiler/runtime/runtime.h"

namespace nautilus::runtime {

// JSON has no infinities: those become strings.
nlohmann::json to_json(const RunResult& r) {
  const auto number = [](double v) -> nlohmann::json {
    if (std::isfinite(v)) return v;
    return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
  };
  return {{"passed", r.passed},
          {"max_error", number(r.max_error)},
          {"rms_error", number(r.rms_error)},
          {"baseline_max_error", number(r.baseline_max_error)},
          {"baseline_rms_error", number(r.baseline_rms_error)},
          {"seconds", r.seconds},
          {"compile_seconds", r.compile_seconds},
          {"reference_seconds", r.reference_seconds},
          {"compared", r.compared},
          {"failure", r.failure},
          {"worst", r.worst},
          {"suggest", r.suggest}};
}

}  // namespace nautilus::runtime
