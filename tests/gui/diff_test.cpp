// Differences between texts, of fixed and of random ones.
#include <gtest/gtest.h>

#include <random>

#include "gui/models/text_diff.h"

namespace nautilus::gui {
namespace {

// Both texts can be read off the rows, and rows that are the same are.
void expect_sound(const QStringList& a, const QStringList& b, const std::vector<DiffRow>& rows) {
  int l = 0, r = 0;
  for (const DiffRow& d : rows) {
    if (d.left >= 0) {
      ASSERT_EQ(d.left, l++);
    }
    if (d.right >= 0) {
      ASSERT_EQ(d.right, r++);
    }
    const bool both = d.left >= 0 && d.right >= 0;
    ASSERT_EQ(both, d.kind == DiffKind::Same || d.kind == DiffKind::Changed);
    if (d.kind == DiffKind::Same) {
      ASSERT_EQ(a[d.left], b[d.right]);
    }
    if (d.kind == DiffKind::Removed) {
      ASSERT_EQ(d.right, -1);
    }
    if (d.kind == DiffKind::Added) {
      ASSERT_EQ(d.left, -1);
    }
  }
  ASSERT_EQ(l, a.size());
  ASSERT_EQ(r, b.size());
}

int edits(const std::vector<DiffRow>& rows) {
  int n = 0;
  for (const DiffRow& d : rows)
    n += d.kind == DiffKind::Changed ? 2 : d.kind == DiffKind::Same ? 0 : 1;
  return n;
}

TEST(DiffTest, KnownTexts) {
  const QStringList a = {"a", "b", "c", "d"}, b = {"a", "x", "c", "d", "e"};
  const auto rows = diff_lines(a, b);
  EXPECT_EQ(rows, (std::vector<DiffRow>{{DiffKind::Same, 0, 0},
                                        {DiffKind::Changed, 1, 1},
                                        {DiffKind::Same, 2, 2},
                                        {DiffKind::Same, 3, 3},
                                        {DiffKind::Added, -1, 4}}));
  EXPECT_TRUE(diff_lines({}, {}).empty());
  EXPECT_EQ(diff_lines({"a"}, {}), (std::vector<DiffRow>{{DiffKind::Removed, 0, -1}}));
  EXPECT_EQ(diff_lines({}, {"a"}), (std::vector<DiffRow>{{DiffKind::Added, -1, 0}}));
}

TEST(DiffTest, RandomTextsAreSoundAndShortest) {
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    QStringList a, b;
    for (unsigned n = random() % 14; n > 0; --n) a << QString(QChar('a' + int(random() % 4)));
    for (unsigned n = random() % 14; n > 0; --n) b << QString(QChar('a' + int(random() % 4)));
    const auto rows = diff_lines(a, b);
    expect_sound(a, b, rows);
    // Longest common subsequence by the textbook's table.
    std::vector<std::vector<int>> t(size_t(a.size() + 1), std::vector<int>(size_t(b.size() + 1)));
    for (qsizetype i = 0; i < a.size(); ++i)
      for (qsizetype j = 0; j < b.size(); ++j)
        t[size_t(i + 1)][size_t(j + 1)] =
            a[i] == b[j] ? t[size_t(i)][size_t(j)] + 1
                         : std::max(t[size_t(i)][size_t(j + 1)], t[size_t(i + 1)][size_t(j)]);
    EXPECT_EQ(edits(rows), int(a.size() + b.size()) - 2 * t.back().back()) << "round " << round;
  }
}

TEST(DiffTest, VeryDifferentTextsStaySoundAndKeepAnchors) {
  std::mt19937 random(3);
  QStringList a, b;
  for (int n = 0; n < 4000; ++n) {
    a << QStringLiteral("left %1").arg(random());
    b << QStringLiteral("right %1").arg(random());
    if (n % 100 == 0) a << QStringLiteral("anchor %1").arg(n), b << a.back();
  }
  const auto rows = diff_lines(a, b);
  expect_sound(a, b, rows);
  int same = 0;
  for (const DiffRow& d : rows) same += d.kind == DiffKind::Same;
  EXPECT_EQ(same, 40);
}

TEST(DiffTest, SpanOfAChangedLine) {
  const DiffSpan s = diff_span("load A[i, j]", "load A[i, k + 1]");
  EXPECT_EQ(s.left_begin, 10);
  EXPECT_EQ(s.left_end, 11);
  EXPECT_EQ(s.right_begin, 10);
  EXPECT_EQ(s.right_end, 15);
  const DiffSpan none = diff_span("aa", "aaa");
  EXPECT_EQ(none.left_end - none.left_begin, 0);
  EXPECT_EQ(none.right_end - none.right_begin, 1);
}

}  // namespace
}  // namespace nautilus::gui
