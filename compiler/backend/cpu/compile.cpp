#include <new>

#include "compiler/backend/cpu/cpu.h"
#include "compiler/backend/cpu/jit.h"
#include "compiler/backend/cpu/threads.h"

namespace nautilus::cpu {
namespace {

class Function final : public Compiled {
 public:
  Function(std::shared_ptr<Library> library, void* entry)
      : library_(std::move(library)), entry_(reinterpret_cast<Entry>(entry)) {}
  void run(void** tensors, int threads) const override {
    entry_(tensors, threads);
    if (take_parallel_error()) throw std::bad_alloc();
  }

 private:
  using Entry = void (*)(void**, int);
  std::shared_ptr<Library> library_;
  Entry entry_;
};

}  // namespace

Expected<std::shared_ptr<Compiled>> compile(const std::string& source, const std::string& entry,
                                            tile::Numerics numerics) {
  JitOptions options;
  options.contract = numerics != tile::Numerics::Strict;
  auto library = load(source, options);
  if (!library) return library.error();
  void* symbol = (*library)->symbol(entry);
  if (!symbol) return Refusal{"compile for the CPU", "", "the text has no function " + entry, ""};
  return std::shared_ptr<Compiled>(std::make_shared<Function>(*library, symbol));
}

}  // namespace nautilus::cpu
