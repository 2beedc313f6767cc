// What a user may name as SPEC: a file, or a kernel of the corpus.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "polyhedral/expected.h"

namespace nautilus::driver {

struct SpecSource {
  std::string path;
  std::string kernel;  // "": the file's only one
};
// A path as given; else the corpus kernel of that name, whichever file of corpus/kernels holds it;
// else corpus/kernels/NAME.spec.cpp, of whose kernels `kernel` (may be empty) then chooses.
Expected<SpecSource> resolve_spec(const std::string& name, const std::string& kernel);

// The same of the corpus alone.
std::optional<SpecSource> corpus_source(const std::string& name, const std::string& kernel);

struct CorpusKernel {
  std::string name, path;
  std::string about;  // the file's first line of comment
};
// Every kernel of the corpus, by file and then in the file's order.
std::vector<CorpusKernel> corpus_kernels();

}  // namespace nautilus::driver
