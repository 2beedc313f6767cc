#include "gui/models/links.h"

#include <gtest/gtest.h>

#include <random>

namespace nautilus::gui {
namespace {

TEST(Links, Parts) {
  EXPECT_EQ(link_from_string("a.nautilus.json#node=42&view=roofline"),
            (Link{"a.nautilus.json", 42, "roofline", ""}));
  EXPECT_EQ(link_from_string("#node=7"), (Link{"", 7, "", ""}));
  EXPECT_EQ(link_from_string("issue#4.json"), (Link{"issue#4.json", -1, "", ""}));
  EXPECT_EQ(link_from_string("issue#4.json#view=code"), (Link{"issue#4.json", -1, "code", ""}));
  EXPECT_EQ(link_from_string("file:///tmp/a%20b.json#node=1"), (Link{"/tmp/a b.json", 1, "", ""}));
  QString ignored;
  EXPECT_EQ(link_from_string("a.json#node=x&colour=red&view=tree", &ignored),
            (Link{"a.json", -1, "tree", ""}));
  EXPECT_EQ(ignored, "node=x&colour=red");
}

TEST(Links, RoundTrip) {
  std::mt19937 r(std::random_device{}());
  const QString pieces[] = {"a", "#", "dir/", "b.json", " ", "node", "é"};
  for (int k = 0; k < 500; ++k) {
    Link l;
    for (int n = static_cast<int>(r() % 5); n >= 0; --n) l.file += pieces[r() % 7];
    l.file = l.file.trimmed();
    if (r() % 2) l.node = static_cast<int>(r() % 1000);
    if (r() % 2) l.view = "roofline";
    if (r() % 4 == 0) l.lesson = "tiling";
    EXPECT_EQ(link_from_string(to_string(l)), l) << to_string(l).toStdString();
  }
}

}  // namespace
}  // namespace nautilus::gui
