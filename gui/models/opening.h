// Reading what a user opens: specs, programs, sessions. Plain data comes out; each call has an isl
// context of its own and may run on any thread.
#pragma once

#include <QStringList>
#include <vector>

#include "autosched/search.h"
#include "gui/models/file_stamp.h"
#include "gui/models/measurement_rows.h"

namespace nautilus::gui {

// A spec (*.spec.cpp), a program (*.naut) or the name of a corpus kernel, at sizes on a machine.
struct SpecRequest {
  std::string spec, kernel;  // kernel: "" if the file has one
  poly::Sizes sizes;         // those given; the rest are the model's, then typical
  std::string model, phase = "prefill";
  int64_t batch = 1, sequence = 4096;
  std::string machine = "h200";  // id, a file, or "cpu": this host, probed
};
struct KernelInfo {
  std::string name;
  std::vector<std::string> params;
  poly::Sizes typical;
};
// The kernels of a spec, for choosing one.
Expected<std::vector<KernelInfo>> kernels_of(const std::string& spec);
// A session without a search: its one candidate is the program as it was written.
Expected<sched::Session> session_of(const SpecRequest& r);
// What turned out to be measurements, not a session.
struct FoundStore {
  QString kind;  // "an SQLite database"
  size_t rows = 0;
  std::optional<StoreSubject> about;
};
struct Opened {
  sched::Session session;
  bool was_saved = false;                // it is a session file
  FileStamp stamp;                       // of that
  std::optional<FoundStore> store = {};  // then there is no session
};
// A session file, older ones and those of runs that never ended included; or a spec, at typical
// sizes on `machine`. A session is told by its name (*.json) or its content; so is a measurement
// store.
Expected<Opened> open_any(const std::string& path, const std::string& machine);
Expected<sched::Machine> machine_named(const std::string& id_or_file);

// The corpus for a start page: kernels by family, as corpus/families.json has them; those that it
// does not name are "others".
struct CorpusEntry {
  QString name, about;
};
struct CorpusFamily {
  QString name;
  QList<CorpusEntry> kernels;
};
QList<CorpusFamily> corpus_families();
// What a newcomer explores first: the kernel, and what it is in words.
CorpusEntry corpus_begin();
QStringList corpus_models();
QStringList machine_names();

}  // namespace nautilus::gui
