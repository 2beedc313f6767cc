#include "gui/models/opening.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "autosched/file.h"
#include "compiler/driver/common.h"
#include "compiler/driver/specs.h"
#include "polyhedral/json_text.h"

namespace nautilus::gui {
namespace {

QString in_qt(const std::string& s) { return QString::fromStdString(s); }

driver::Input input_of(const SpecRequest& r) {
  driver::Input in;
  in.spec = r.spec;
  in.kernel = r.kernel;
  for (const auto& [name, value] : r.sizes) in.sizes.push_back(name + "=" + std::to_string(value));
  in.model = r.model;
  in.phase = r.phase;
  in.batch = r.batch;
  in.seq = r.sequence;
  return in;
}

constexpr qint64 kHead = 4096;  // bytes that tell what a file is

QByteArray beginning(const QString& name) {
  QFile file(name);
  return QFileInfo(file).isFile() && file.open(QIODevice::ReadOnly) ? file.read(kHead)
                                                                    : QByteArray();
}

Expected<Opened> open_store(const std::string& path, const std::string& kind) {
  const auto content = read_store(path);
  if (!content) return Refusal{"open " + kind, path, content.error().why, content.error().suggest};
  const auto rows = measurement_rows(*content);
  if (!rows)
    return Refusal{"open " + kind, path, rows.error().why,
                   "a session (*.nautilus.json), a spec or a program; or " + rows.error().suggest};
  const auto about = subject_of(*rows);
  if (!about) {
    const Refusal& r = about.error();
    return Refusal{"open " + kind, path, r.asked + ": " + r.why, r.suggest};
  }
  Opened out;
  out.store = FoundStore{QString::fromStdString(kind), rows->size(), *about};
  return out;
}

// A store may be an object, as a session is, which has a mark. `refused`: why it is no session.
Expected<Opened> open_object(const std::string& path, const Refusal& refused) {
  const auto content = sched::read_file(path);
  if (!content) return refused;
  const nlohmann::json j = poly::read_json(*content);
  if (!j.is_object() || j.contains("nautilus_session")) return refused;
  auto store = open_store(path, "an object in JSON");
  if (store) return store;
  Refusal r = refused;
  r.why += ", and no measurements: " + store.error().why;
  r.suggest = store.error().suggest;
  return r;
}

// corpus/families.json; nothing where it is missing or damaged.
nlohmann::json families() {
  const auto text = sched::read_file(sched::corpus_dir() + "/families.json");
  return text ? poly::read_json(*text) : nlohmann::json();
}

}  // namespace

Expected<sched::Machine> machine_named(const std::string& id_or_file) {
  const bool file = id_or_file.find('/') != std::string::npos || id_or_file.ends_with(".json");
  return file ? sched::load_machine(id_or_file) : sched::find_machine(id_or_file);
}

Expected<std::vector<KernelInfo>> kernels_of(const std::string& spec) {
  driver::Input in;
  in.spec = spec;
  int code = 0;
  auto loaded = driver::read_input(in, false, false, code);
  if (!loaded) return loaded.error();
  std::vector<KernelInfo> out;
  for (const driver::Loaded& l : *loaded)
    out.push_back({l.general.name, l.general.params, l.general.typical});
  return out;
}

Expected<sched::Session> session_of(const SpecRequest& r) {
  auto machine = machine_named(r.machine);
  if (!machine) return machine.error();
  int code = 0;
  auto loaded = driver::read_input(input_of(r), true, true, code);
  if (!loaded) return loaded.error();
  const driver::Loaded& l = loaded->front();
  sched::Session s;
  s.spec_path = l.path;
  s.spec_text = l.text;
  s.spec_hash = sched::text_hash(l.text);
  s.program_naut = poly::print_naut(l.program);
  s.kernel = l.program.name;
  s.options.sizes = l.sizes;
  s.options.machine = *std::move(machine);
  sched::SearchNode root;  // what views show and transforms by hand begin with, before any search
  root.decision = "the program as it was written";
  s.result.nodes.push_back(root);
  for (const std::string& note : l.notes)
    s.result.note += (s.result.note.empty() ? "" : "; ") + note;
  return s;
}

Expected<Opened> open_any(const std::string& path, const std::string& machine) {
  // A pipe would hold the program up until somebody writes to it.
  if (const QFileInfo there(in_qt(path)); there.exists() && !there.isFile() && !there.isDir())
    return Refusal{"open", path, sched::why_no_file(path), "save it as a file first"};
  const QByteArray head = beginning(in_qt(path));
  if (const std::string kind = store_kind({head.data(), static_cast<size_t>(head.size())}, path);
      !kind.empty())
    return open_store(path, kind);
  if (head.trimmed().startsWith('{') || path.ends_with(".json")) {
    const FileStamp stamp = FileStamp::of(in_qt(path));  // before: what comes later is another's
    auto s = sched::load_session(path);
    if (!s) return open_object(path, s.error());
    return Opened{*std::move(s), true, stamp};
  }
  SpecRequest r;
  r.spec = path;
  r.machine = machine;
  auto s = session_of(r);
  if (!s) return s.error();
  return Opened{*std::move(s), false, {}};
}

QList<CorpusFamily> corpus_families() {
  QList<CorpusFamily> out;
  std::map<std::string, qsizetype> family;  // by kernel
  try {
    const nlohmann::json all = families();
    for (const auto& f : all.at("families")) {
      for (const auto& k : f.at("kernels")) family[k.get<std::string>()] = out.size();
      out.push_back({in_qt(f.at("name").get<std::string>()), {}});
    }
  } catch (const std::exception&) {  // then there is one family
    out.clear();
    family.clear();
  }
  out.push_back({QStringLiteral("others"), {}});
  for (const driver::CorpusKernel& k : driver::corpus_kernels()) {
    const auto at = family.find(k.name);
    out[at == family.end() ? out.size() - 1 : at->second].kernels.push_back(
        {in_qt(k.name), in_qt(k.about)});
  }
  out.removeIf([](const CorpusFamily& f) { return f.kernels.isEmpty(); });
  return out;
}

CorpusEntry corpus_begin() {
  try {
    const nlohmann::json all = families();
    const auto& b = all.at("begin");
    return {in_qt(b.at("kernel").get<std::string>()), in_qt(b.at("as").get<std::string>())};
  } catch (const std::exception&) {
    const auto kernels = driver::corpus_kernels();
    return kernels.empty() ? CorpusEntry()
                           : CorpusEntry{in_qt(kernels[0].name), in_qt(kernels[0].name)};
  }
}

QStringList corpus_models() {
  QStringList out;
  for (const QString& f : QDir(in_qt(sched::corpus_dir()) + "/models").entryList({"*.json"}))
    out << f.chopped(5);
  return out;
}

QStringList machine_names() {
  QStringList out;
  for (const std::string& id : sched::list_machines()) out << in_qt(id);
  if (!out.contains("cpu")) out << "cpu";
  return out;
}

}  // namespace nautilus::gui
