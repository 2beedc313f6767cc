// Screenshots that stay small in a repository.
#pragma once

#include <QByteArray>
#include <QImage>

namespace nautilus::gui {

// With a palette of 256 colours; others become the nearest of them.
QByteArray small_png(const QImage& image);

}  // namespace nautilus::gui
