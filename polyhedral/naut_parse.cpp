// Reader of `.naut` (format: naut.h). Every failure carries file:line:column; nothing that the
// text can contain reaches isl unchecked: length, nesting and digit runs are bounded, and isl works
// under a quota.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <set>

#include "polyhedral/naut.h"
#include "polyhedral/program_check.h"
#include "polyhedral/schedule.h"

namespace nautilus::poly {

std::optional<naut::Unreadable> naut::unreadable(std::string_view s) {
  constexpr size_t kMaxIsl = 1 << 18, kMaxNesting = 60, kMaxDigits = 30;
  if (s.size() > kMaxIsl) return Unreadable{0, "the set is too long"};
  size_t depth = 0, digits = 0;
  for (size_t k = 0; k < s.size(); ++k) {
    const char c = s[k];
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126)
      return Unreadable{k, "a character that isl's notation does not know"};
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (depth > kMaxNesting) return Unreadable{k, "brackets are nested too deeply"};
    if (digits > kMaxDigits) return Unreadable{k, "the number is too long"};
  }
  return std::nullopt;
}

namespace {

constexpr size_t kMaxText = 1 << 22, kMaxItems = 2000;

struct Failure {
  int line, column;
  std::string why, suggest;
};

// One line of the text with a cursor. Columns count from 1.
class Line {
 public:
  Line(std::string_view text, int number) : text_(text), number_(number) {}
  int number() const { return number_; }
  int column() const { return static_cast<int>(at_) + 1; }
  bool done() {
    skip();
    return at_ >= text_.size();
  }
  std::string_view rest() {
    skip();
    std::string_view r = text_.substr(std::min(at_, text_.size()));
    at_ = text_.size();
    while (!r.empty() && (r.back() == ' ' || r.back() == '\t')) r.remove_suffix(1);
    return r;
  }
  // Characters up to white space or one of `stops`.
  std::string word(std::string_view stops = "") {
    skip();
    const size_t from = at_;
    while (at_ < text_.size() && !space(text_[at_]) &&
           stops.find(text_[at_]) == std::string_view::npos)
      ++at_;
    return std::string(text_.substr(from, at_ - from));
  }
  bool eat(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!eat(c)) fail(std::string("expected '") + c + "'");
  }
  int64_t integer() {
    skip();
    const int from = column();
    int64_t v = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), v);
    if (error != std::errc()) fail("expected an integer that fits in 64 bits", "", from);
    at_ += static_cast<size_t>(end - begin);
    return v;
  }
  int small() {
    const int from = column();
    const int64_t v = integer();
    if (v < 0 || v > 10'000'000) fail("the number is out of range", "", from);
    return static_cast<int>(v);
  }
  std::string identifier(std::string_view what, std::string_view stops = "") {
    skip();
    const int from = column();
    const std::string w = word(stops);
    if (!naut::is_identifier(w))
      fail("expected " + std::string(what) + (w.empty() ? "" : ", found '" + w.substr(0, 40) + "'"),
           naut::is_reserved(w) ? "'" + w + "' is a word of isl's notation; choose another name"
                                : "",
           from);
    return w;
  }
  // isl text: up to the last '}' of the line.
  std::string isl_object() {
    skip();
    const size_t end = text_.rfind('}');
    if (end == std::string_view::npos || end < at_) fail("expected isl notation in braces");
    std::string out(text_.substr(at_, end + 1 - at_));
    const int from = column();
    check_isl(out, from);
    at_ = end + 1;
    return out;
  }
  void check_isl(std::string_view s, int from) const {
    if (const auto bad = naut::unreadable(s)) fail_at(bad->why, from + static_cast<int>(bad->at));
  }
  [[noreturn]] void fail(std::string why, std::string suggest = "", int column_at = 0) {
    skip();
    throw Failure{number_, column_at ? column_at : column(), std::move(why), std::move(suggest)};
  }
  void finish() {
    if (!done()) fail("unexpected text at the end of the line");
  }

 private:
  static bool space(char c) { return c == ' ' || c == '\t'; }
  void skip() {
    while (at_ < text_.size() && space(text_[at_])) ++at_;
  }
  [[noreturn]] void fail_at(std::string why, int column) const {
    throw Failure{number_, column, std::move(why), ""};
  }
  std::string_view text_;
  int number_;
  size_t at_ = 0;
};

class NautParser {
 public:
  NautParser(ContextPtr context, std::string_view text) : text_(text) {
    p_.context = std::move(context);
    p_.param_context = isl::space::unit(ctx()).universe_set();
  }

