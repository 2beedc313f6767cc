#include "polyhedral/transforms/registry.h"

#include <algorithm>

#include "polyhedral/json_text.h"
#include "polyhedral/transforms/distribute.h"
#include "polyhedral/transforms/edit.h"
#include "polyhedral/transforms/fuse.h"
#include "polyhedral/transforms/interchange.h"
#include "polyhedral/transforms/lazy_reference.h"
#include "polyhedral/transforms/map.h"
#include "polyhedral/transforms/partition.h"
#include "polyhedral/transforms/recompute.h"
#include "polyhedral/transforms/reverse.h"
#include "polyhedral/transforms/rolling_update.h"
#include "polyhedral/transforms/set_scope.h"
#include "polyhedral/transforms/shift.h"
#include "polyhedral/transforms/sink.h"
#include "polyhedral/transforms/skew.h"
#include "polyhedral/transforms/split.h"
#include "polyhedral/transforms/split_k.h"
#include "polyhedral/transforms/tile.h"
#include "polyhedral/transforms/unroll.h"

namespace nautilus::poly {

const std::vector<TransformInfo>& transforms() {
  static const std::vector<TransformInfo> all = {
      info_tile(),      info_split(),          info_interchange(),
      info_fuse(),      info_distribute(),     info_shift(),
      info_skew(),      info_reverse(),        info_sink(),
      info_recompute(), info_rolling_update(), info_lazy_reference(),
      info_split_k(),   info_partition(),      info_map(),
      info_set_scope(), info_unroll(),
  };
  return all;
}

const TransformInfo* transform(std::string_view name) {
  for (const TransformInfo& t : transforms())
    if (t.name == name) return &t;
  return nullptr;
}

namespace {

std::string range_text(const ParamInfo& p) {
  return std::to_string(p.min) + " to " + std::to_string(p.max);
}

// What is wrong with one value, if anything.
std::optional<std::string> bad_value(const ParamInfo& p, const nlohmann::json& v) {
  auto integer = [&](const nlohmann::json& x) -> std::optional<std::string> {
    if (!x.is_number_integer()) return "must be an integer, not " + x.dump();
    if (x.is_number_unsigned() && x.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
      return "is too large: " + x.dump();
    const int64_t n = x.get<int64_t>();
    if ((p.min != 0 || p.max != 0) && (n < p.min || n > p.max))
      return "must be " + range_text(p) + ", not " + x.dump();
    return std::nullopt;
  };
  auto name = [](const nlohmann::json& x) { return x.is_string() || x.is_number_integer(); };
  switch (p.kind) {
    case ParamKind::Node: {
      if (auto bad = integer(v)) return bad;
      if (v.get<int64_t>() < 0 || v.get<int64_t>() > INT32_MAX)
        return "is not a node id: " + v.dump();
      return std::nullopt;
    }
    case ParamKind::Integer:
      return integer(v);
    case ParamKind::IntegerList:
      if (!v.is_array()) return "must be a list of integers, not " + v.dump();
      for (const auto& x : v)
        if (auto bad = integer(x)) return bad;
      return std::nullopt;
    case ParamKind::Name:
      if (!name(v)) return "must be a name or a position, not " + v.dump();
      return std::nullopt;
    case ParamKind::NameList:
      if (name(v)) return std::nullopt;  // a list of one
      if (!v.is_array()) return "must be a list of names, not " + v.dump();
      for (const auto& x : v)
        if (!name(x)) return "must be a list of names, not " + v.dump();
      return std::nullopt;
    case ParamKind::Choice: {
      if (v.is_string() &&
          std::find(p.choices.begin(), p.choices.end(), v.get<std::string>()) != p.choices.end())
        return std::nullopt;
      std::string all;
      for (const std::string& c : p.choices) all += (all.empty() ? "" : ", ") + c;
      return "must be one of " + all + ", not " + v.dump();
    }
    case ParamKind::Text:
      if (!v.is_string()) return "must be text, not " + v.dump();
      return std::nullopt;
  }
  return std::nullopt;
}

std::string names_of(const std::vector<ParamInfo>& params) {
  std::string out;
  for (const ParamInfo& p : params)
    out += (out.empty() ? "" : ", ") + p.name + (p.optional ? " (optional)" : "");
  return out;
}

// Checks names, presence, types and ranges of parameters.
std::optional<Refusal> bad_params(const TransformInfo& t, const nlohmann::json& params) {
  const std::string expected = "parameters: " + names_of(t.params);
  if (!params.is_object())
    return edit::refused(t.name, "", "parameters must be an object, not " + params.dump(),
                         expected);
  for (const auto& [key, value] : params.items())
    if (std::none_of(t.params.begin(), t.params.end(),
                     [&](const ParamInfo& p) { return p.name == key; }))
      return edit::refused(t.name, "", "there is no parameter " + key, expected);
  for (const ParamInfo& p : t.params) {
    if (!params.contains(p.name)) {
      if (!p.optional)
        return edit::refused(t.name, "", "parameter " + p.name + " is missing: " + p.help,
                             expected);
    } else if (auto bad = bad_value(p, params.at(p.name))) {
      return edit::refused(t.name, "", "parameter " + p.name + " " + *bad, p.help);
    }
  }
  return std::nullopt;
}

Refusal no_such(std::string_view name) {
  std::string all;
  for (const TransformInfo& t : transforms()) all += (all.empty() ? "" : ", ") + t.name;
  return edit::refused("transform " + std::string(name), "", "there is no transform of that name",
                       all);
}

void record(Schedule& s, const std::string& name, const nlohmann::json& params) {
  s.script.push_back({name, params.dump()});
}

Outcome gave_up(const std::string& name, const std::exception& e) {
  Outcome out;
  out.verdict.why = name + ": " + e.what();
  return out;
}

Expected<nlohmann::json> parsed(const TransformStep& step) {
  nlohmann::json params = read_json(step.params.empty() ? "{}" : step.params);
  if (params.is_discarded())
    return edit::refused(step.name, "",
                         "its parameters are not JSON: " + step.params.substr(0, 200));
  return params;
}

}  // namespace

Outcome apply(const Schedule& s, const DependenceSet& deps, std::string_view name,
              const nlohmann::json& params) {
  const TransformInfo* t = transform(name);
  if (!t) return edit::malformed(no_such(name));
  if (auto bad = bad_params(*t, params)) return edit::malformed(std::move(*bad));
  try {
    Outcome out = t->apply(s, deps, params);
    if (out.schedule) record(*out.schedule, t->name, out.chosen ? *out.chosen : params);
    return out;
  } catch (const isl::exception& e) {
    return gave_up(t->name, e);
  } catch (const std::range_error& e) {  // a number beyond 64 bits
    return gave_up(t->name, e);
  }
}

Outcome apply(const Schedule& s, const DependenceSet& deps, const TransformStep& step) {
  Expected<nlohmann::json> params = parsed(step);
  return params ? apply(s, deps, step.name, *params) : edit::malformed(params.error());
}

Expected<Schedule> apply_unchecked(const Schedule& s, std::string_view name,
                                   const nlohmann::json& params) {
  const TransformInfo* t = transform(name);
  if (!t) return no_such(name);
  if (auto bad = bad_params(*t, params)) return *bad;
  try {
    Expected<Schedule> out = t->edit(s, params);
    if (out) record(*out, t->name, params);
    return out;
  } catch (const isl::exception& e) {
    return edit::refused(t->name, "", e.what());
  } catch (const std::range_error& e) {
    return edit::refused(t->name, "", e.what());
  }
}

Replay replay(ProgramPtr p, const std::vector<TransformStep>& script, bool checked) {
  Replay out;
  Schedule s = initial_schedule(p);
  Expected<DependenceSet> deps = DependenceSet{};
  ProgramPtr analysed;  // the program that deps belongs to
  for (const TransformStep& step : script) {
    Outcome o;
    if (checked) {
      if (analysed != s.program) {
        deps = dependences(*s.program);
        analysed = s.program;
      }
      o = deps ? apply(s, *deps, step) : edit::malformed(deps.error());
    } else {
      Expected<nlohmann::json> params = parsed(step);
      Expected<Schedule> next =
          params ? apply_unchecked(s, step.name, *params) : Expected<Schedule>(params.error());
      if (next) {
        o.schedule = *next;
        o.verdict.why = "not checked";
      } else {
        o = edit::malformed(next.error());
      }
    }
    out.outcomes.push_back(o);
    if (!o.schedule) return out;
    s = *o.schedule;
  }
  out.schedule = s;
  return out;
}

}  // namespace nautilus::poly
