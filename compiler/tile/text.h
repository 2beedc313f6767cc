// Pieces of the text form shared by printer and parser.
#pragma once

#include <string>

#include "compiler/tile/ir.h"

namespace nautilus::tile {

std::string quote_name(const std::string& name);  // identifiers plain, others between backquotes
std::string quote_text(const std::string& s);     // "..." with \" \\ \n
std::string number_text(double v);                // shortest text that reads back to v
std::string_view kind_name(poly::TensorKind k);   // "input" "output" "temp"
std::string_view scope_text(poly::Scope s);       // "global" "shared" "register"

}  // namespace nautilus::tile
