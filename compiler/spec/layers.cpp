#include "compiler/spec/layers.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "autosched/machine.h"
#include "polyhedral/expr.h"

namespace nautilus::spec {

using nlohmann::json;

Refusal damaged_layers(const std::string& why) {
  return Refusal{"read the map from layers to kernels", sched::corpus_dir() + "/layers.json", why,
                 "the file as it is delivered works"};
}

Expected<json> load_layers() {
  std::ifstream in(sched::corpus_dir() + "/layers.json", std::ios::binary);
  if (!in) return damaged_layers("it cannot be opened");
  std::ostringstream text;
  text << in.rdbuf();
  json map = json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  if (map.is_discarded()) return damaged_layers("it is not JSON");
  return map;
}

Expected<double> fact_value(const std::string& expression, const Facts& facts) {
  const Expected<Expr> e = parse_expr(expression);
  if (!e) return damaged_layers("\"" + expression + "\": " + e.error().text());
  EvalEnv env;
  for (const std::string& name : free_vars(*e)) {
    const auto it = facts.numbers.find(name);
    if (it == facts.numbers.end())
      return damaged_layers("\"" + expression + "\": there is no fact " + name);
    env.vars[name] = it->second;
  }
  return evaluate(*e, env);
}

std::string filled(const std::string& text, const Facts& facts) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t open = text.find('{', at), close = text.find('}', open);
    if (open == std::string::npos || close == std::string::npos) return out + text.substr(at);
    out += text.substr(at, open - at);
    const std::string name = text.substr(open + 1, close - open - 1);
    if (const auto t = facts.texts.find(name); t != facts.texts.end()) {
      out += t->second;
    } else if (const auto n = facts.numbers.find(name); n != facts.numbers.end()) {
      char number[32];
      std::snprintf(number, sizeof number, "%.15g", n->second);
      out += number;
    } else {
      out += text.substr(open, close - open + 1);
    }
    at = close + 1;
  }
  return out;
}

std::optional<Refusal> failed_check(const json& checks, const Facts& facts,
                                    const std::string& asked) {
  for (const json& c : checks) {
    const auto holds = fact_value(c.at("holds").get<std::string>(), facts);
    if (!holds) return holds.error();
    if (*holds != 0) continue;
    return Refusal{asked, filled(c.value("where", c.value("key", "")), facts),
                   filled(c.at("why").get<std::string>(), facts),
                   filled(c.value("suggest", ""), facts)};
  }
  return std::nullopt;
}

Expected<std::vector<std::string>> notes_of(const json& notes, const Facts& facts) {
  std::vector<std::string> out;
  for (const json& n : notes) {
    const auto when = fact_value(n.at("when").get<std::string>(), facts);
    if (!when) return when.error();
    if (*when != 0) out.push_back(filled(n.at("text").get<std::string>(), facts));
  }
  return out;
}

std::optional<Refusal> add_values(const json& values, Facts& facts) {
  for (const json& v : values) {
    const auto x = fact_value(v.at(1).get<std::string>(), facts);
    if (!x) return x.error();
    facts.numbers[v.at(0).get<std::string>()] = *x;
  }
  return std::nullopt;
}

}  // namespace nautilus::spec
