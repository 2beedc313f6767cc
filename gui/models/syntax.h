// Words of a line for colouring, one language a stage. Lines are read alone, so that only those on
// screen cost anything.
#pragma once

#include <QHash>
#include <QString>
#include <vector>

#include "gui/models/plan_stages.h"

namespace nautilus::gui {

enum class Token : uint8_t {
  Plain,
  Keyword,
  Type,
  Number,
  Text,
  Comment,
  Value,
  Origin,
  Statement
};
struct TokenSpan {
  int begin = 0, length = 0;
  Token token = Token::Plain;
  int statement = -1;  // Statement: position in PlanStages::statements
};
// Spans in order; what is plain is left out. `statements`: their names with their positions.
std::vector<TokenSpan> tokens_of(Syntax syntax, const QString& line,
                                 const QHash<QString, int>& statements);
// The identifier or value (%12) around a column; "" if there is none.
QString word_at(const QString& line, int column);

}  // namespace nautilus::gui
