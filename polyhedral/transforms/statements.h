// Tree edits that add, rename and privatize statements: what repairs and split-k need beside moving
// loops.
#pragma once

#include "polyhedral/schedule.h"

namespace nautilus::poly::edit {

// The subtree with instances of one statement renamed (same dims, another tuple name).
NodePtr with_renamed(const NodePtr& n, const std::string& from, const std::string& to);

// A filter over the statement's instances with one band of its dims, without those that are among
// the functions `fixed` by bands above. New member names go to `taken`.
NodePtr own_loops(Schedule& s, const Statement& added, std::vector<std::string>& taken,
                  const std::vector<isl::aff>& fixed = {});

// Adds a statement that runs wherever `like` does (same dims): every filter and band above takes it
// in as it took `like`; in the innermost sequence above `like` it gets a filter of its own, right
// behind the one of `like`, with the loops of `like` copied. The schedule's program must contain it
// already. Its tensor gets `like`'s scope.
Schedule add_beside(const Schedule& s, const Statement& added, const std::string& like);

// Adds a statement right behind node `after` (a sequence is made if there is none), in a band over
// the dims that the bands above do not fix. follows: { added[..] -> like[..] }: at each band above,
// an instance goes where the instances it follows are. Refuses if those lie at different places of
// a band.
Expected<Schedule> add_behind(const Schedule& s, const Statement& added, NodeId after,
                              const std::string& like, const isl::map& follows);

// A reduction into an output becomes one into a temporary "<T>_acc" and a copy "S_<T>" behind node
// `after`, so that running values are not seen outside. Other readers read the temporary. The
// reduction is renamed "S_<T>_acc".
Expected<Schedule> privatize_output(const Schedule& s, const std::string& reduction, NodeId after);

}  // namespace nautilus::poly::edit
