#include <iostream>

#include "compiler/driver/common.h"
#include "polyhedral/dependence.h"
#include "polyhedral/schedule.h"

namespace nautilus::driver {

using nlohmann::json;

namespace {

std::string_view dep_kind_name(poly::DepKind k) {
  switch (k) {
    case poly::DepKind::Flow:
      return "flow";
    case poly::DepKind::Anti:
      return "anti";
    case poly::DepKind::Output:
      return "output";
    case poly::DepKind::Reduction:
      return "reduction";
  }
  return "";
}

json checked_json(const Loaded& loaded, const poly::DependenceSet& deps) {
  const poly::Schedule s =
      poly::initial_schedule(std::make_shared<const poly::Program>(loaded.program));
  json out = {{"name", loaded.program.name},
              {"params", loaded.program.params},
              {"sizes", loaded.sizes},
              {"naut", poly::print_naut(loaded.program)},
              {"schedule", poly::to_json(s)},
              {"ok", true},
              {"typical", loaded.program.typical}};
  for (const poly::Statement& st : loaded.program.statements)
    out["statements"].push_back(
        {{"name", st.name},
         {"domain", isl_text(st.domain)},
         {"expr", to_string(st.expr)},
         {"reduction", st.reduction ? poly::reduce_op_name(st.reduction->op) : ""}});
  out["dependences"] = json::array();
  for (const poly::Dependence& d : deps.all)
    out["dependences"].push_back({{"kind", dep_kind_name(d.kind)},
                                  {"source", d.source},
                                  {"sink", d.sink},
                                  {"tensor", d.tensor},
                                  {"relation", isl_text(d.relation)},
                                  {"approximate", d.approximate}});
  return out;
}

void print_checked(const Loaded& loaded, const poly::DependenceSet& deps) {
  const poly::Schedule s =
      poly::initial_schedule(std::make_shared<const poly::Program>(loaded.program));
  std::cout << poly::print_naut(loaded.program) << "\ndependences\n";
  for (const poly::Dependence& d : deps.all)
    std::cout << "  " << dep_kind_name(d.kind) << " on " << d.tensor << ": " << isl_text(d.relation)
              << (d.approximate ? "  (over-approximated: gathered)" : "") << "\n";
  std::cout << "\noriginal order\n"
            << poly::to_text(s) << "ok: " << loaded.program.statements.size() << " statements, "
            << deps.all.size() << " dependences\n";
}

// Of a file with several kernels each in turn; in JSON they are then the list "kernels".
int check(const Input& in, bool naut, unsigned long quota) {
  int status = kGood;
  if (naut) {  // one text is one program
    auto loaded = load(in, false, status);
    if (loaded) std::cout << poly::print_naut(loaded->program);
    return status;
  }
  auto all = load_all(in, false, status);
  if (!all) return status;
  json kernels = json::array();
  for (const Loaded& loaded : *all) {
    auto deps = poly::dependences(loaded.program, quota);
    if (!deps) return fail(in.json, deps.error(), kBudget);
    if (in.json) {
      kernels.push_back(checked_json(loaded, *deps));
      continue;
    }
    if (&loaded != &all->front()) std::cout << "\n";
    print_checked(loaded, *deps);
  }
  if (in.json)
    print_json(kernels.size() == 1 ? kernels[0] : json{{"ok", true}, {"kernels", kernels}});
  return kGood;
}

}  // namespace

void add_check(CLI::App& app, int& status) {
  auto in = std::make_shared<Input>();
  auto naut = std::make_shared<bool>(false);
  auto quota = std::make_shared<unsigned long>(poly::kDefaultQuota);
  CLI::App* verb =
      app.add_subcommand("check", "read a spec; print its program, domains and dependences");
  verb->footer("example: nautilusc check corpus/kernels/softmax.spec.cpp");
  add_input(*verb, *in);
  verb->add_flag("--naut", *naut, "print only the program in its text form (.naut)");
  verb->add_option("--quota", *quota, "isl operations at most")->check(natural());
  verb->callback([=, &status] { status = check(*in, *naut, *quota); });
}

}  // namespace nautilus::driver
