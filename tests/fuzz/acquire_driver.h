// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"
#include "zklock/core/acquire_fsm.h"

namespace zklock::fuzz {

/// The maximum number of contenders in a list.
inline constexpr std::size_t kMostChildren = 6;

/// Drives one acquire machine with answers that the input decides: any status, name, sequence
/// number, token, session, data and list, in any possible order. The promises hold for arbitrary
/// answers:
///
/// | promise                                                                                 |
/// |-----------------------------------------------------------------------------------------|
/// | a grant is of a znode that an answer named as its own, with that token and session      |
/// | the answer before the grant showed no contender in the way and no running delay         |
/// | a grant needs a valid lease; no grant follows after the caller has given up             |
/// | the machine ends once: no request follows, and at most one error was reported           |
/// | each znode that an answer named is deleted once, or an answer has shown its deletion    |
/// | no attempt id is used twice; no request is repeated before its answer                   |
/// | watches are armed only while the machine waits                                          |
/// | after withdraw(), with every request refused, the machine ends within a few answers      |
class AcquireDriver {
 public:
  explicit AcquireDriver(Choices& choices);
  void run();

 private:
  using Kind = core::AcquireEffect::Kind;
  struct Node {
    std::string name;
    core::SessionId session;
    FencingToken token;
    /// An answer has shown its deletion, or its deletion was requested.
    bool is_deleted = false;
    bool removed = false;
  };
  struct Armed {
    std::string node;
    bool is_release = false;  ///< whether a change of its data grants
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
  void withdraw();
  void come_to_an_end();

  void take(const core::AcquireEffects& effects);
  void take(const core::AcquireEffect& effect);
  void request(const core::AcquireEffect& effect);
  void removal(const core::AcquireEffect& effect);
  void check_grant(const core::AcquireEffect& effect);
  void check_state();

  core::Status choose_status();
  core::SessionId choose_session();
  FencingToken choose_token();
  std::string choose_name();
  std::string choose_data();
  bool choose_lease() { return lease_ = choices_.one_in(2); }
  void note_deletion(core::Status status);
  bool says_first(const std::vector<std::string>& children, FencingToken parent,
                  const core::PermitsAnswer& permits) const;

  Choices& choices_;
  const core::AcquireFsm::Policy policy_;
  core::AcquireFsm fsm_;
  std::vector<core::AcquireEffect> outstanding_;
  std::vector<Armed> armed_;
  std::size_t watches_ = 0;  ///< requested together
  std::set<std::string> attempts_;
  std::string attempt_;
  std::optional<Node> own_;
  core::SessionId create_session_;  ///< the session of its last create
  bool first_ = false;              ///< no contender ahead in the last queue answer
  bool lease_ = false;              ///< the last answer gave a lease
  bool gave_up_ = false;
  bool abandoned_ = false;
  bool failed_ = false;
  bool refused_ = false;      ///< every request
  bool out_of_turn_ = false;  ///< of the request being answered
  bool granted_ = false;
};

}  // namespace zklock::fuzz
