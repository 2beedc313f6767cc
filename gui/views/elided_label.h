// A line of text that ends in an ellipsis where it has no room; then its tool tip has all of it. Or
// several lines, while `setWordWrap` is on.
#pragma once

#include <QLabel>
#include <QPainter>
#include <QStyle>

namespace nautilus::gui {

class ElidedLabel : public QLabel {
 public:
  explicit ElidedLabel(const QString& text = {}, QWidget* parent = nullptr) : QLabel(text, parent) {
    setTextFormat(Qt::PlainText);
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  }
  QString shown() const {
    return fontMetrics().elidedText(text(), Qt::ElideRight, contentsRect().width());
  }
  QSize minimumSizeHint() const override {
    const int line = fontMetrics().height() + contentsMargins().top() + contentsMargins().bottom();
    const int height = wordWrap() ? QLabel::minimumSizeHint().height() : line;
    return {fontMetrics().averageCharWidth() * 4, height};
  }

 protected:
  void paintEvent(QPaintEvent* e) override {
    if (wordWrap()) return QLabel::paintEvent(e);
    QPainter p(this);
    style()->drawItemText(&p, contentsRect(), int(Qt::AlignLeft | Qt::AlignVCenter), palette(),
                          isEnabled(), shown(), foregroundRole());
  }
  bool event(QEvent* e) override {
    if (e->type() == QEvent::ToolTip)
      setToolTip(wordWrap() || shown() == text() ? QString() : text());
    return QLabel::event(e);
  }
};

}  // namespace nautilus::gui
