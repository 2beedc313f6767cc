// Limits of time hold for what users run; what the sanitizers watch takes longer.
#pragma once

namespace nautilus::gui {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr double kSlower = 20;
#else
inline constexpr double kSlower = 1;
#endif

}  // namespace nautilus::gui
