// The registry of transforms: declared once, feeding the command line, the explorer's menu, the
// docs and the fuzzer. A transform is a free function on values; adding one is one header + source
// + test + doc entry.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "polyhedral/legality.h"

namespace nautilus::poly {

enum class ParamKind : uint8_t { Node, Integer, IntegerList, Name, NameList, Choice, Text };
// What a parameter is about in a schedule tree, for whoever offers values: the explorer's forms.
enum class ParamRole : uint8_t {
  Value,  // a value of its kind, of no part of the tree
  // Node:
  Band,
  BandAboveSequence,
  BandWithRepairs,
  Sequence,
  RootSequence,
  Filter,
  FilterOrBand,
  ReaderBand,  // of what reads the results of the node chosen before
  // Name, NameList:
  Member,       // of the band chosen before
  OtherMember,  // than the one chosen before
  Members,      // some, or "*"
  MemberOrder,  // each once
  Producer,     // a statement that others read
  Reader,       // a statement that reads the producer's results
  Statements,
  Temporary,
  Axis,
  Payments,  // "source > reader"
  // Integer:
  FirstChild,  // of the sequence chosen before
  LastChild,
  SharedMembers,  // of the bands below those children
  // Text:
  Instances,
};
struct ParamInfo {
  std::string name;
  ParamKind kind;
  std::string help;
  int64_t min = 0, max = 0;          // Integer(List)
  std::vector<std::string> choices;  // Choice
  bool optional = false;
  ParamRole role = ParamRole::Value;
  std::string usual{};  // Choice, Text: what one begins with; "": the first choice
};

// What a transform answers: a verdict, and the new schedule when it is Legal or Repairable.
struct Outcome {
  Verdict verdict;
  std::optional<Schedule> schedule;  // its script has the step appended
  std::optional<Refusal> refusal;    // the request itself was malformed (no such node, bad size)
  // The request with what it left open filled in, if the transform chose something: what the script
  // records, so that the edit alone can repeat it.
  std::optional<nlohmann::json> chosen;
  bool accepted() const { return schedule.has_value(); }
};

struct TransformInfo {
  std::string name;           // "tile"
  std::string summary;        // one line
  std::string doc;            // a paragraph: what it does to the tree and when it is legal
  std::string before, after;  // a small example, tree text
  std::vector<ParamInfo> params;
  std::function<Outcome(const Schedule&, const DependenceSet&, const nlohmann::json& params)> apply;
  // The edit alone, without dependences, verdict and proofs: what apply_unchecked runs. What
  // `apply` leaves open (see Outcome::chosen) it takes as it comes first. Neither records the step
  // in the script: the registry does.
  std::function<Expected<Schedule>(const Schedule&, const nlohmann::json& params)> edit;
};

// All transforms, in the order of the docs.
const std::vector<TransformInfo>& transforms();
const TransformInfo* transform(std::string_view name);

// Applies one step by name: checks parameters against ParamInfo first, then applies, then records
// the step.
Outcome apply(const Schedule& s, const DependenceSet& deps, const TransformStep& step);
Outcome apply(const Schedule& s, const DependenceSet& deps, std::string_view name,
              const nlohmann::json& params);
// Without the legality check (structure caches): only for replaying a script whose structure was
// verified.
Expected<Schedule> apply_unchecked(const Schedule& s, std::string_view name,
                                   const nlohmann::json& params);
// Replays a script from the initial schedule; stops at the first refusal, returning its index.
struct Replay {
  std::vector<Outcome> outcomes;  // one a step that was tried
  std::optional<Schedule> schedule;
};
Replay replay(ProgramPtr p, const std::vector<TransformStep>& script, bool checked = true);

// Registration: each transform's source defines `TransformInfo info_tile();` and registry.cpp lists
// it.

}  // namespace nautilus::poly
