#include "gui/app/small_png.h"

#include <QBuffer>
#include <QHash>
#include <algorithm>
#include <vector>

namespace nautilus::gui {
namespace {

constexpr size_t kPngColours = 256;
constexpr int kMostCompression = 0;  // QImage::save's quality: the most compression

int colour_distance(QRgb a, QRgb b) {
  const int r = qRed(a) - qRed(b), g = qGreen(a) - qGreen(b), l = qBlue(a) - qBlue(b);
  return 2 * r * r + 4 * g * g + l * l;
}

QList<QRgb> png_palette(const QHash<QRgb, int>& count) {
  std::vector<std::pair<int, QRgb>> all;
  for (auto at = count.begin(); at != count.end(); ++at) all.emplace_back(-at.value(), at.key());
  std::sort(all.begin(), all.end());
  QList<QRgb> out;
  for (size_t k = 0; k < std::min(kPngColours, all.size()); ++k) out << all[k].second;
  return out;
}

}  // namespace

QByteArray small_png(const QImage& image) {
  const QImage from = image.convertToFormat(QImage::Format_RGB32);
  QHash<QRgb, int> count;
  for (int y = 0; y < from.height(); ++y) {
    const auto* line = reinterpret_cast<const QRgb*>(from.constScanLine(y));
    for (int x = 0; x < from.width(); ++x) ++count[line[x]];
  }
  const QList<QRgb> colours = png_palette(count);
  for (auto at = count.begin(); at != count.end(); ++at) {  // from now on: the index
    const auto nearest = std::min_element(colours.begin(), colours.end(), [&](QRgb a, QRgb b) {
      return colour_distance(a, at.key()) < colour_distance(b, at.key());
    });
    at.value() = static_cast<int>(nearest - colours.begin());
  }
  QImage out(from.size(), QImage::Format_Indexed8);
  out.setColorTable(colours);
  for (int y = 0; y < from.height(); ++y) {
    const auto* line = reinterpret_cast<const QRgb*>(from.constScanLine(y));
    uchar* to = out.scanLine(y);
    for (int x = 0; x < from.width(); ++x) to[x] = static_cast<uchar>(count[line[x]]);
  }
  QBuffer png;
  png.open(QIODevice::WriteOnly);
  out.save(&png, "PNG", kMostCompression);
  return png.data();
}

}  // namespace nautilus::gui
