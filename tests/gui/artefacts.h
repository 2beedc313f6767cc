// Where tests leave what people look at: build/PRESET/artefacts/gui, or $NAUTILUS_PICTURES.
#pragma once

#include <QDir>

namespace nautilus::gui {

inline QDir artefacts(const QString& folder) {
  const QDir all(qEnvironmentVariable("NAUTILUS_PICTURES",
                                      QStringLiteral(NAUTILUS_BIN_DIR "/../artefacts/gui")));
  const QDir d(QDir::cleanPath(all.absoluteFilePath(folder)));
  d.mkpath(".");
  return d;
}

// The same without what an earlier run left there.
inline QDir fresh_artefacts(const QString& folder) {
  artefacts(folder).removeRecursively();
  return artefacts(folder);
}

}  // namespace nautilus::gui