  Program run() {
    if (text_.size() > kMaxText) throw Failure{1, 1, "the text is too long", ""};
    int number = 0;
    for (size_t at = 0; at <= text_.size();) {
      const size_t end = std::min(text_.find('\n', at), text_.size());
      std::string_view raw = text_.substr(at, end - at);
      if (!raw.empty() && raw.back() == '\r') raw.remove_suffix(1);
      Line line(raw, ++number);
      at = end + 1;
      if (line.done() || line.eat('#')) continue;
      dispatch(line);
    }
    finish(number);
    return std::move(p_);
  }
  // Bands of a given order have one function a statement, as those of every schedule do.
  void check_order(const Program& p) const {
    if (!has_order_) return;
    NodeId next = 0;
    if (const auto tree = from_isl(p, p.original, next); !tree)
      throw Failure{order_line_, order_column_, tree.error().why, tree.error().suggest};
  }
  int line_of(const std::string& item) const {
    const auto at = lines_.find(item);
    return at == lines_.end() ? 1 : at->second;
  }

 private:
  std::string_view text_;
  Program p_;
  bool versioned_ = false, in_tensor_ = false, in_statement_ = false, has_order_ = false;
  std::map<std::string, int> lines_;
  std::set<std::string> given_;    // facts of the current statement that may come once
  std::vector<std::string> dims_;  // names of its dims
  std::string order_;
  int order_line_ = 0, order_column_ = 0;

  isl::ctx ctx() const { return p_.context->get(); }
  Statement& statement() { return p_.statements.back(); }

  void dispatch(Line& line) {
    const int column = (line.done(), line.column());
    const std::string key = line.word(" (");
    if (!versioned_ && key != "naut") line.fail("the first line must be 'naut 1'", "", column);
    static const std::map<std::string, void (NautParser::*)(Line&)> kTop{
        {"naut", &NautParser::version},    {"program", &NautParser::program},
        {"sizes", &NautParser::sizes},     {"where", &NautParser::where},
        {"typical", &NautParser::typical}, {"scalars", &NautParser::scalars},
        {"tensor", &NautParser::tensor},   {"statement", &NautParser::open},
        {"original", &NautParser::order}};
    static const std::map<std::string, void (NautParser::*)(Line&)> kInside{
        {"domain", &NautParser::domain},     {"write", &NautParser::write},
        {"read", &NautParser::read},         {"index", &NautParser::index},
        {"expr", &NautParser::expr},         {"guard", &NautParser::guard},
        {"reduce", &NautParser::reduce},     {"combine", &NautParser::combine},
        {"identity", &NautParser::identity}, {"at", &NautParser::location}};
    if (const auto top = kTop.find(key); top != kTop.end()) {
      close(line);
      in_tensor_ = false;
      (this->*top->second)(line);
    } else if (key == "extent" && in_tensor_) {
      extent(line);
    } else if (const auto inside = kInside.find(key); inside != kInside.end() && in_statement_) {
      if (key != "read" && key != "index" && !given_.insert(key).second)
        line.fail("'" + key + "' is given twice", "", column);
      if (key != "domain" && !given_.count("domain"))
        line.fail("'domain' must come first", "", column);
      (this->*inside->second)(line);
    } else {
      line.fail("unknown or misplaced word '" + key.substr(0, 40) + "'", "", column);
    }
    line.finish();
  }

  void version(Line& line) {
    if (versioned_ || line.integer() != 1) line.fail("this is not version 1 of the text form");
    versioned_ = true;
  }
  void program(Line& line) { p_.name = line.identifier("the program's name"); }
  void sizes(Line& line) {
    while (!line.done()) p_.params.push_back(line.identifier("a size's name"));
  }
  void scalars(Line& line) {
    while (!line.done()) p_.scalars.push_back(line.identifier("a scalar's name"));
  }
  void typical(Line& line) {
    while (!line.done()) {
      const std::string name = line.identifier("a size's name", "=");
      line.expect('=');
      p_.typical[name] = line.integer();
    }
  }
  void where(Line& line) {
    p_.param_context = parse<isl::set>(line, "facts about sizes");
    if (n_dim(p_.param_context) != 0 || !tuple_name(p_.param_context).empty() ||
        isl_text(p_.param_context.params()) != isl_text(p_.param_context))
      line.fail("facts may only be about sizes: [N] -> { : N > 0 }");
  }

