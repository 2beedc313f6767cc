// A transform's request in the making: what each parameter may be in this tree, and values to begin
// with. Made from the roles that the registry gives its parameters, so a new transform needs
// nothing here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gui/models/tree_data.h"

namespace nautilus::gui {

// Which nodes of the tree a Node parameter may be: rows of the tree.
std::vector<int> eligible_rows(const TreePicture& tree, const poly::ParamInfo& p);

// The node that the transform is about, as its parameters have it.
const TreeBox* main_node(const TreePicture& tree, const poly::TransformInfo& t,
                         const nlohmann::json& params);

// What a Name(List) parameter can name, given the others. Empty: anything.
std::vector<std::string> name_choices(const TreePicture& tree, const poly::TransformInfo& t,
                                      const poly::ParamInfo& p, const nlohmann::json& params);

// Parameters to begin with, near the selected node (-1: none) and about the selected statement (""
// none). Optional ones are left out.
nlohmann::json first_draft(const TreePicture& tree, const poly::TransformInfo& t,
                           poly::NodeId selected, const std::string& statement);

// Whether the transform takes such a node in its first Node parameter (true if it takes none).
bool fits(const poly::TransformInfo& t, poly::NodeKind kind);

}  // namespace nautilus::gui
