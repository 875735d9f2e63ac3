// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "conformance/event_log.h"
#include "conformance/suite/ensembles.h"
#include "conformance/suite/lock_adapter.h"
#include "conformance/suite/suite_lock.h"

namespace zklock::testing {

// Records the events of a lock listener, for each path and each ensemble. Tests expect the events
// of a ReentrantMutex; LockAdapter::delivered says which of them a class delivers.
//
// `waiting` events are expected only on kPath of the first ensemble. On further paths the lock does
// not wait. On further ensembles it may wait or not, so their `waiting` events are ignored. A
// quorum grant need not hold on every ensemble: granted() records on which it does.
class EventRecorder {
 public:
  using Texts = std::vector<std::string>;

  explicit EventRecorder(const LockAdapter& adapter)
      : delivered_(adapter.delivered), ensembles_(adapter.on_ensembles ? kEnsembles : 1) {
    for (const std::string& path : adapter.paths) {
      for (std::size_t i = 0; i < ensembles_; ++i) logs_.try_emplace(PathOnEnsemble(path, i));
    }
  }
  LockListener listener() {
    return [this](const LockEvent& event) {
      logs_.at({event.path, ensembles_ > 1 ? event.part_index : 0}).listener()(event);
    };
  }
  // Records on which ensembles a grant that waited holds. A grant that is not recorded holds on
  // all.
  Grant granted(Grant hold) {
    std::vector<bool> there;
    for (std::size_t i = 0; i < ensembles_; ++i) there.push_back(hold.holds_on(i));
    grants_.push_back(std::move(there));
    return hold;
  }
  // Waits for the expected events, and returns whether no others arrived. `elsewhere` are the
  // events on the further paths.
  bool exactly(const Texts& expected) const { return exactly(expected, expected); }
  bool exactly(const Texts& expected, const Texts& elsewhere) const {
    return comes(expected, elsewhere, [](const Texts& texts) { return texts; });
  }
  // Like exactly(), but several pairs of `suspended` and `resumed` in a row count as one. On a real
  // server, a restored connection may break again.
  bool exactly_joining_breaks(const Texts& expected) const {
    return comes(expected, expected, joining_breaks);
  }
  // Like exactly(), but ignores `suspended` and `resumed`. The connection may break and be restored
  // before a session expires.
  bool exactly_ignoring_connection(const Texts& expected, const Texts& elsewhere) const {
    return comes(expected, elsewhere, [](Texts texts) {
      std::erase_if(texts, is_of_connection);
      return texts;
    });
  }
  std::vector<LockEvent> events() const { return logs_.at({kPath, 0}).all(); }
  // Used in the messages of failed expectations.
  friend std::ostream& operator<<(std::ostream& out, const EventRecorder& recorder) {
    for (const auto& [path, log] : recorder.logs_) {
      out << path.first << '(' << path.second << "):";
      for (const std::string& text : log.texts()) out << ' ' << text << ',';
    }
    return out;
  }

 private:
  using PathOnEnsemble = std::pair<std::string, std::size_t>;  // a path on an ensemble

  static bool is_queue_position(const std::string& text) { return text.starts_with("waiting"); }
  static bool is_of_connection(const std::string& text) {
    return text == "suspended" || text == "resumed";
  }

  template <class Selection>
  bool comes(const Texts& expected, const Texts& elsewhere, Selection select) const {
    for (const auto& each : logs_) {
      const PathOnEnsemble& path = each.first;
      const Texts all_expected = expected_at(path.first == kPath ? expected : elsewhere, path);
      const auto so_far = [&] {
        Texts texts = select(each.second.texts());
        if (path.second > 0) std::erase_if(texts, is_queue_position);
        return texts;
      };
      if (!eventually([&] { return so_far().size() >= all_expected.size(); }, kTestTimeout))
        return false;
      if (so_far() != all_expected) return false;
    }
    return true;
  }
  static Texts joining_breaks(const Texts& texts) {
    Texts joined;
    for (const std::string& text : texts) {
      if (text == "suspended" && !joined.empty() && joined.back() == "resumed") {
        joined.pop_back();  // the break before goes on
      } else {
        joined.push_back(text);
      }
    }
    return joined;
  }
  Texts expected_at(Texts texts, const PathOnEnsemble& path) const {
    if (delivered_ != DeliveredEvents::all || path != PathOnEnsemble(kPath, 0))
      std::erase_if(texts, is_queue_position);
    texts = of_grants_on(path.second, texts);
    if (delivered_ != DeliveredEvents::begin_and_end) return texts;
    Texts ends;
    for (const std::string& text : texts) {
      if (text == "acquired") ends.push_back(text);
      if (text == "released" || text == "lost") ends.emplace_back("lost");
    }
    return ends;
  }
  Texts of_grants_on(std::size_t ensemble, const Texts& texts) const {
    Texts of_these;
    std::size_t grants = 0;
    for (const std::string& text : texts) {
      if (text == "acquired") ++grants;
      const bool recorded = grants > 0 && grants <= grants_.size();
      if (!recorded || grants_[grants - 1].at(ensemble)) of_these.push_back(text);
    }
    return of_these;
  }

  const DeliveredEvents delivered_;
  const std::size_t ensembles_;
  std::map<PathOnEnsemble, EventLog> logs_;
  std::vector<std::vector<bool>> grants_;
};

}  // namespace zklock::testing
