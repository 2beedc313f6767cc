// Why the selected candidate is illegal, unknown, pruned or repaired.
#pragma once

#include "gui/models/sched_jobs.h"
#include "gui/views/iteration_scene.h"
#include "gui/views/view.h"

class QSplitter;
class QTextBrowser;
class QUrl;

namespace nautilus::gui {

// The violated dependence: the instances of two statements, and an arrow between two of them.
class WhyPicture : public QWidget {
  Q_OBJECT
 public:
  WhyPicture(Theme& theme, QWidget* parent);
  void set(const Why& w);
  bool empty() const { return scene_.empty(); }
  const IterationScene& scene() const { return scene_; }
  int arrow() const { return state_.only_arrow; }
  QString caption() const { return caption_; }
  void paint_on(QPainter& p, const QRectF& page) const;
  QSize sizeHint() const override { return {320, 260}; }

 protected:
  void paintEvent(QPaintEvent*) override;

 private:
  Theme& theme_;
  IterationScene scene_;
  SceneState state_;
  QString caption_;
};

class WhyView : public View {
  Q_OBJECT
 public:
  WhyView(Shared shared, QWidget* parent);
  void paint_picture(QPainter& p, const QRectF& page) override;
  QSizeF picture_size() const override;
  QList<QJsonObject> export_rows() const override;
  bool busy() const override { return waiting_; }

  QTextBrowser* text() const { return text_; }
  WhyPicture* picture() const { return picture_; }
  const Why& why() const { return why_; }

 protected:
  void resizeEvent(QResizeEvent*) override;
  void showEvent(QShowEvent*) override { ask(); }

 private:
  void ask();
  void show_why();
  void say(const QString& message);
  void follow(const QUrl& link);
  WhyContext context_of(const sched::SearchNode& n) const;

  QSplitter* splitter_;
  QTextBrowser* text_;
  WhyPicture* picture_;
  Why why_;
  int shown_ = -2;
  bool waiting_ = false;
};

}  // namespace nautilus::gui