  // Reads an isl object in braces; isl's own message on failure. Parameters must be declared sizes.
  template <class T>
  T parse(Line& line, const std::string& what) {
    line.done();
    const int column = line.column();
    const std::string text = line.isl_object();
    try {
      T object(ctx(), text);
      check_params(line, column, params_of(object));
      return object;
    } catch (const isl::exception_quota&) {
      throw;
    } catch (const isl::exception& e) {
      line.fail("isl cannot read " + what + ": " + message(e), "", column);
    }
  }
  static std::string message(const isl::exception& e) {
    const std::string text = e.what();
    const size_t at = text.rfind(": ");
    return at == std::string::npos ? text : text.substr(at + 2);
  }
  static std::vector<std::string> params_of(const isl::set& s) { return param_names(s); }
  static std::vector<std::string> params_of(const isl::map& m) { return param_names(m.wrap()); }
  static std::vector<std::string> params_of(const isl::aff& a) {
    return param_names(a.as_map().wrap());
  }
  static std::vector<std::string> params_of(const isl::pw_aff& a) {
    return param_names(a.as_set());
  }
  void check_params(Line& line, int column, const std::vector<std::string>& names) {
    for (const std::string& n : names)
      if (std::find(p_.params.begin(), p_.params.end(), n) == p_.params.end())
        line.fail("'" + n + "' is not a declared size", "add it to 'sizes'", column);
  }

  void tensor(Line& line) {
    Tensor t;
    t.name = line.identifier("the tensor's name");
    if (p_.tensors.size() >= kMaxItems) line.fail("there are too many tensors");
    if (p_.tensor(t.name)) line.fail("tensor " + t.name + " is declared twice");
    const std::string kind = line.word(), type = line.word();
    if (!naut::kind_from_name(kind)) line.fail("expected input, output or temp");
    if (!type_from_name(type)) line.fail("unknown element type '" + type.substr(0, 40) + "'");
    t.kind = *naut::kind_from_name(kind);
    t.type = *type_from_name(type);
    lines_.emplace(t.name, line.number());
    p_.tensors.push_back(t);
    in_tensor_ = true;
  }
  void extent(Line& line) {
    p_.tensors.back().extents.push_back(parse<isl::pw_aff>(line, "an extent"));
  }

