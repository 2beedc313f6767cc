#include "gui/models/snapshot.h"

#include <QElapsedTimer>
#include <utility>

#include "gui/models/background.h"

namespace nautilus::gui {

constexpr qint64 kSnapshotSlice = 4;  // ms
constexpr size_t kSnapshotNodes = 64;

Snapshot::Snapshot(Document& document, Done done, QObject* parent)
    : QObject(parent), document_(document), done_(std::move(done)) {
  nodes_.reserve(document.nodes().size() + document.nodes().size() / 4);
  connect(&document_, &Document::changed, this, [this](const QList<int>& ids) {
    for (int id : ids)
      if (id < static_cast<int>(nodes_.size())) stale_.insert(id);
  });
  // All that was copied may have other costs now.
  connect(&document_, &Document::options_changed, this, [this] {
    stale_.clear();
    forget(std::exchange(nodes_, {}));
    nodes_.reserve(document_.nodes().size() + document_.nodes().size() / 4);
  });
  connect(&document_, &Document::reset, this, [this] { end(nullptr); });
  connect(&turn_, &QTimer::timeout, this, &Snapshot::slice);
  turn_.start(0);
}

void Snapshot::slice() {
  QElapsedTimer timer;
  timer.start();
  const auto& all = document_.nodes();
  do {
    if (nodes_.size() < all.size()) {
      const auto from = all.begin() + static_cast<long>(nodes_.size());
      const auto count = std::min(kSnapshotNodes, all.size() - nodes_.size());
      nodes_.insert(nodes_.end(), from, from + static_cast<long>(count));
    } else if (!stale_.empty()) {
      const int id = *stale_.begin();
      nodes_[static_cast<size_t>(id)] = all[static_cast<size_t>(id)];
      stale_.erase(stale_.begin());
    } else {
      auto s = std::make_shared<sched::Session>(document_.session_without_nodes());
      s->result.nodes = std::move(nodes_);
      return end(std::move(s));
    }
  } while (timer.elapsed() < kSnapshotSlice);
}

void Snapshot::end(std::shared_ptr<sched::Session> s) {
  turn_.stop();
  disconnect(&document_, nullptr, this, nullptr);
  deleteLater();
  done_(std::move(s));
}

}  // namespace nautilus::gui
