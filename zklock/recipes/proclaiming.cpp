// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/proclaiming.h"

#include <utility>

#include "zklock/core/node_name.h"
#include "zklock/core/proclamation.h"
#include "zklock/recipes/fork_guard.h"

namespace zklock::recipes {

namespace write = client::request::write;

namespace {

std::string node_beside(const Contender& leader) {
  const std::string own = leader.tenure().node();
  const auto name = core::NodeName::parse(std::string_view(own).substr(own.rfind('/') + 1));
  return leader.engine().path().child(core::proclamation_node(name->sequence));
}

}  // namespace

// ---- Rostrum -----------------------------------------------------------------------------------

Rostrum::Rostrum(std::shared_ptr<Contender> leader)
    : leader_(std::move(leader)), node_(node_beside(*leader_)) {}

Rostrum::~Rostrum() {
  if (core().forked()) keep_for_ever(std::move(leader_));
}

bool Rostrum::bind_to_leader() const {
  return leader_->take_along(node_);
}

GuardedWrites Rostrum::to_be_there() const {
  return guarded(write::Create{.path = node_, .data = {}, .ephemeral = true});
}

GuardedWrites Rostrum::to_say(std::string value) const {
  const core::Proclamation said{leader_->tenure().token(), std::move(value)};
  return guarded(write::Set{.path = node_, .data = said.encode()});
}

GuardedWrites Rostrum::guarded(client::request::Write write) const {
  return {.guards = {leader_}, .writes = {std::move(write)}, .operation = "proclaim"};
}

// ---- Proclaiming -------------------------------------------------------------------------------

Proclaiming::Proclaiming(std::shared_ptr<Rostrum> rostrum, std::string value, Deadline deadline,
                         Done done)
    : rostrum_(std::move(rostrum)),
      value_(std::move(value)),
      deadline_(deadline),
      done_(std::move(done)) {}

std::shared_ptr<Proclaiming> Proclaiming::start(std::shared_ptr<Rostrum> rostrum, std::string value,
                                                Deadline deadline, Done done) {
  std::shared_ptr<Proclaiming> proclaiming(
      new Proclaiming(std::move(rostrum), std::move(value), deadline, std::move(done)));
  proclaiming->send();
  return proclaiming;
}

void Proclaiming::send() {
  const GuardedWrites saying = rostrum_->to_say(value_);
  if (!GuardedCommit::refusal(saying) && rostrum_->bind_to_leader()) {
    begin(creating_, GuardedCommit::make(rostrum_->to_be_there(), deadline_,
                                         [self = shared_from_this()](std::optional<Error> error) {
                                           const std::lock_guard guard(self->mutex_);
                                           self->not_created_ = std::move(error);
                                         }));
  }
  begin(saying_, GuardedCommit::make(saying, deadline_,
                                     [self = shared_from_this()](std::optional<Error> error) {
                                       self->said(std::move(error));
                                     }));
}

/// Registers the commit before it can be sent. So give_up() reaches it, and nothing is sent after
/// that.
void Proclaiming::begin(std::shared_ptr<GuardedCommit>& registered,
                        const std::shared_ptr<GuardedCommit>& commit) {
  bool given_up = false;
  {
    const std::lock_guard guard(mutex_);
    registered = commit;
    given_up = given_up_;
  }
  if (given_up) commit->give_up();
  commit->begin();
}

void Proclaiming::said(std::optional<Error> error) {
  Done done;
  {
    const std::lock_guard guard(mutex_);
    const bool no_rostrum =
        error && error->errc() == Errc::no_node && error->path() == rostrum_->node();
    if (no_rostrum) {
      if (auto failure = creation_failure()) error = std::move(failure);
    }
    const bool again =
        no_rostrum && error->errc() == Errc::no_node && !given_up_ && --attempts_left_ > 0;
    if (!again) done = std::exchange(done_, nullptr);
  }
  if (done) return done(std::move(error));
  try {
    send();
  } catch (const Error& e) {
    {
      const std::lock_guard guard(mutex_);
      done = std::exchange(done_, nullptr);
    }
    if (done) done(e);
  }
}

std::optional<Error> Proclaiming::creation_failure() const {
  if (!not_created_) return std::nullopt;
  const Errc code = not_created_->errc();
  const bool may_pass =
      code == Errc::node_exists || code == Errc::outcome_unknown || code == Errc::not_connected;
  return may_pass ? std::nullopt : not_created_;
}

void Proclaiming::give_up() {
  std::shared_ptr<GuardedCommit> creating;
  std::shared_ptr<GuardedCommit> saying;
  {
    const std::lock_guard guard(mutex_);
    given_up_ = true;
    creating = creating_;
    saying = saying_;
  }
  if (creating) creating->give_up();
  if (saying) saying->give_up();
}

}  // namespace zklock::recipes
