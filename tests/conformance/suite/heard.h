// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "conformance/event_log.h"
#include "conformance/suite/face.h"

namespace zklock::testing {

// What the listener of a lock object hears, on each of its paths. Expectations are those of a
// ReentrantMutex; Face::hears says how much of them comes.
class Heard {
 public:
  using Texts = std::vector<std::string>;

  explicit Heard(const Face& face) : hears_(face.hears) {
    for (const std::string& path : face.paths) logs_.try_emplace(path);
  }
  LockListener listener() {
    return [this](const LockEvent& event) { logs_.at(event.path).listener()(event); };
  }
  // Whether this, and nothing else, has come, or does. On its further paths it does not wait for
  // others; there it is `elsewhere` that comes.
  bool exactly(const Texts& expected) const { return exactly(expected, expected); }
  bool exactly(const Texts& expected, const Texts& elsewhere) const {
    for (const auto& [path, log] : logs_) {
      const bool first = path == kPath;
      if (!log.reaches(told(first ? expected : elsewhere, first))) return false;
    }
    return true;
  }
  // The same, whatever the connection went through in between: a session that expires may be told
  // of after its connection was lost, or was back.
  bool exactly_but_for_the_connection(const Texts& expected, const Texts& elsewhere) const {
    for (const auto& each : logs_) {
      const bool first = each.first == kPath;
      const Texts wanted = told(first ? expected : elsewhere, first);
      const auto so_far = [&each] { return without_connection(each.second.texts()); };
      if (!eventually([&] { return so_far().size() >= wanted.size(); }, kPatience)) return false;
      if (so_far() != wanted) return false;
    }
    return true;
  }
  std::vector<LockEvent> events() const { return logs_.at(kPath).all(); }
  // For the message of a failure.
  friend std::ostream& operator<<(std::ostream& out, const Heard& heard) {
    for (const auto& [path, log] : heard.logs_) {
      out << path << ':';
      for (const std::string& text : log.texts()) out << ' ' << text << ',';
    }
    return out;
  }

 private:
  static bool is_place(const std::string& text) { return text.starts_with("waiting"); }
  static Texts without_connection(Texts texts) {
    std::erase_if(texts, [](const auto& t) { return t == "suspended" || t == "resumed"; });
    return texts;
  }
  Texts told(Texts texts, bool first_path) const {
    if (hears_ == Hears::nothing) return {};
    if (hears_ != Hears::all || !first_path) std::erase_if(texts, is_place);
    if (hears_ != Hears::begin_and_end) return texts;
    Texts few;
    for (const std::string& text : texts) {
      if (text == "acquired") few.push_back(text);
      if (text == "released" || text == "lost") few.emplace_back("lost");
    }
    return few;
  }

  Hears hears_;
  std::map<std::string, EventLog> logs_;
};

}  // namespace zklock::testing
