// Clang's AST to the spec's own (ast.h). Only the clang_*.cpp files include this.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>

#include <map>
#include <optional>

#include "compiler/spec/ast.h"

namespace nautilus::spec {

// What a C++ expression or variable of one of the spec's types stands for.
struct Binding {
  TermPtr term;                              // Value, Index, Size, numbers; Where: its condition
  std::vector<OverIndex> over;               // Over
  std::shared_ptr<const MonoidDecl> monoid;  // Monoid
  const clang::VarDecl* alias = nullptr;     // const Tensor&: the tensor
};

enum class ClassKind : uint8_t {
  None,
  Value,
  Index,
  Size,
  SizeFacts,
  ElementType,
  Shape,
  Tensor,
  Input,
  Output,
  Where,
  Over,
  Monoid,
  Kernel
};

// Walks one kernel function. Errors go to `diags`; what is wrong becomes a Bad term, and the walk
// goes on.
class Walk {
 public:
  using Expr = clang::Expr;  // not nautilus::Expr
  using Type = nautilus::Type;
  Walk(clang::ASTContext& ctx, std::vector<Diag>& diags) : ctx_(ctx), diags_(diags) {}
  KernelDecl kernel(const clang::FunctionDecl* f);
  static bool is_kernel(const clang::FunctionDecl* f);

 private:
  // clang_kernel.cpp: statements and declarations
  void statement(const clang::Stmt* s);
  void declaration(const clang::Decl* d);
  bool declare(const clang::VarDecl*
                   v);  // a size, index, tensor, monoid or named value; false: none of these
  void declare_size(const clang::VarDecl* v, const clang::Expr* init);
  void declare_tensor(const clang::VarDecl* v, ClassKind kind, const clang::CXXConstructExpr* init);
  void declare_monoid(const clang::VarDecl* v, const clang::CXXConstructExpr* init);
  std::vector<Fact> facts(const clang::Expr* e);
  bool definition(const clang::Expr* e);
  void claim_name(const clang::VarDecl* v);

  // clang_terms.cpp: expressions; clang_calls.cpp: calls and what is inlined
  TermPtr term(const clang::Expr* e);
  TermPtr term_of(const clang::Expr* e);
  TermPtr operator_call(const clang::CXXOperatorCallExpr* c);
  TermPtr reference(const clang::DeclRefExpr* r);
  TermPtr element(const clang::Expr* callee, const clang::CXXOperatorCallExpr* c);
  Binding call(const clang::CallExpr* c);
  Binding inline_call(const clang::CallExpr* c, const clang::FunctionDecl* f, unsigned first_arg);
  Binding primitive(const clang::CallExpr* c, const clang::FunctionDecl* f);
  Binding evaluate(const clang::Expr* e);  // by the type of e
  std::vector<OverIndex> over(const clang::Expr* e);
  std::shared_ptr<const MonoidDecl> monoid(const clang::Expr* e);
  const clang::VarDecl* tensor_variable(const clang::Expr* e);
  std::optional<TermPtr> constant(const clang::Expr* e);
  const clang::FunctionDecl* function_of(
      const clang::Expr* e);  // a lambda or function used as a value
  std::optional<Type> element_type(const clang::Expr* e);
  static const clang::Expr* peel(const clang::Expr* e);
  static bool in_spec_namespace(const clang::Decl* d);
  ClassKind class_of(clang::QualType t) const;

  // shared
  Loc loc(const clang::Expr* e) const;
  Loc loc(clang::SourceLocation caret, clang::SourceRange range) const;
  TermPtr bad(Loc l, const std::string& message,
              std::vector<std::pair<Loc, std::string>> notes = {});
  TermPtr bad();
  TermPtr sealed(Term t);
  TermPtr named(const clang::VarDecl* v, TermPtr value);  // a Let

  clang::ASTContext& ctx_;
  std::vector<Diag>& diags_;
  KernelDecl out_;
  std::map<const clang::ValueDecl*, Binding> bound_;
  std::map<std::string, const clang::VarDecl*> names_;
  std::map<const clang::VarDecl*, bool> declared_;
  std::vector<Loc>
      header_calls_;  // calls of functions of spec.h that are being inlined: errors are shown there
  int inlining_ = 0;
  int nesting_ = 0;
  int budget_ = 200'000;  // terms a kernel may visit: inlining can double without end
};

}  // namespace nautilus::spec
