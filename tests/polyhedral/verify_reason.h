// What the verifier says of a planted fault, without the sample that it happened to meet: the check
// that saw it, and of what.
#pragma once

#include <regex>
#include <string>

namespace nautilus::poly::verifying {

// Elements become [..], values #, and the sizes in hand are left out: "C[0, 1], K=16 is 6.75:f64 on
// sampled data, and was nan:f64" is "C[..] is # on sampled data, and was #".
inline std::string reason(std::string why) {
  static const std::regex sizes(R"( \(with [^)]*\)|(, \w+=-?\d+)+)"), element(R"(\[[^\]]*\])"),
      value(R"(-?(\d+(\.\d+)?(e[-+]?\d+)?|nan|inf):f64)");
  why = why.substr(0, why.find(" (try: "));
  why = std::regex_replace(why, sizes, "");
  why = std::regex_replace(why, element, "[..]");
  return std::regex_replace(why, value, "#");
}

}  // namespace nautilus::poly::verifying
