// The form in which a transform is asked for: its parameters, the verdict on it as they change, and
// what the tree would become.
#pragma once

#include <QTimer>
#include <QWidget>
#include <optional>

#include "gui/models/theme.h"
#include "gui/views/step_fields.h"

class QFormLayout;
class QLabel;
class QPushButton;
class QTextBrowser;
class QToolButton;

namespace nautilus::gui {

class StepEditor : public QWidget {
  Q_OBJECT
 public:
  StepEditor(Theme& theme, QWidget* parent);

  // Begins with a transform on a tree. The fields are made from its ParamInfo.
  void begin(const poly::TransformInfo& t, const TreePicture& tree, poly::NodeId selected,
             const std::string& statement);
  void begin(const poly::TransformStep& step, const TreePicture& tree);  // with these parameters
  void end();
  bool active() const { return transform_ != nullptr; }
  const poly::TransformInfo* transform() const { return transform_; }
  poly::TransformStep step() const;
  // Of the step as it is now; nothing while it is being found out.
  const std::optional<Attempt>& attempt() const { return attempt_; }
  void set_attempt(const Attempt& a);  // dropped unless it is for the present step
  void set_failed(const QString& why);

  bool picking() const { return picking_ != nullptr; }
  void pick(poly::NodeId id);  // for the field that picks
  StepField* field(const QString& name) const;
  QPushButton* apply_button() const { return apply_; }
  QLabel* verdict_label() const { return verdict_; }

 Q_SIGNALS:
  void asked(const poly::TransformStep& step);  // for a verdict, once the edits have settled
  void apply_clicked(const poly::TransformStep& step);
  void closed();
  void preview(bool on);  // the tree after the step is wanted
  void picking_changed(bool on);

 private:
  void make_fields();
  void set_values(const nlohmann::json& params);
  nlohmann::json params() const;
  void on_edited(StepField* from);
  void on_picking(StepField* from, bool on);
  void show_verdict();
  void show_help(bool on);
  void follow_suggestion(const QString& link);

  Theme& theme_;
  const poly::TransformInfo* transform_ = nullptr;
  TreePicture tree_;
  std::optional<Attempt> attempt_;
  QString failed_;
  QTimer settle_;
  QList<StepField*> fields_;
  StepField* picking_ = nullptr;
  QLabel *title_, *summary_, *verdict_;
  QWidget* form_;
  QTextBrowser* details_;
  QToolButton *help_, *preview_;
  QPushButton *apply_, *cancel_;
};

// The verdict in rich text: glyph, colour and words.
QString verdict_html(const VerdictStory& v, const Theme& theme);
QString verdict_glyph(poly::VerdictKind k);
QColor verdict_colour(poly::VerdictKind k, const Theme& theme);

}  // namespace nautilus::gui
