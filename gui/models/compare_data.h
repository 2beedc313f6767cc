// Candidates beside each other: figures with their ratios to the first one's, and what differs in
// scripts and texts.
#pragma once

#include "gui/models/budget_data.h"
#include "gui/models/plan_stages.h"
#include "gui/models/text_diff.h"

namespace nautilus::gui {

// How a figure reads.
enum class Better : uint8_t { Less, More, Neither };
enum class Unit : uint8_t { Seconds, Bytes, Count, Share, Intensity, Rate };
QString metric_text(double v, Unit unit);  // "–" for none

struct Metric {
  QString group, name, tip;
  Unit unit = Unit::Count;
  Better better = Better::Neither;
  std::vector<double> values;  // by candidate; NaN: none
  // Of candidate k to the first: -1 (half as much or less) to 1 (twice as much or more), by the
  // logarithm of the ratio; NaN where there is none.
  double delta(size_t k) const;
  QString delta_text(size_t k) const;  // "×1.42", "same"
};
struct Compared {
  int node = -1;
  QString title;
  PlanStages stages;
  Budget budget;
};
struct NodeFigures {                              // what the document knows of a candidate
  double predicted = 0, bound = 0, measured = 0;  // 0: none
  std::vector<sched::RooflinePoint> points;
};
std::vector<Metric> compare_metrics(const std::vector<Compared>& c,
                                    const std::vector<NodeFigures>& figures);
// One line a step: "fuse {...}".
QStringList script_lines(const PlanStages& p);
// Stages that at least two of them have as text, in order.
std::vector<std::pair<QString, QString>> common_stages(const std::vector<Compared>& c);

}  // namespace nautilus::gui
