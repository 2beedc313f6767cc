// Schedule trees: construction, conversion to and from isl, text, hash, edits.
#include "polyhedral/schedule.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/polyhedral/schedule_programs.h"

namespace nautilus::poly {
namespace {

using testing_programs::attention;
using testing_programs::two_pointwise;

TEST(ScheduleTree, InitialHasOneKernelAStatement) {
  ProgramPtr p = attention(make_context());
  Schedule s = initial_schedule(p);
  ASSERT_EQ(s.root->kind, NodeKind::Sequence);
  ASSERT_EQ(s.root->children.size(), p->statements.size());
  for (size_t k = 0; k < p->statements.size(); ++k) {
    const Node& f = *s.root->children[k];
    ASSERT_EQ(f.kind, NodeKind::Filter);
    EXPECT_EQ(f.statements, std::vector<std::string>{p->statements[k].name});
    const Node& band = *f.children[0];
    ASSERT_EQ(band.kind, NodeKind::Band);
    const auto dims = dim_names(p->statements[k].domain);
    ASSERT_EQ(band.members.size(), dims.size());
    for (size_t d = 0; d < dims.size(); ++d) EXPECT_EQ(band.members[d].axis, dims[d]);
  }
}

TEST(ScheduleTree, MemberNamesAreUnique) {
  Schedule s = initial_schedule(attention(make_context()));
  std::set<std::string> seen;
  for (const Node* n : preorder(s))
    for (const BandMember& m : n->members) EXPECT_TRUE(seen.insert(m.name).second) << m.name;
}

TEST(ScheduleTree, FlatScheduleIsInjectiveAndTotal) {
  ProgramPtr p = attention(make_context());
  isl::union_map flat = flat_schedule(initial_schedule(p));
  EXPECT_TRUE(flat.is_injective());
  EXPECT_TRUE(flat.is_single_valued());
  EXPECT_TRUE(flat.domain().is_equal(p->domain()));
}

TEST(ScheduleTree, RoundTripThroughIsl) {
  ProgramPtr p = attention(make_context());
  Schedule s = initial_schedule(p);
  NodeId next = 1;
  Expected<NodePtr> back = from_isl(*p, to_isl(s), next);
  ASSERT_TRUE(back) << back.error().text();
  Schedule t = s;
  t.root = *back;
  EXPECT_TRUE(flat_schedule(t).is_equal(flat_schedule(s)));
  EXPECT_EQ(canonical_hash(t), canonical_hash(s));
  EXPECT_EQ(to_text(t), to_text(s));
}

}  // namespace
}  // namespace nautilus::poly
