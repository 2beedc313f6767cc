// Every parameter of every transform says what it is about, and means it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/polyhedral/transform_helpers.h"

namespace nautilus::poly {
namespace {

using namespace testing_programs;

using Roles = std::set<ParamRole>;
const Roles kNodes = {
    ParamRole::Band,         ParamRole::BandAboveSequence, ParamRole::BandWithRepairs,
    ParamRole::Sequence,     ParamRole::RootSequence,      ParamRole::Filter,
    ParamRole::FilterOrBand, ParamRole::ReaderBand};
const Roles kBands = {ParamRole::Band, ParamRole::BandAboveSequence, ParamRole::BandWithRepairs,
                      ParamRole::ReaderBand};
const Roles kOfBand = {ParamRole::Member, ParamRole::OtherMember, ParamRole::Members,
                       ParamRole::MemberOrder};
const Roles kOfChildren = {ParamRole::FirstChild, ParamRole::LastChild, ParamRole::SharedMembers};

Roles roles_of(ParamKind k) {
  switch (k) {
    case ParamKind::Node:
      return kNodes;
    case ParamKind::Name:
      return {ParamRole::Member, ParamRole::OtherMember, ParamRole::Producer,
              ParamRole::Reader, ParamRole::Temporary,   ParamRole::Axis};
    case ParamKind::NameList:
      return {ParamRole::Members, ParamRole::MemberOrder, ParamRole::Statements, ParamRole::Axis,
              ParamRole::Payments};
    case ParamKind::Integer:
      return {ParamRole::Value, ParamRole::FirstChild, ParamRole::LastChild,
              ParamRole::SharedMembers};
    case ParamKind::Text:
      return {ParamRole::Instances};
    case ParamKind::IntegerList:
    case ParamKind::Choice:
      break;
  }
  return {ParamRole::Value};
}

TEST(TransformRoles, FitTheirKinds) {
  for (const TransformInfo& t : transforms()) {
    Roles before;
    for (const ParamInfo& p : t.params) {
      const std::string where = t.name + "." + p.name;
      const auto chosen = [&](const Roles& of) {
        return std::ranges::any_of(before, [&](ParamRole r) { return of.count(r) > 0; });
      };
      EXPECT_TRUE(roles_of(p.kind).count(p.role)) << where;
      EXPECT_TRUE(!kOfBand.count(p.role) || chosen(kBands)) << where;
      EXPECT_TRUE(!kOfChildren.count(p.role) || chosen({ParamRole::Sequence})) << where;
      EXPECT_TRUE(p.role != ParamRole::Reader || chosen({ParamRole::Producer})) << where;
      EXPECT_TRUE(p.kind != ParamKind::Choice || p.usual.empty() ||
                  std::ranges::count(p.choices, p.usual))
          << where;
      before.insert(p.role);
    }
    for (ParamRole r : kOfChildren)
      EXPECT_EQ(before.count(r), before.count(ParamRole::FirstChild)) << t.name;
  }
}

bool may_be(ParamRole r, NodeKind k) {
  if (r == ParamRole::Sequence || r == ParamRole::RootSequence) return k == NodeKind::Sequence;
  if (r == ParamRole::Filter) return k == NodeKind::Filter;
  return k == NodeKind::Band || (r == ParamRole::FilterOrBand && k == NodeKind::Filter);
}

// One of its kind, whatever it means.
json some_value(const ParamInfo& p) {
  switch (p.kind) {
    case ParamKind::Node:
      return 4711;
    case ParamKind::Integer:
      return std::clamp<int64_t>(1, p.min, p.max);
    case ParamKind::IntegerList:
      return {1};
    case ParamKind::NameList:
      return json::array({"nobody"});
    case ParamKind::Choice:
      return p.choices.front();
    case ParamKind::Name:
    case ParamKind::Text:
      break;
  }
  return "nobody";
}

// A node of another kind than the role's is refused for that; one of its kind for something else.
TEST(TransformRoles, SayWhichNodesAreTaken) {
  Session t(matmul(make_context()));
  for (const TransformInfo& info : transforms()) {
    const auto main = std::ranges::find_if(
        info.params, [](const ParamInfo& p) { return p.kind == ParamKind::Node && !p.optional; });
    if (main == info.params.end()) continue;
    json params = json::object();
    for (const ParamInfo& p : info.params)
      if (!p.optional) params[p.name] = some_value(p);
    for (const Node* n : preorder(t.s)) {
      params[main->name] = n->id;
      const Outcome o = poly::apply(t.s, t.deps, info.name, params);
      const bool of_kind = o.refusal && o.refusal->why.find(", not a ") != std::string::npos;
      EXPECT_EQ(of_kind, !may_be(main->role, n->kind))
          << info.name << " " << params.dump() << ": "
          << (o.refusal ? o.refusal->text() : std::string("no refusal"));
    }
  }
}

}  // namespace
}  // namespace nautilus::poly
