// Pieces of the text form shared by printer and parser.
#pragma once

#include <string>

#include "compiler/tile/cursor.h"
#include "compiler/tile/ir.h"

namespace nautilus::tile {

std::string quote_name(const std::string& name);  // identifiers plain, others between backquotes
std::string quote_text(const std::string& s);     // "..." with \" \\ \n
std::string number_text(double v);                // shortest text that reads back to v
std::string_view kind_name(poly::TensorKind k);   // "input" "output" "temp"
std::string_view scope_text(poly::Scope s);       // "global" "shared" "register"

std::string declaration_text(const TensorDecl& t);     // "A: f16[N, 64] input global"
std::string axes_text(const std::vector<Axis>& axes);  // "i: 64, j: 32"
// "  multiple N of 16" a line
std::string multiples_text(const std::map<std::string, int64_t>& multiples);
// Readers of these; errors stay in the cursor.
Type read_type(Cursor& c);
std::vector<Axis> read_axes(Cursor& c, std::string_view close);
TensorDecl read_declaration(Cursor& c);
void read_multiple(Cursor& c, std::map<std::string, int64_t>& into);  // after "multiple"
// Why multiples do not go with these sizes, or "".
std::string check_multiples(const std::vector<std::string>& sizes,
                            const std::map<std::string, int64_t>& multiples);
// A size whose value is no multiple, in words, or "".
std::string broken_multiple(const std::map<std::string, int64_t>& multiples,
                            const poly::Sizes& sizes);

}  // namespace nautilus::tile
