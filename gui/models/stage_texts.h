// Texts of stages with the statements and tree nodes that their lines are about.
#pragma once

#include "gui/models/plan_stages.h"

namespace nautilus::gui {

// In place of what was refused: what, where, why and a way out, a paragraph each.
QString refusal_text(const Refusal& r);

int statement_index(const std::vector<QString>& statements, const std::string& name);  // -1: none
Stage mapped_stage(const QString& id, const QString& title, Syntax syntax, const MappedLines& text,
                   const std::vector<QString>& statements);
Stage spec_stage(const poly::Program& p, const SpecText& spec,
                 const std::vector<QString>& statements);
Stage naut_stage(const poly::Program& p, const std::vector<QString>& statements);
Stage cuda_stage(const cuda::Source& s, const std::map<int, TreeEntry>& tree);
// Line of the CUDA source that each line of PTX or SASS is of (from 1; 0: none), those that come
// from a helper's body by the line that `known` says something of.
std::vector<int> source_lines(const QStringList& assembly, Assembly what,
                              const std::vector<bool>& known);

}  // namespace nautilus::gui
