// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tests/model/simulator/fault.h"
#include "tests/model/simulator/users.h"

namespace zklock::simulator {

/// Applies the fault of a step, and ends it after its length.
///
/// Thread-safety: none.
class Injector {
 public:
  Injector(Universe& universe, HistoryWriter& history_writer, Users& users, const Setup& setup);

  void inject(const PlanStep& step);
  /// Ends all faults. No fault has an effect after that.
  void heal();
  /// Returns the numbers of faults that were injected and had an effect.
  FaultCounts counts() const;

 private:
  struct Stranger {
    std::string path;
    std::int64_t czxid;
  };
  void to_process(const PlanStep& step);
  void to_network(const PlanStep& step);
  void to_servers(const PlanStep& step);
  void to_requests(const PlanStep& step);
  void to_tree(const PlanStep& step);

  void pause(SimProcess& process, Duration length);
  void resume(SimProcess& process);
  void cut_off(SimProcess& process, Line& line, Duration length);
  void isolate(const PlanStep& step, SimProcess& process, Line& line);
  void pause_leader(SimEnsemble& ensemble, Duration length);
  void no_server(Line& line, Duration length);
  void no_new_session(Line& line, Duration length);
  void all_down(Line& line, Duration length);
  void expire(Line& line);
  enum class Manner { at_once, silently, kindly, kindly_disconnected };
  void kill(int slot, Manner manner);
  void write_node(const PlanStep& step, const std::string& path);
  void delete_node(const PlanStep& step, const std::string& path);
  void delete_parent(const std::string& path);
  void stranger(const std::string& path, const std::string& prefix, std::string data,
                Duration length);
  void name_ahead(const PlanStep& step, const std::string& path);
  void has_made(const std::string& node, Duration length);
  void remove_stranger(const Stranger& stranger);
  void set_counter(const PlanStep& step, const std::string& path, std::int32_t next);
  /// Runs the task after the delay, unless heal() is called before.
  void later(Duration delay, std::function<void()> task);
  std::vector<std::string> contenders(const std::string& path) const;

  Universe& universe_;
  HistoryWriter& history_writer_;
  Users& users_;
  const Setup& setup_;
  FaultCounts counts_{};
  bool healed_ = false;
  std::vector<Stranger> strangers_;  ///< znodes of other programs
};

}  // namespace zklock::simulator
