#include "gui/models/quantity.h"

#include <algorithm>
#include <cmath>

namespace nautilus::gui {
namespace {

const QString kNothing = QStringLiteral("–");
constexpr double kLargest = 1e6;  // that is written out
constexpr QChar kGap(0x00a0), kThousands(0x202f);

bool whole(double v) { return std::abs(v - std::round(v)) <= 1e-9 * std::abs(v); }

// To `digits` that count, without a fraction where there is none. What no prefix brings near one
// has a power of ten: 1e308 has 309 digits, and 1e-308 none that would be seen.
QString mantissa(double v, int digits) {
  if (std::abs(v) >= kLargest || (v != 0 && std::abs(v) < 1 / kLargest))
    return QString::number(v, 'g', digits);
  if (whole(v) && std::abs(v) < std::pow(10.0, digits)) return QString::number(v, 'f', 0);
  const int before = v == 0 ? 1 : static_cast<int>(std::floor(std::log10(std::abs(v)))) + 1;
  return QString::number(v, 'f', std::clamp(digits - before, 0, digits - 1));
}

// `steps` of a factor of `base` have names; step `one` is the unit itself.
QString scaled(double v, double base, const char* const* names, int steps, int one, int digits,
               const QString& unit) {
  if (!std::isfinite(v)) return kNothing;
  int step =
      one +
      (v == 0 ? 0 : static_cast<int>(std::floor(std::log(std::abs(v)) / std::log(base) + 1e-12)));
  step = std::clamp(step, 0, steps - 1);
  QString number = mantissa(v / std::pow(base, step - one), digits);
  if (std::abs(number.toDouble()) >= base && step + 1 < steps) {  // rounded up into the next
    ++step;
    number = mantissa(v / std::pow(base, step - one), digits);
  }
  const QString name = QString::fromUtf8(names[step]) + unit;
  return name.isEmpty() ? number : number + kGap + name;
}

}  // namespace

// Only times have parts with names: there is no millibyte.
QString si(double value, const QString& unit, int digits) {
  if (value != 0 && std::abs(value) < 1 && unit != QLatin1String("s"))
    return plain_text(value, unit);
  static constexpr const char* kPrefixes[] = {"f", "p", "n", "µ", "m", "",
                                              "k", "M", "G", "T", "P", "E"};
  return scaled(value, 1000, kPrefixes, 12, 5, digits, unit);
}

QString seconds_text(double seconds) {
  const QString unit = QStringLiteral("s");
  return std::abs(seconds) >= 1000 ? plain_text(seconds, unit) : si(seconds, unit);
}

QString said_of(const sched::Comparison& outputs) {
  return !outputs.made()   ? QStringLiteral(", outputs not compared")
         : outputs.holds() ? QStringLiteral(", right")
                           : QStringLiteral(", WRONG RESULT");
}

QString bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  return scaled(bytes, 1024, kUnits, 5, 0, 3, {});
}

QString count_text(qint64 n) {
  QString s = QString::number(n);
  for (qsizetype at = s.size() - 3; at > (n < 0 ? 1 : 0); at -= 3) s.insert(at, kThousands);
  return s;
}

QString number_text(double v) {
  return whole(v) && std::abs(v) < 1e6 ? count_text(std::llround(v)) : si(v, {});
}

QString plain_text(double v, const QString& unit) {
  if (!std::isfinite(v)) return kNothing;
  const bool large = std::abs(v) >= 1000 && std::abs(v) < 1e6;
  const QString number = QString::number(v, large ? 'f' : 'g', large ? 0 : 3);
  return unit.isEmpty() ? number : number + kGap + unit;
}

QString percent_text(double share) {
  if (!std::isfinite(share)) return kNothing;
  const double p = share * 100;
  if (std::abs(p) >= kLargest) return plain_text(p, QStringLiteral("%"));
  return QString::number(p, 'f', p != 0 && std::abs(p) < 1 ? 1 : 0) + kGap + u'%';
}

QString whole_text(double v) {
  if (!std::isfinite(v)) return kNothing;
  constexpr double kExact = 9007199254740992;  // 2^53: above, a double says no last digit
  return std::abs(v) <= kExact ? QString::number(std::llround(v)) : QString::number(v, 'g', 3);
}

QString ratio_text(double v) {
  if (!std::isfinite(v)) return kNothing;
  const double size = std::abs(v);
  if (size >= 1000)
    return size < kLargest ? count_text(std::llround(v)) : QString::number(v, 'g', 3);
  if (size < 0.1) return QString::number(v, 'g', 2);
  return QString::number(v, 'f', size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

QString quantity_text(double v, const QString& unit) {
  if (unit == QLatin1String("B")) return bytes_text(v);
  return unit.isEmpty() ? number_text(v) : si(v, unit);
}

double round_step(double span, int count) {
  const double raw = span / count, power = std::pow(10, std::floor(std::log10(raw)));
  for (double m : {1.0, 2.0, 5.0})
    if (m * power >= raw) return m * power;
  return 10 * power;
}

}  // namespace nautilus::gui
