#include "gui/models/syntax.h"

#include <QSet>

namespace nautilus::gui {

namespace {

QSet<QString> word_set(const char* list) {
  const QStringList all = QString::fromLatin1(list).split(QLatin1Char(' '));
  return {all.begin(), all.end()};
}

const QSet<QString>& keywords(Syntax s) {
  static const QSet<QString> c = word_set(
      "if else for while do return const constexpr static inline extern struct switch case break "
      "continue using namespace template typename auto unsigned signed void sizeof true false asm "
      "volatile __global__ __device__ __shared__ __launch_bounds__ __forceinline__ __restrict__ "
      "__grid_constant__ class enum public private operator new delete this");
  static const QSet<QString> spec = [] {
    QSet<QString> all = c;
    all += word_set(
        "NAUTILUS_KERNEL Input Output Tensor Index Size sum max min softmax where any all "
        "prod typical multiple_of");
    return all;
  }();
  static const QSet<QString> naut = word_set(
      "naut program sizes where typical tensor input output temp extent statement domain write "
      "read expr reduce sum max min prod any all over at index guard original and or mod exists "
      "floor scalar");
  static const QSet<QString> schedule = word_set(
      "band sequence filter mark leaf permutable scope repairs lazy grid tile unroll "
      "warpgroup serial register shared global");
  static const QSet<QString> loops =
      word_set("for in if else where step and or grid tile unroll warpgroup");
  static const QSet<QString> tile = word_set(
      "module kernel tensor buffer grid values comment note rewrite sizes input output temp global "
      "shared register const iota load store cast mask reduce dot rename for in step carry if else "
      "yield barrier span over where fill sum max min any all prod target role first warps layout "
      "slots offset align mbarrier named arrivals id blocks_per_sm exchange slice loadglobal "
      "storeglobal atomicadd matrix transposed vector signal bytes count parity read repeat lane "
      "warp register");
  static const QSet<QString> none;
  switch (s) {
    case Syntax::Spec:
      return spec;
    case Syntax::Cuda:
    case Syntax::Cpp:
      return c;
    case Syntax::Naut:
      return naut;
    case Syntax::Schedule:
      return schedule;
    case Syntax::Loops:
      return loops;
    case Syntax::Tile:
    case Syntax::Memory:
      return tile;
    case Syntax::Ptx:
    case Syntax::Sass:
      return none;
  }
  return none;
}

bool is_type(const QString& word) {
  static const QSet<QString> types = word_set(
      "f16 bf16 f32 f64 i8 i32 e4m3 e5m2 bool tf32 float double half int int8_t int16_t int32_t "
      "int64_t uint8_t uint16_t uint32_t uint64_t size_t half2 __half __half2 __nv_bfloat16 uint4 "
      "float2 float4 uint2 char long short");
  return types.contains(word);
}

bool c_like(Syntax s) {
  return s == Syntax::Spec || s == Syntax::Cuda || s == Syntax::Cpp || s == Syntax::Ptx ||
         s == Syntax::Sass;
}
bool starts_word(QChar c) { return c.isLetter() || c == QLatin1Char('_'); }
bool in_word(QChar c) { return c.isLetterOrNumber() || c == QLatin1Char('_'); }

class Lexer {
 public:
  Lexer(Syntax s, const QString& line, const QHash<QString, int>& statements)
      : syntax_(s), line_(line), statements_(statements) {}
  std::vector<TokenSpan> run() {
    while (at_ < line_.size()) next();
    return std::move(out_);
  }

 private:
  const Syntax syntax_;
  const QString& line_;
  const QHash<QString, int>& statements_;
  int at_ = 0;
  std::vector<TokenSpan> out_;

  QChar peek(int n = 0) const { return at_ + n < line_.size() ? line_[at_ + n] : QChar(); }
  void take(int end, Token t, int statement = -1) {
    out_.push_back({at_, end - at_, t, statement});
    at_ = end;
  }
  template <class P>
  int run_of(int from, P in) const {
    while (from < line_.size() && in(line_[from])) ++from;
    return from;
  }

  void next() {
    const QChar c = peek();
    const int size = int(line_.size());
    if (c_like(syntax_) && c == QLatin1Char('/') &&
        (peek(1) == QLatin1Char('/') || peek(1) == QLatin1Char('*'))) {
      const int close =
          peek(1) == QLatin1Char('*') ? int(line_.indexOf(QLatin1String("*/"), at_ + 2)) : -1;
      return take(close < 0 ? size : close + 2, Token::Comment);
    }
    if (c == QLatin1Char('#') &&
        (syntax_ == Syntax::Cuda || syntax_ == Syntax::Cpp || syntax_ == Syntax::Spec))
      return take(size, Token::Origin);
    if (c == QLatin1Char('"')) {
      int end = at_ + 1;
      while (end < size && line_[end] != QLatin1Char('"'))
        end += line_[end] == QLatin1Char('\\') ? 2 : 1;
      return take(std::min(end + 1, size), Token::Text);
    }
    const bool ir = syntax_ == Syntax::Tile || syntax_ == Syntax::Memory;
    if (c == QLatin1Char('%') && (ir || syntax_ == Syntax::Ptx))
      return take(run_of(at_ + 1, in_word), Token::Value);
    if (c == QLatin1Char('@') && ir)
      return take(run_of(at_ + 1, [](QChar x) { return in_word(x) || x == QLatin1Char(':'); }),
                  Token::Origin);
    if (c == QLatin1Char('.') && syntax_ == Syntax::Ptx && starts_word(peek(1)))
      return take(run_of(at_ + 1, in_word), Token::Type);
    if (c.isDigit()) {
      return take(run_of(at_ + 1, [](QChar x) { return in_word(x) || x == QLatin1Char('.'); }),
                  Token::Number);
    }
    if (!starts_word(c)) return void(++at_);
    word();
  }

  void word() {
    const int end = run_of(at_, in_word);
    const QString w = line_.mid(at_, end - at_);
    if (const auto s = statements_.find(w); s != statements_.end())
      return take(end, Token::Statement, s.value());
    if (is_type(w)) return take(end, Token::Type);
    if (keywords(syntax_).contains(w)) return take(end, Token::Keyword);
    if ((syntax_ == Syntax::Ptx || syntax_ == Syntax::Sass) && first_word()) {
      return take(end, Token::Keyword);
    }
    at_ = end;
  }
  bool first_word() const { return QStringView(line_).left(at_).trimmed().isEmpty(); }
};

}  // namespace

std::vector<TokenSpan> tokens_of(Syntax syntax, const QString& line,
                                 const QHash<QString, int>& statements) {
  return Lexer(syntax, line, statements).run();
}

QString word_at(const QString& line, int column) {
  if (column < 0 || column >= line.size()) return {};
  int begin = column, end = column;
  while (begin > 0 && in_word(line[begin - 1])) --begin;
  while (end < line.size() && in_word(line[end])) ++end;
  if (begin > 0 && line[begin - 1] == QLatin1Char('%')) --begin;
  if (begin == column && end == column && line[column] == QLatin1Char('%')) {
    end = column + 1;
    while (end < line.size() && in_word(line[end])) ++end;
  }
  const QString word = line.mid(begin, end - begin);
  return word == QLatin1String("%") ? QString() : word;
}

}  // namespace nautilus::gui
