// Clang's front end in process: own diagnostics go through its engine, so that they look like
// Clang's. Built without RTTI, as LLVM is: it derives from Clang's classes.
#include "compiler/spec/clang_front.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Tooling/Tooling.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>

#include "compiler/spec/clang_walk.h"

namespace nautilus::spec {

using namespace clang;

namespace {

// Prints Clang-style text and remembers where errors were.
class Printer : public TextDiagnosticPrinter {
 public:
  Printer(llvm::raw_ostream& os, DiagnosticOptions* options) : TextDiagnosticPrinter(os, options) {}
  void HandleDiagnostic(DiagnosticsEngine::Level level, const Diagnostic& info) override {
    if (level >= DiagnosticsEngine::Error) {
      if (level == DiagnosticsEngine::Fatal) fatal = true;
      if (info.getLocation().isValid() && info.hasSourceManager())
        errors.push_back(info.getSourceManager().getExpansionLoc(info.getLocation()));
    }
    TextDiagnosticPrinter::HandleDiagnostic(level, info);
  }
  std::vector<SourceLocation> errors;
  bool fatal = false;
};

void emit(DiagnosticsEngine& engine, DiagnosticsEngine::Level level, const Loc& loc,
          const std::string& text) {
  const unsigned id = engine.getCustomDiagID(level, "%0");
  const SourceLocation at = SourceLocation::getFromRawEncoding(loc.caret);
  DiagnosticBuilder b = engine.Report(at, id);
  b << text;
  const auto begin = SourceLocation::getFromRawEncoding(loc.begin),
             end = SourceLocation::getFromRawEncoding(loc.end);
  if (begin.isValid() && end.isValid()) b << CharSourceRange::getTokenRange(begin, end);
}

class Consumer : public ASTConsumer {
 public:
  Consumer(CompilerInstance& ci, Printer& printer, const Checker& check, std::string file)
      : ci_(ci), printer_(printer), check_(check), file_(std::move(file)) {}

  void HandleTranslationUnit(ASTContext& ctx) override {
    if (printer_.fatal) return;
    SpecFile spec;
    spec.file = file_;
    std::vector<Diag> diags;
    collect(ctx, ctx.getTranslationUnitDecl(), spec, diags);
    for (Diag& d : check_(spec)) diags.push_back(std::move(d));
    for (const Diag& d : diags) {
      emit(ci_.getDiagnostics(), d.error ? DiagnosticsEngine::Error : DiagnosticsEngine::Warning,
           d.loc, d.message);
      for (const auto& [at, note] : d.notes)
        emit(ci_.getDiagnostics(), DiagnosticsEngine::Note, at, note);
    }
  }

 private:
  // Kernels of the main file and its own headers, in namespaces too, in order.
  void collect(ASTContext& ctx, const DeclContext* dc, SpecFile& spec, std::vector<Diag>& diags) {
    for (const Decl* d : dc->decls()) {
      if (const auto* ns = dyn_cast<NamespaceDecl>(d)) collect(ctx, ns, spec, diags);
      if (const auto* ls = dyn_cast<LinkageSpecDecl>(d)) collect(ctx, ls, spec, diags);
      const auto* f = dyn_cast<FunctionDecl>(d);
      if (!f || !Walk::is_kernel(f) || !f->isThisDeclarationADefinition()) continue;
      KernelDecl k = Walk(ctx, diags).kernel(f);
      k.broken |= error_inside(ctx.getSourceManager(), f->getSourceRange());
      spec.kernels.push_back(std::move(k));
    }
  }
  bool error_inside(const SourceManager& sm, SourceRange r) const {
    const SourceLocation begin = sm.getExpansionLoc(r.getBegin()),
                         end = sm.getExpansionLoc(r.getEnd());
    for (SourceLocation at : printer_.errors)
      if (!sm.isBeforeInTranslationUnit(at, begin) && !sm.isBeforeInTranslationUnit(end, at))
        return true;
    return false;
  }
  CompilerInstance& ci_;
  Printer& printer_;
  const Checker& check_;
  std::string file_;
};

class Action : public ASTFrontendAction {
 public:
  Action(Printer& printer, const Checker& check) : printer_(printer), check_(check) {}
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance& ci, StringRef file) override {
    ci.setVerboseOutputStream(llvm::nulls());  // no "1 error generated." beside our text
    return std::make_unique<Consumer>(ci, printer_, check_, file.str());
  }

 private:
  Printer& printer_;
  const Checker& check_;
};

}  // namespace

FrontResult run_clang(const std::string& path, const std::string* text,
                      const std::string& include_dir, const Checker& check) {
  FrontResult out;
  llvm::raw_string_ostream os(out.diagnostics);
  llvm::IntrusiveRefCntPtr<DiagnosticOptions> options(new DiagnosticOptions());
  options->ShowColors = false;
  Printer printer(os, options.get());
  llvm::IntrusiveRefCntPtr<llvm::vfs::OverlayFileSystem> fs(
      new llvm::vfs::OverlayFileSystem(llvm::vfs::getRealFileSystem()));
  if (text) {
    llvm::IntrusiveRefCntPtr<llvm::vfs::InMemoryFileSystem> memory(
        new llvm::vfs::InMemoryFileSystem());
    fs->pushOverlay(memory);  // first: it sets the working directory that a relative name is of
    memory->addFile(path, 0, llvm::MemoryBuffer::getMemBufferCopy(*text, path));
  }
  llvm::IntrusiveRefCntPtr<FileManager> files(new FileManager(FileSystemOptions(), fs));
  const std::vector<std::string> args = {"clang++",
                                         "-fsyntax-only",
                                         "-std=c++20",
                                         "-xc++",
                                         "-I" + include_dir,
                                         "-resource-dir",
                                         NAUTILUS_CLANG_RESOURCE_DIR,
                                         "-ferror-limit=50",
                                         "-Wno-unused-comparison",
                                         "-Wno-unused-value",
                                         "--",
                                         path};
  tooling::ToolInvocation invocation(args, std::make_unique<Action>(printer, check), files.get());
  invocation.setDiagnosticConsumer(&printer);
  invocation.setDiagnosticOptions(options.get());
  out.ok =
      invocation.run() && printer.errors.empty() && !printer.fatal && printer.getNumErrors() == 0;
  os.flush();
  return out;
}

}  // namespace nautilus::spec
