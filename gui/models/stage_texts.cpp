#include "gui/models/stage_texts.h"

#include <QRegularExpression>
#include <algorithm>

#include "autosched/file.h"
#include "compiler/backend/cuda/assembly.h"

namespace nautilus::gui {

namespace {

QStringList split_lines(const std::string& text) {
  QStringList lines = QString::fromStdString(text).split(QLatin1Char('\n'));
  if (!lines.isEmpty() && lines.back().isEmpty()) lines.pop_back();
  return lines;
}

// Of a session without the text: the file that it names, here or beside the corpus.
QString text_of_spec(const SpecText& spec) {
  if (!spec.text.isEmpty() || spec.path.isEmpty()) return spec.text;
  const std::string path = spec.path.toStdString();
  for (const std::string& at : {path, sched::corpus_dir() + "/../" + path}) {
    const auto text = sched::read_file(at);
    if (!text) continue;
    if (spec.hash.isEmpty() || sched::text_hash(*text) == spec.hash.toStdString())
      return QString::fromStdString(*text);
  }
  return {};
}

}  // namespace

QString refusal_text(const Refusal& r) {
  QString text = QStringLiteral("✗ ") + QString::fromStdString(r.asked);
  if (!r.where.empty()) text += QStringLiteral("\nwhere: ") + QString::fromStdString(r.where);
  text += QStringLiteral("\n\n") + QString::fromStdString(r.why);
  if (!r.suggest.empty()) text += QStringLiteral("\n\ntry: ") + QString::fromStdString(r.suggest);
  return text;
}

int statement_index(const std::vector<QString>& statements, const std::string& name) {
  if (name.empty()) return -1;
  const auto at = std::find(statements.begin(), statements.end(), QString::fromStdString(name));
  return at == statements.end() ? -1 : int(at - statements.begin());
}

Stage mapped_stage(const QString& id, const QString& title, Syntax syntax, const MappedLines& text,
                   const std::vector<QString>& statements) {
  Stage s;
  s.id = id, s.title = title, s.syntax = syntax;
  s.lines = split_lines(text.text);
  std::map<std::string, int> known;  // names repeat on many lines
  for (const LineOrigin& o : text.map) {
    LineTag tag{o.node, {}};
    if (!o.statement.empty()) {
      const auto [at, fresh] = known.try_emplace(o.statement, -1);
      if (fresh) at->second = statement_index(statements, o.statement);
      if (at->second >= 0) tag.statements.push_back(at->second);
    }
    s.tags.push_back(std::move(tag));
  }
  return s;
}

Stage spec_stage(const poly::Program& p, const SpecText& spec,
                 const std::vector<QString>& statements) {
  Stage s;
  s.id = QStringLiteral("spec"), s.title = QStringLiteral("Spec"), s.syntax = Syntax::Spec;
  const QString text = text_of_spec(spec);
  if (text.isEmpty()) {
    s.refusal = Refusal{"show the spec", spec.path.toStdString(),
                        "the session has no text of it, and there is no file of that name with "
                        "the text that was searched",
                        "open the spec file instead of the session"};
    return s;
  }
  s.lines = split_lines(text.toStdString());
  s.tags.resize(size_t(s.lines.size()));
  for (const poly::Statement& statement : p.statements) {
    const int line = statement.loc.line, index = statement_index(statements, statement.name);
    if (line >= 1 && line <= s.lines.size() && index >= 0)
      s.tags[size_t(line - 1)].statements.push_back(index);
  }
  return s;
}

Stage naut_stage(const poly::Program& p, const std::vector<QString>& statements) {
  Stage s;
  s.id = QStringLiteral("program"), s.title = QStringLiteral("Program (.naut)");
  s.syntax = Syntax::Naut;
  s.lines = split_lines(poly::print_naut(p));
  int now = -1;
  for (const QString& line : s.lines) {
    if (line.startsWith(QLatin1String("statement "))) {
      const qsizetype open = line.indexOf(QLatin1Char('('));
      now = statement_index(statements, line.mid(10, open < 0 ? -1 : open - 10).toStdString());
    } else if (!line.startsWith(QLatin1Char(' '))) {
      now = -1;
    }
    s.tags.push_back({-1, now < 0 ? std::vector<int>{} : std::vector<int>{now}});
  }
  return s;
}

Stage cuda_stage(const cuda::Source& source, const std::map<int, TreeEntry>& tree) {
  Stage s;
  s.id = QStringLiteral("cuda"), s.title = QStringLiteral("CUDA C++"), s.syntax = Syntax::Cuda;
  s.lines = split_lines(source.text);
  s.tags.resize(size_t(s.lines.size()));
  for (const auto& [line, node] : source.map) {
    if (line < 1 || line > s.lines.size()) continue;
    LineTag& tag = s.tags[size_t(line - 1)];
    tag.node = node;
    const auto at = tree.find(node);
    if (at != tree.end() && at->second.statements.size() == 1)
      tag.statements = at->second.statements;
  }
  return s;
}

std::vector<int> source_lines(const QStringList& assembly, Assembly what,
                              const std::vector<bool>& known) {
  static const QRegularExpression loc(QStringLiteral(R"(^\s*\.loc\s+\d+\s+(\d+))"));
  static const QRegularExpression inlined(QStringLiteral(R"(inlined_at\s+\d+\s+(\d+))"));
  static const QRegularExpression comment(
      QStringLiteral(R"(//##\s*File\s+"[^"]*",\s*line\s+(\d+))"));
  const auto useful = [&](int line) { return size_t(line) < known.size() && known[size_t(line)]; };
  std::vector<int> out;
  int now = 0;
  bool chain = false;  // SASS: an inlined call's lines follow one another
  for (const QString& line : assembly) {
    if (what == Assembly::Ptx) {
      if (const auto m = loc.match(line); m.hasMatch()) {
        now = m.captured(1).toInt();
        for (auto outer = inlined.globalMatch(line); !useful(now) && outer.hasNext();)
          now = outer.next().captured(1).toInt();
      } else if (line.contains(QLatin1String(".entry")) || line.startsWith(QLatin1Char('}'))) {
        now = 0;
      }
    } else if (const auto m = comment.match(line); m.hasMatch()) {
      const int here = m.captured(1).toInt();
      if (!chain || !useful(now)) now = here;
      chain = true;
      out.push_back(now);
      continue;
    } else if (line.contains(QLatin1String(".text."))) {
      now = 0;
    }
    chain = false;
    out.push_back(now);
  }
  return out;
}

Stage assembly_to_come(Assembly what) {
  Stage s;
  const bool ptx = what == Assembly::Ptx;
  s.id = ptx ? QStringLiteral("ptx") : QStringLiteral("sass");
  s.title = ptx ? QStringLiteral("PTX") : QStringLiteral("SASS");
  s.syntax = ptx ? Syntax::Ptx : Syntax::Sass;
  s.on_demand = true;
  if (!cuda::find_compiler())
    s.refusal = Refusal{"show " + s.title.toStdString(), "", "no nvcc is found",
                        "install the CUDA toolkit, or set CUDA_HOME or NAUTILUS_NVCC"};
  else if (!ptx && !cuda::find_disassembler())
    s.refusal = Refusal{"show SASS", "", "neither nvdisasm nor cuobjdump is beside nvcc or on PATH",
                        "install the CUDA toolkit's binary utilities"};
  return s;
}

Stage make_assembly(const cuda::Source& source, Assembly what, const Stage& cuda,
                    const std::atomic<bool>* stop) {
  Stage s = assembly_to_come(what);
  s.on_demand = false;
  if (s.refusal) return s;
  auto text = what == Assembly::Ptx ? cuda::ptx_text(source, stop) : cuda::sass_text(source, stop);
  if (!text) {
    s.refusal = text.error();
    return s;
  }
  s.lines = split_lines(*text);
  std::vector<bool> known(cuda.tags.size() + 1);
  for (size_t n = 0; n < cuda.tags.size(); ++n) known[n + 1] = cuda.tags[n].node >= 0;
  for (const int line : source_lines(s.lines, what, known))
    s.tags.push_back(line > 0 && size_t(line) < known.size() ? cuda.tags[size_t(line - 1)]
                                                             : LineTag{});
  return s;
}

}  // namespace nautilus::gui
