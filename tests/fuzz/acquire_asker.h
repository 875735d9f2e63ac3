// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"
#include "zklock/core/acquire_fsm.h"

namespace zklock::fuzz {

/// The driver of one acquire machine, whose every answer is what the input says: any status, name,
/// number, token, session, data and list, in any order in which answers may come. It holds against
/// the machine what is promised however the servers lie:
///
/// | promise                                                                                 |
/// |-----------------------------------------------------------------------------------------|
/// | a grant is of a node that an answer has said is its own, with that token and session     |
/// | the answer before it says that nobody is in the way, and that no delay runs              |
/// | and it comes with a valid lease; never after the caller has given up                     |
/// | one end: after it nothing is asked for, and one error at most is told                    |
/// | a node that it was told of is asked to be removed, once, or was said to be gone          |
/// | no attempt is used twice; no request is repeated before its answer                       |
/// | no watch is left but where it waits                                                      |
/// | given up, and refused by all servers, it comes to its end within a few answers           |
class Asker {
 public:
  explicit Asker(Choices& choices);
  void run();

 private:
  using Kind = core::AcquireEffect::Kind;
  struct Node {
    std::string name;
    core::SessionId session;
    FencingToken token;
    bool gone = false;  ///< somebody has said so, or it was asked to be removed
    bool removed = false;
  };
  struct Armed {
    std::string node;
    bool is_release = false;  ///< when it changes
  };

  static core::AcquireFsm::Policy choose_policy(Choices& choices);

  void step();
  void event();
  void answer();
  void answer(const core::AcquireEffect& request);
  void answer_created();
  void answer_moved();
  void answer_counted();
  void answer_listed();
  void answer_inspected(const core::AcquireEffect& request);
  void answer_watched(const core::AcquireEffect& request);
  void give_up();
  void come_to_an_end();

  void take(const core::AcquireEffects& effects);
  void take(const core::AcquireEffect& effect);
  void ask(const core::AcquireEffect& effect);
  void removal(const core::AcquireEffect& effect);
  void check_grant(const core::AcquireEffect& effect);
  void check_state();

  core::Status choose_status();
  core::SessionId choose_session();
  FencingToken choose_token();
  std::string choose_name();
  std::string choose_data();
  bool choose_lease() { return lease_ = choices_.one_in(2); }
  void said_gone(core::Status status);
  bool says_first(const std::vector<std::string>& children, FencingToken parent,
                  const core::PermitsAnswer& permits) const;

  Choices& choices_;
  const core::AcquireFsm::Policy policy_;
  core::AcquireFsm fsm_;
  std::vector<core::AcquireEffect> outstanding_;
  std::vector<Armed> armed_;
  std::size_t watches_ = 0;  ///< that were asked for together
  std::set<std::string> attempts_;
  std::string attempt_;
  std::optional<Node> own_;
  core::SessionId asked_;  ///< by its last create
  bool first_ = false;     ///< by the last answer that could say so
  bool lease_ = false;     ///< by the last answer
  bool gave_up_ = false;
  bool abandoned_ = false;
  bool failed_ = false;
  bool refused_ = false;      ///< whatever it asks for
  bool out_of_turn_ = false;  ///< what is being answered
  bool granted_ = false;
};

}  // namespace zklock::fuzz
