// Editors for the parameters of a transform, one a ParamKind.
#pragma once

#include <QWidget>
#include <nlohmann/json.hpp>

#include "gui/models/step_draft.h"

class QToolButton;

namespace nautilus::gui {

// The editor of one parameter. An empty value (null) leaves an optional parameter out.
class StepField : public QWidget {
  Q_OBJECT
 public:
  StepField(const poly::ParamInfo& info, QWidget* parent) : QWidget(parent), info_(info) {}
  const poly::ParamInfo& info() const { return info_; }
  virtual nlohmann::json value() const = 0;
  virtual void set_value(const nlohmann::json& v) = 0;
  // The others changed (another node): what can be chosen may be different now. Keeps the value
  // where it can.
  virtual void refresh(const TreePicture&, const poly::TransformInfo&, const nlohmann::json&) {}
  // A node of the tree was clicked while this field picks; whether it could take it.
  virtual bool picked(poly::NodeId) { return false; }
  virtual QToolButton* picker() { return nullptr; }

 Q_SIGNALS:
  void edited();
  void picking(bool on);  // of a Node field: the next click in the tree is for it

 protected:
  poly::ParamInfo info_;
};

StepField* make_field(const poly::ParamInfo& info, QWidget* parent);

}  // namespace nautilus::gui
