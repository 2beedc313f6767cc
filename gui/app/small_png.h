// Screenshots that stay small in a repository.
#pragma once

#include <QByteArray>
#include <QImage>

namespace nautilus::gui {

// With a palette: the 256 colours that most pixels have; others become the nearest of them.
QByteArray small_png(const QImage& image);

}  // namespace nautilus::gui
