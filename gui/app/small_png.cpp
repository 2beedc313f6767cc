#include "gui/app/small_png.h"

#include <QBuffer>
#include <QHash>
#include <algorithm>
#include <climits>
#include <tuple>
#include <vector>

namespace nautilus::gui {
namespace {

constexpr size_t kPngColours = 256;
constexpr int kMostCompression = 0;  // QImage::save's quality: the most compression

int colour_distance(QRgb a, QRgb b) {
  const int r = qRed(a) - qRed(b), g = qGreen(a) - qGreen(b), l = qBlue(a) - qBlue(b);
  return 2 * r * r + 4 * g * g + l * l;
}

// Half by how many pixels have them, half by how far they are from all chosen before: a colour of a
// few pixels may be the one that matters.
QList<QRgb> png_palette(const QHash<QRgb, int>& count) {
  struct Candidate {
    int pixels, far;
    QRgb colour;
  };
  std::vector<Candidate> all;
  for (auto at = count.begin(); at != count.end(); ++at)
    all.push_back({at.value(), INT_MAX, at.key()});
  QList<QRgb> out;
  while (!all.empty() && static_cast<size_t>(out.size()) < kPngColours) {
    const bool popular = static_cast<size_t>(out.size()) < kPngColours / 2;
    const auto next =
        std::max_element(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
          return popular ? std::tie(a.pixels, a.colour) < std::tie(b.pixels, b.colour)
                         : std::tie(a.far, a.colour) < std::tie(b.far, b.colour);
        });
    const QRgb chosen = next->colour;
    out << chosen;
    *next = all.back();
    all.pop_back();
    for (Candidate& c : all) c.far = std::min(c.far, colour_distance(c.colour, chosen));
  }
  return out;
}

}  // namespace

QByteArray small_png(const QImage& image) {
  if (image.isNull()) return {};
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
  if (from.isNull() || out.isNull()) return {};
  out.setColorTable(colours);
  for (int y = 0; y < from.height(); ++y) {
    const auto* line = reinterpret_cast<const QRgb*>(from.constScanLine(y));
    uchar* to = out.scanLine(y);
    for (int x = 0; x < from.width(); ++x) to[x] = static_cast<uchar>(count[line[x]]);
  }
  QBuffer png;
  png.open(QIODevice::WriteOnly);
  return out.save(&png, "PNG", kMostCompression) ? png.data() : QByteArray();
}

}  // namespace nautilus::gui
