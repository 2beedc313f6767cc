// The one translation unit of the back end that includes Clang: cc1 in process gives an optimized
// LLVM module, ORC's LLJIT turns it into code.
#include "compiler/backend/cpu/jit.h"

#include <clang/Basic/DiagnosticOptions.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ThreadSafeModule.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <map>
#include <mutex>
#include <vector>

#include "compiler/backend/cpu/threads.h"

namespace nautilus::cpu {
namespace {

Refusal failed(const std::string& why) {
  Refusal r;
  r.asked = "compile for the CPU";
  r.why = why;
  return r;
}

void initialize_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
}

// cc1 arguments for this host; the file name is what diagnostics show.
std::vector<std::string> arguments(const JitOptions& options) {
  std::vector<std::string> args = {"-triple", llvm::sys::getProcessTriple(), "-target-cpu",
                                   llvm::sys::getHostCPUName().str()};
  std::map<std::string, bool> features;
  for (const auto& f : llvm::sys::getHostCPUFeatures()) features[f.first().str()] = f.second;
  for (const auto& [name, on] : features) {
    args.push_back("-target-feature");
    args.push_back((on ? "+" : "-") + name);
  }
  args.insert(args.end(), {"-O" + std::to_string(options.level), "-std=c++20", "-nostdsysteminc",
                           "-nobuiltininc", "-w", "-mrelocation-model", "pic", "-pic-level", "2",
                           "-relaxed-aliasing", "-fno-rtti",
                           options.contract ? "-ffp-contract=on" : "-ffp-contract=off",
                           "-mprefer-vector-width=" + std::to_string(options.vector_bits)});
  if (options.level >= 2) args.insert(args.end(), {"-vectorize-loops", "-vectorize-slp"});
  args.insert(args.end(), {"-x", "c++", "nautilus_kernel.cpp"});
  return args;
}

struct Module {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

// Runs cc1 with the optimizer on the text.
Expected<Module> to_llvm(const std::string& source, const JitOptions& options) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> diag_options(new clang::DiagnosticOptions);
  clang::TextDiagnosticPrinter printer(out, diag_options.get());
  clang::CompilerInstance compiler;
  compiler.createDiagnostics(&printer, /*ShouldOwnClient=*/false);
  compiler.setVerboseOutputStream(out);
  const std::vector<std::string> args = arguments(options);
  std::vector<const char*> pointers;
  for (const auto& a : args) pointers.push_back(a.c_str());
  if (!clang::CompilerInvocation::CreateFromArgs(compiler.getInvocation(), pointers,
                                                 compiler.getDiagnostics()))
    return failed("the compiler refused its arguments: " + out.str());
  // The buffer must outlive the compilation; the preprocessor options do not own it then.
  auto buffer = llvm::MemoryBuffer::getMemBuffer(source, "nautilus_kernel.cpp");
  auto& preprocessor = compiler.getInvocation().getPreprocessorOpts();
  preprocessor.RetainRemappedFileBuffers = true;
  preprocessor.addRemappedFile("nautilus_kernel.cpp", buffer.get());
  Module result;
  result.context = std::make_unique<llvm::LLVMContext>();
  clang::EmitLLVMOnlyAction action(result.context.get());
  if (!compiler.ExecuteAction(action)) return failed("the compiler reports\n" + out.str());
  result.module = action.takeModule();
  if (!result.module) return failed("the compiler gave no module\n" + out.str());
  return result;
}

class JitLibrary final : public Library {
 public:
  explicit JitLibrary(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {}
  void* symbol(const std::string& name) const override {
    auto found = jit_->lookup(name);
    if (!found) {
      llvm::consumeError(found.takeError());
      return nullptr;
    }
    return found->toPtr<void*>();
  }

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace

Expected<std::shared_ptr<Library>> load(const std::string& source, const JitOptions& options) {
  initialize_target();
  auto module = to_llvm(source, options);
  if (!module) return module.error();
  auto host = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!host) return failed(llvm::toString(host.takeError()));
  host->setCodeGenOptLevel(options.level >= 3   ? llvm::CodeGenOptLevel::Aggressive
                           : options.level == 2 ? llvm::CodeGenOptLevel::Default
                                                : llvm::CodeGenOptLevel::Less);
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*host)).create();
  if (!jit) return failed(llvm::toString(jit.takeError()));
  llvm::orc::JITDylib& main = (*jit)->getMainJITDylib();
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!process) return failed(llvm::toString(process.takeError()));
  main.addGenerator(std::move(*process));
  llvm::orc::SymbolMap host_symbols;
  host_symbols[(*jit)->mangleAndIntern("nautilus_parallel_for")] = {
      llvm::orc::ExecutorAddr::fromPtr(&parallel_for), llvm::JITSymbolFlags::Exported};
  if (auto e = main.define(llvm::orc::absoluteSymbols(std::move(host_symbols))))
    return failed(llvm::toString(std::move(e)));
  if (auto e = (*jit)->addIRModule(
          llvm::orc::ThreadSafeModule(std::move(module->module), std::move(module->context))))
    return failed(llvm::toString(std::move(e)));
  return std::shared_ptr<Library>(std::make_shared<JitLibrary>(std::move(*jit)));
}

}  // namespace nautilus::cpu
