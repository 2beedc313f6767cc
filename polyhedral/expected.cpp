#include "polyhedral/expected.h"

namespace nautilus {

// Joins the parts that are there: "asked: where: why (try: suggest)".
std::string Refusal::text() const {
  std::string out;
  for (const std::string* part : {&asked, &where, &why}) {
    if (part->empty()) continue;
    if (!out.empty()) out += ": ";
    out += *part;
  }
  if (!suggest.empty()) out += (out.empty() ? "try: " + suggest : " (try: " + suggest + ")");
  return out;
}

}  // namespace nautilus
