// A plan through every stage of the compiler, once: the texts with what each line came from, and
// what of it other views count (memory IR, CUDA source, cost). Plain data; made on the bench.
#pragma once

#include <QString>
#include <QStringList>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "compiler/backend/cuda/cuda.h"
#include "gui/models/bench.h"
#include "polyhedral/line_map.h"

namespace nautilus::gui {

enum class Syntax : uint8_t { Spec, Naut, Schedule, Loops, Tile, Memory, Cuda, Cpp, Ptx, Sass };

// What a line is about.
struct LineTag {
  int node = -1;                // of the schedule tree; -1: none
  std::vector<int> statements;  // positions in PlanStages::statements
};
struct Stage {
  QString id;     // "tile.rewrite": the same for all plans that have the stage
  QString title;  // "Tile IR after rewriting"
  Syntax syntax = Syntax::Spec;
  QStringList lines;
  std::vector<LineTag> tags;       // one a line, or empty: nothing is known
  bool changed = true;             // differs from the one before it of this syntax
  bool pass = false;               // a step of the compiler, for j and k
  bool on_demand = false;          // made when asked for (PTX and SASS)
  std::optional<Refusal> refusal;  // in place of the text
};
// One node of the plan's schedule tree.
struct TreeEntry {
  int parent = -1;
  std::vector<int> statements;  // below
};

struct PlanStages {
  int node = -1;  // of the search tree
  std::vector<Stage> stages;
  std::vector<QString> statements;
  std::map<int, TreeEntry> tree;
  std::vector<QString> notes;
  // Numbers that were made smaller so that the plan fits ("tile.j 128 → 64"); from the tile IR on
  // the stages are of that plan. "": lowered as it is.
  QString lowered_with;
  std::optional<memory::Module> memory;
  std::optional<cuda::Source> source;
  std::optional<sched::Cost> cost;  // with its profile
  std::vector<poly::TransformStep> script;
  sched::Knobs knobs;
  bool contract = true;  // how the source was emitted
  double seconds = 0;    // that it took
  const Stage* find(const QString& id) const;
};

// Text of the spec as the session has it; where it has none, the file is read if it is the same by
// its hash.
struct SpecText {
  QString path, text, hash;
  static SpecText of(const sched::Session& s);
};
PlanStages make_stages(const Workpiece& w, const CancelToken& cancel,
                       const std::vector<sched::SearchNode>& path, const SpecText& spec);
// The same, kept for the plans asked for last: several views look at one plan.
using PlanStagesPtr = std::shared_ptr<const PlanStages>;
PlanStagesPtr stages_of(const Workpiece& w, const CancelToken& cancel,
                        const std::vector<sched::SearchNode>& path, const SpecText& spec);

// PTX or SASS of a source: takes seconds, needs no bench. The lines carry the tags of the CUDA
// lines that they came from.
enum class Assembly : uint8_t { Ptx, Sass };
Stage make_assembly(const cuda::Source& source, Assembly what, const Stage& cuda,
                    const std::atomic<bool>* stop = nullptr);
// The stage before it is made: refused where a tool is missing.
Stage assembly_to_come(Assembly what);

// What is looked at: a statement, a node of the schedule tree, or both ("" and -1: neither).
struct Focus {
  int node = -1;
  QString statement;
  bool empty() const { return node < 0 && statement.isEmpty(); }
  bool operator==(const Focus&) const = default;
};
// 2: the line is about it; 1: about a part of it (a statement below the node); 0: not.
int relevance(const PlanStages& p, const LineTag& tag, const Focus& f);
// What a line is about, to hand to the selection.
Focus focus_of(const PlanStages& p, const LineTag& tag);

}  // namespace nautilus::gui