  void open(Line& line) {
    const std::string name = line.identifier("the statement's name", "(");
    if (p_.statements.size() >= kMaxItems) line.fail("there are too many statements");
    if (p_.statement(name)) line.fail("statement " + name + " is defined twice");
    dims_.clear();
    line.expect('(');
    while (!line.eat(')')) {
      if (!dims_.empty()) line.expect(',');
      dims_.push_back(line.identifier("a dimension's name", ",)"));
      if (std::count(dims_.begin(), dims_.end(), dims_.back()) > 1)
        line.fail("a dimension is named twice");
    }
    lines_.emplace(name, line.number());
    p_.statements.emplace_back().name = name;  // isl objects that are still null cannot be copied
    in_statement_ = true;
    given_.clear();
  }
  void domain(Line& line) {
    line.done();
    const int column = line.column();
    isl::set d = parse<isl::set>(line, "the domain");
    if (tuple_name(d) != statement().name || n_dim(d) != dims_.size() || d.is_wrapping())
      line.fail("the domain must be of " + statement().name + "[" + std::to_string(dims_.size()) +
                    " dimensions]",
                "", column);
    statement().domain = set_dim_names(d, dims_);
  }
  Access access(Line& line) {
    Access a;
    const int name_column = (line.done(), line.column());
    a.tensor = line.identifier("a tensor's name", "{[");
    const Tensor* t = p_.tensor(a.tensor);
    if (!t)
      line.fail("there is no tensor " + a.tensor, "declare it before the statements", name_column);
    const int column = (line.done(), line.column());
    a.map = parse<isl::map>(line, "the access");
    if (tuple_name_in(a.map) != statement().name || n_in(a.map) != dims_.size())
      line.fail("the access must start from " + statement().name + "[...]", "", column);
    if (tuple_name_out(a.map) != a.tensor || n_out(a.map) != t->rank())
      line.fail(
          "the access must lead to " + a.tensor + "[" + std::to_string(t->rank()) + " dimensions]",
          "", column);
    if (line.done()) return a;
    const std::string word = line.word();
    if (word != "gather") line.fail("expected 'gather' or the end of the line");
    do {
      Access::Gather g;
      g.dim = line.small();
      line.expect('=');
      g.read = line.small();
      a.gathers.push_back(g);
    } while (line.eat(','));
    return a;
  }
  void write(Line& line) { statement().write = access(line); }
  void read(Line& line) { statement().reads.push_back(access(line)); }
  void index(Line& line) {
    const int column = (line.done(), line.column());
    isl::aff a = parse<isl::aff>(line, "the index value");
    const isl::map m = a.as_map();
    if (tuple_name_in(m) != statement().name || n_in(m) != dims_.size())
      line.fail("the index value must be a function of " + statement().name + "[...]", "", column);
    statement().indices.push_back(a);
  }
  Expr expression(Line& line) {
    const int column = (line.done(), line.column());
    const std::string_view text = line.rest();
    Expected<Expr> e = parse_expr(text);
    if (!e) line.fail(e.error().why, e.error().suggest, column + offset(e.error().where));
    return *e;
  }
  // parse_expr says "column N" of its own text.
  static int offset(const std::string& where) {
    const std::string prefix = "column ";
    return where.rfind(prefix, 0) == 0 ? std::max(0, std::atoi(where.c_str() + prefix.size()) - 1)
                                       : 0;
  }
  void expr(Line& line) { statement().expr = expression(line); }
  void guard(Line& line) { statement().guard = expression(line); }
  void reduce(Line& line) {
    const int column = (line.done(), line.column());
    const std::string name = line.word();
    const auto op = reduce_op_from_name(name);
    if (!op)
      line.fail("unknown reduction '" + name.substr(0, 40) + "'",
                "sum, prod, max, min, any, all or user", column);
    Reduction r;
    r.op = *op;
    if (!line.done()) {
      if (line.word() != "over") line.fail("expected 'over'");
      do r.dims.push_back(line.small());
      while (line.eat(','));
    }
    statement().reduction = r;
  }
  Reduction& reduction(Line& line) {
    if (!statement().reduction) line.fail("'reduce' must come first");
    return *statement().reduction;
  }
  void combine(Line& line) { reduction(line).combine = expression(line); }
  void identity(Line& line) { reduction(line).identity = expression(line); }
  void location(Line& line) {
    statement().loc.line = line.small();
    statement().loc.column = line.small();
    line.expect('"');
    std::string_view text = line.rest();
    if (text.empty() || text.back() != '"') line.fail("expected a closing quote");
    text.remove_suffix(1);
    for (size_t k = 0; k < text.size(); ++k) {
      if (text[k] == '\\' && k + 1 < text.size())
        statement().loc.file += text[++k] == 'n' ? '\n' : text[k];
      else
        statement().loc.file += text[k];
    }
  }
  void order(Line& line) {
    if (has_order_) line.fail("'original' is given twice");
    has_order_ = true;
    line.done();
    order_line_ = line.number();
    order_column_ = line.column();
    order_ = std::string(line.rest());
    line.check_isl(order_, order_column_);
  }

  // A statement must have a domain, a write and an expression.
  void close(Line& line) {
    if (!in_statement_) return;
    in_statement_ = false;
    for (const char* key : {"domain", "write", "expr"})
      if (!given_.count(key))
        throw Failure{line_of(statement().name), 1,
                      "statement " + statement().name + " has no '" + key + "'", ""};
    (void)line;
  }

  void finish(int number) {
    Line end("", number);
    close(end);
    if (!versioned_ || p_.name.empty())
      throw Failure{number, 1, "the text has no 'program' line", ""};
    p_.original = has_order_ ? read_order() : textual_order(p_);
  }
  isl::schedule read_order() {
    try {
      return isl::schedule(ctx(), order_);
    } catch (const isl::exception_quota&) {
      throw;
    } catch (const isl::exception& e) {
      throw Failure{order_line_, order_column_, "isl cannot read the schedule: " + message(e), ""};
    }
  }
};

std::string position(const std::string& file, int line, int column) {
  return (file.empty() ? "<naut>" : file) + ":" + std::to_string(line) + ":" +
         std::to_string(column);
}

}  // namespace

Expected<Program> parse_naut(ContextPtr context, std::string_view text, const std::string& file) {
  const std::string asked = "read a program";
  NautParser parser(context, text);
  auto result = with_quota(context->get(), kDefaultQuota, [&]() -> Expected<Program> {
    try {
      Program p = parser.run();
      if (auto bad = check_structure(p))
        return Refusal{asked, position(file, parser.line_of(bad->item), 1), bad->refusal.text(),
                       bad->refusal.suggest};
      parser.check_order(p);
      return p;
    } catch (const Failure& f) {
      return Refusal{asked, position(file, f.line, f.column), f.why, f.suggest};
    }
  });
  if (!result) return Refusal{asked, position(file, 1, 1), result.error().why, ""};
  return *result;
}

}  // namespace nautilus::poly
