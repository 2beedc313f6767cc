#include "gui/views/quantity.h"

#include <algorithm>
#include <cmath>

namespace nautilus::gui {

QString si(double value, const QString& unit, int digits) {
  if (!std::isfinite(value)) return QStringLiteral("-");
  static const char* const prefixes[] = {"f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E"};
  const double size = std::abs(value);
  int step = size > 0 ? static_cast<int>(std::floor(std::log10(size) / 3)) : 0;
  auto mantissa = [&](int k) {
    const double scaled = value / std::pow(1000.0, k);
    const int whole = size > 0 ? static_cast<int>(std::floor(std::log10(std::abs(scaled)))) + 1 : 1;
    return QString::number(scaled, 'f', std::clamp(digits - whole, 0, digits - 1));
  };
  step = std::clamp(step, -5, 6);
  QString number = mantissa(step);
  if (std::abs(number.toDouble()) >= 1000 && step < 6) number = mantissa(++step);
  const QString prefix = QString::fromUtf8(prefixes[step + 5]);
  if (unit.isEmpty()) return prefix.isEmpty() ? number : number + u' ' + prefix;
  return number + u'\u00a0' + prefix + unit;
}

QString seconds_text(double seconds) { return si(seconds, QStringLiteral("s")); }

QString count_text(qint64 n) {
  QString s = QString::number(n);
  for (qsizetype at = s.size() - 3; at > (n < 0 ? 1 : 0); at -= 3) s.insert(at, u'\u202f');
  return s;
}

QString percent_text(double share) {
  if (!std::isfinite(share)) return QStringLiteral("-");
  const double p = share * 100;
  return QString::number(p, 'f', p != 0 && std::abs(p) < 1 ? 1 : 0) + QStringLiteral("\u00a0%");
}

}  // namespace nautilus::gui
