// Text links to what is on screen: "FILE#node=42&view=roofline". FILE may itself hold a '#': what
// counts is the last one that is followed by NAME=VALUE pairs.
#pragma once

#include <QString>

namespace nautilus::gui {

struct Link {
  QString file;
  int node = -1;
  QString view, lesson;  // "" if not named
  bool operator==(const Link&) const = default;
};
QString to_string(const Link& l);
// Unknown names and values that are no numbers are left out, and named in `ignored`.
Link link_from_string(const QString& s, QString* ignored = nullptr);

}  // namespace nautilus::gui
