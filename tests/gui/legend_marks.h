// The legends of the search tree and of the roofline: in the same words, of what is drawn.
#pragma once

#include <gtest/gtest.h>

#include "gui/models/theme.h"
#include "tests/gui/surroundings.h"
#include "tests/gui/svg_texts.h"

namespace nautilus::gui {

// Measures `candidate`, which is predicted alone, in three ways.
inline void expect_legend_of_marks(Surroundings& stage, View& view, int candidate) {
  const auto named = [&] {
    QStringList out;
    for (int k = 0; k < kTimeMarks; ++k)
      if (const QString words = Theme::mark_words(TimeMark(k)); svg_texts(view).contains(words))
        out << words;
    return out;
  };
  const auto measured = [&](sched::Comparison right) {
    stage.document.set_measured(candidate, {2e-5, right, "here"});
    Surroundings::settle(view);
    return named();
  };
  EXPECT_EQ(named(), QStringList{"predicted"});
  EXPECT_EQ(measured({}), (QStringList{"predicted", "measured, not compared"}));
  const QStringList wrong = measured(false);
  EXPECT_TRUE(wrong.contains("measured, result wrong"));
  EXPECT_FALSE(wrong.contains("measured, result right"));
}

}  // namespace nautilus::gui
