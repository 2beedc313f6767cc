// A file that two programs may write: replaced as a whole, and only if it is still what it was.
#pragma once

#include <QString>
#include <functional>

#include "autosched/file.h"
#include "autosched/search.h"

namespace nautilus::gui {

struct Replaced {
  std::optional<Refusal> bad;       // it could not be written, or was given up
  bool changed_by_another = false;  // then, and where it is `bad`, the file is as it was
};
// Writes the session to a file beside `file`, asks `changed` and then puts it in its place. What is
// no regular file (a device, a pipe) is written through.
Replaced replace_unless(const std::function<bool()>& changed, const QString& file,
                        const sched::Session& session, const sched::WriteOptions& how);

}  // namespace nautilus::gui
