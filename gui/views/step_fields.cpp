#include "gui/views/step_fields.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QMenu>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QToolButton>
#include <algorithm>
#include <limits>

#include "polyhedral/json_text.h"

namespace nautilus::gui {
namespace {

using nlohmann::json;
using poly::ParamKind;

int as_int(int64_t v) {
  return static_cast<int>(
      std::clamp<int64_t>(v, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

// Whole numbers may stand for names (positions of members).
json name_value(const QString& text) {
  bool number = false;
  const qlonglong v = text.toLongLong(&number);
  return number ? json(v) : json(text.toStdString());
}
QString name_text(const json& v) {
  return QString::fromStdString(v.is_string() ? v.get<std::string>() : v.is_null() ? "" : v.dump());
}

QHBoxLayout* field_row(QWidget* w) {
  auto* row = new QHBoxLayout(w);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(4);
  return row;
}

void describe_field(QWidget* w, const poly::ParamInfo& p) {
  const QString help = QString::fromStdString(p.help);
  w->setToolTip(help);
  w->setAccessibleName(QString::fromStdString(p.name));
  w->setAccessibleDescription(help);
}

class NodeField : public StepField {
 public:
  NodeField(const poly::ParamInfo& info, QWidget* parent) : StepField(info, parent) {
    auto* row = field_row(this);
    box_ = new QComboBox(this);
    box_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box_->setMinimumContentsLength(14);
    describe_field(box_, info);
    pick_ = new QToolButton(this);
    pick_->setText(tr("pick"));
    pick_->setCheckable(true);
    pick_->setToolTip(tr("Pick the node: click it in the tree"));
    pick_->setAccessibleName(tr("pick %1 in the tree").arg(QString::fromStdString(info.name)));
    row->addWidget(box_, 1);
    row->addWidget(pick_);
    setFocusProxy(box_);
    connect(box_, &QComboBox::currentIndexChanged, this, [this] { edited(); });
    connect(pick_, &QToolButton::toggled, this, [this](bool on) { picking(on); });
  }
  json value() const override {
    return box_->currentIndex() < 0 || box_->currentData().toInt() < 0
               ? json()
               : json(box_->currentData().toInt());
  }
  void set_value(const json& v) override {
    if (v.is_number_integer())
      box_->setCurrentIndex(box_->findData(v.get<int>()));
    else if (info_.optional)
      box_->setCurrentIndex(0);
  }
  void refresh(const TreePicture& tree, const poly::TransformInfo&, const json&) override {
    const QSignalBlocker quiet(box_);
    const json before = value();
    box_->clear();
    if (info_.optional) box_->addItem(tr("not given"), -1);
    for (int r : eligible_rows(tree, info_)) {
      const TreeBox& b = tree.boxes[static_cast<size_t>(r)];
      QString text = QString::number(b.id) + ": " + QString::fromStdString(box_title(b));
      if (!b.text.empty()) text += " " + QString::fromStdString(b.text);
      box_->addItem(text.left(60), b.id);
    }
    set_value(before);
  }
  bool picked(poly::NodeId id) override {
    const int at = box_->findData(id);
    if (at >= 0) box_->setCurrentIndex(at);
    return at >= 0;
  }
  QToolButton* picker() override { return pick_; }

 private:
  QComboBox* box_;
  QToolButton* pick_;
};

class IntegerField : public StepField {
 public:
  IntegerField(const poly::ParamInfo& info, QWidget* parent) : StepField(info, parent) {
    auto* row = field_row(this);
    spin_ = new QSpinBox(this);
    const bool bounded = info.min != 0 || info.max != 0;
    const int low = bounded ? as_int(info.min) : std::numeric_limits<int>::min() + 1;
    spin_->setRange(info.optional ? low - 1 : low,
                    bounded ? as_int(info.max) : std::numeric_limits<int>::max());
    if (info.optional) spin_->setSpecialValueText(tr("default"));
    describe_field(spin_, info);
    spin_->setToolTip(bounded
                          ? tr("%1 (%2 to %3)").arg(spin_->toolTip()).arg(low).arg(spin_->maximum())
                          : spin_->toolTip());
    row->addWidget(spin_, 1);
    setFocusProxy(spin_);
    connect(spin_, &QSpinBox::valueChanged, this, [this] { edited(); });
  }
  json value() const override {
    return info_.optional && spin_->value() == spin_->minimum() ? json() : json(spin_->value());
  }
  void set_value(const json& v) override {
    spin_->setValue(v.is_number_integer() ? as_int(v.get<int64_t>()) : spin_->minimum());
  }

 private:
  QSpinBox* spin_;
};

// One number a member of the band, named by it; without a band one.
class IntegerListField : public StepField {
 public:
  IntegerListField(const poly::ParamInfo& info, QWidget* parent) : StepField(info, parent) {
    field_row(this);
  }
  json value() const override {
    json out = json::array();
    for (const QSpinBox* s : spins_) out.push_back(s->value());
    return out;
  }
  void set_value(const json& v) override {
    if (!v.is_array()) return;
    make(v.size());
    for (size_t k = 0; k < v.size(); ++k)
      if (v[k].is_number_integer())
        spins_[static_cast<qsizetype>(k)]->setValue(as_int(v[k].get<int64_t>()));
  }
  void refresh(const TreePicture& tree, const poly::TransformInfo& t, const json& params) override {
    const TreeBox* band = main_node(tree, t, params);
    if (!band) return;
    const auto& members = band->members;
    make(std::max<size_t>(1, members.size()));
    for (qsizetype k = 0; k < spins_.size() && k < static_cast<qsizetype>(members.size()); ++k) {
      const QString name = QString::fromStdString(members[static_cast<size_t>(k)].name);
      spins_[k]->setPrefix(name + QStringLiteral(": "));
      spins_[k]->setAccessibleName(tr("%1 of %2").arg(QString::fromStdString(info_.name), name));
    }
  }

 private:
  QList<QSpinBox*> spins_;

  void make(size_t count) {
    while (spins_.size() > static_cast<qsizetype>(count)) delete spins_.takeLast();
    while (spins_.size() < static_cast<qsizetype>(count)) {
      auto* s = new QSpinBox(this);
      const bool bounded = info_.min != 0 || info_.max != 0;
      s->setRange(bounded ? as_int(info_.min) : std::numeric_limits<int>::min(),
                  bounded ? as_int(info_.max) : std::numeric_limits<int>::max());
      describe_field(s, info_);
      const QSignalBlocker quiet(s);
      s->setValue(spins_.isEmpty() ? 32 : spins_.last()->value());
      s->setMinimumWidth(64);
      s->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
      layout()->addWidget(s);
      connect(s, &QSpinBox::valueChanged, this, [this] { edited(); });
      spins_ << s;
    }
    if (!spins_.isEmpty()) setFocusProxy(spins_.first());
  }
};

class NameField : public StepField {
 public:
  NameField(const poly::ParamInfo& info, QWidget* parent) : StepField(info, parent) {
    auto* row = field_row(this);
    box_ = new QComboBox(this);
    box_->setEditable(true);
    box_->setInsertPolicy(QComboBox::NoInsert);
    describe_field(box_, info);
    row->addWidget(box_, 1);
    setFocusProxy(box_);
    connect(box_, &QComboBox::currentTextChanged, this, [this] { edited(); });
  }
  json value() const override {
    const QString text = box_->currentText().trimmed();
    return text.isEmpty() && info_.optional ? json() : name_value(text);
  }
  void set_value(const json& v) override { box_->setCurrentText(name_text(v)); }
  void refresh(const TreePicture& tree, const poly::TransformInfo& t, const json& p) override {
    const std::vector<std::string> names = name_choices(tree, t, info_, p);
    const QSignalBlocker quiet(box_);
    const QString before = box_->currentText();
    box_->clear();
    for (const std::string& n : names) box_->addItem(QString::fromStdString(n));
    if (before.isEmpty() || (box_->findText(before) < 0 && !names.empty()))
      box_->setCurrentIndex(info_.optional ? -1 : 0);
    else
      box_->setCurrentText(before);
  }

 private:
  QComboBox* box_;
};

// Names with commas between; the button's menu adds and removes them.
class NameListField : public StepField {
 public:
  NameListField(const poly::ParamInfo& info, QWidget* parent) : StepField(info, parent) {
    auto* row = field_row(this);
    line_ = new QLineEdit(this);
    describe_field(line_, info);
    if (info.optional) line_->setPlaceholderText(tr("default"));
    more_ = new QToolButton(this);
    more_->setText(QStringLiteral("±"));
    more_->setPopupMode(QToolButton::InstantPopup);
    more_->setToolTip(tr("Add or remove names"));
    more_->setAccessibleName(tr("names of %1").arg(QString::fromStdString(info.name)));
    more_->setMenu(new QMenu(more_));
    row->addWidget(line_, 1);
    row->addWidget(more_);
    setFocusProxy(line_);
    connect(line_, &QLineEdit::textChanged, this, [this] { edited(); });
  }
  json value() const override {
    json out = json::array();
    for (const QString& n : names()) out.push_back(name_value(n));
    if (out.empty() && info_.optional) return json();
    return out.size() == 1 && out[0] == "*" ? out[0] : out;
  }
  void set_value(const json& v) override {
    QStringList out;
    if (v.is_array())
      for (const json& x : v) out << name_text(x);
    else if (!v.is_null())
      out << name_text(v);
    line_->setText(out.join(QStringLiteral(", ")));
  }
  void refresh(const TreePicture& tree, const poly::TransformInfo& t, const json& p) override {
    choices_ = name_choices(tree, t, info_, p);
    QStringList kept;
    for (const QString& n : names())
      if (choices_.empty() ||
          std::find(choices_.begin(), choices_.end(), n.toStdString()) != choices_.end())
        kept << n;
    const bool order = info_.role == poly::ParamRole::MemberOrder;
    if (order && kept.size() != static_cast<qsizetype>(choices_.size())) {
      kept.clear();
      for (const std::string& n : choices_) kept << QString::fromStdString(n);
    }
    if (kept.isEmpty() && !names().isEmpty() && !info_.optional)  // another band: begin again
      kept << QString::fromStdString(choices_.front());
    const QSignalBlocker quiet(line_);
    if (kept != names()) line_->setText(kept.join(QStringLiteral(", ")));
    more_->menu()->clear();
    more_->setEnabled(!choices_.empty());
    for (const std::string& n : choices_) {
      const QString name = QString::fromStdString(n);
      connect(more_->menu()->addAction(order ? tr("%1 first").arg(name) : name),
              &QAction::triggered, this, [this, name, order] { toggle(name, order); });
    }
  }

 private:
  QLineEdit* line_;
  QToolButton* more_;
  std::vector<std::string> choices_;

  QStringList names() const {
    QStringList out;
    for (const QString& n : line_->text().split(u',', Qt::SkipEmptyParts))
      if (!n.trimmed().isEmpty()) out << n.trimmed();
    return out;
  }
  void toggle(const QString& name, bool to_front) {
    QStringList now = names();
    const bool had = now.removeAll(name) > 0;
    now.removeAll(QStringLiteral("*"));
    if (to_front)
      now.prepend(name);
    else if (!had)
      now << name;
    line_->setText(now.join(QStringLiteral(", ")));
  }
};

class ChoiceField : public StepField {
 public:
  ChoiceField(const poly::ParamInfo& info, QWidget* parent) : StepField(info, parent) {
    auto* row = field_row(this);
    box_ = new QComboBox(this);
    if (info.optional) box_->addItem(tr("default"));
    for (const std::string& c : info.choices) box_->addItem(QString::fromStdString(c));
    describe_field(box_, info);
    row->addWidget(box_, 1);
    setFocusProxy(box_);
    connect(box_, &QComboBox::currentIndexChanged, this, [this] { edited(); });
  }
  json value() const override {
    return info_.optional && box_->currentIndex() == 0 ? json()
                                                       : json(box_->currentText().toStdString());
  }
  void set_value(const json& v) override {
    const int at = box_->findText(name_text(v));
    if (at >= 0) box_->setCurrentIndex(at);
  }

 private:
  QComboBox* box_;
};

class TextField : public StepField {
 public:
  TextField(const poly::ParamInfo& info, QWidget* parent) : StepField(info, parent) {
    auto* row = field_row(this);
    line_ = new QLineEdit(this);
    describe_field(line_, info);
    row->addWidget(line_, 1);
    setFocusProxy(line_);
    connect(line_, &QLineEdit::textChanged, this, [this] { edited(); });
  }
  json value() const override {
    return line_->text().isEmpty() && info_.optional ? json() : json(line_->text().toStdString());
  }
  void set_value(const json& v) override { line_->setText(name_text(v)); }

 private:
  QLineEdit* line_;
};

}  // namespace

StepField* make_field(const poly::ParamInfo& info, QWidget* parent) {
  switch (info.kind) {
    case ParamKind::Node:
      return new NodeField(info, parent);
    case ParamKind::Integer:
      return new IntegerField(info, parent);
    case ParamKind::IntegerList:
      return new IntegerListField(info, parent);
    case ParamKind::Name:
      return new NameField(info, parent);
    case ParamKind::NameList:
      return new NameListField(info, parent);
    case ParamKind::Choice:
      return new ChoiceField(info, parent);
    case ParamKind::Text:
      break;
  }
  return new TextField(info, parent);
}

}  // namespace nautilus::gui
