// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/election/proclamation_writer.h"

#include <cassert>
#include <utility>

#include "zklock/core/proclamation.h"
#include "zklock/core/znode_name.h"
#include "zklock/engine/session/fork_guard.h"

namespace zklock::detail {

namespace write = client::request::write;

namespace {

std::string node_beside(std::string_view own, const core::LockPath& path) {
  const auto name = core::ZnodeName::parse(own.substr(own.rfind('/') + 1));
  return path.child(core::proclamation_node(name->sequence));
}

}  // namespace

// ---- ProclamationWriter -------------------------------------------------------------------------

ProclamationWriter::ProclamationWriter(std::shared_ptr<Contender> leader, std::string_view own)
    : leader_(std::move(leader)), node_(node_beside(own, leader_->path_context().path())) {}

ProclamationWriter::~ProclamationWriter() {
  if (core().forked()) keep_for_ever(std::move(leader_));
}

bool ProclamationWriter::bind_to_leader() const {
  return leader_->delete_with_node(node_);
}

GuardedWrites ProclamationWriter::creation() const {
  return guarded(write::Create{.path = node_, .data = {}, .ephemeral = true});
}

GuardedWrites ProclamationWriter::value_write(std::string value) const {
  const core::Proclamation proclamation{leader_->grant().token(), std::move(value)};
  return guarded(write::Set{.path = node_, .data = proclamation.encode()});
}

GuardedWrites ProclamationWriter::guarded(client::request::Write write) const {
  return {.guards = {leader_}, .writes = {std::move(write)}, .operation = "proclaim"};
}

// ---- PendingProclamation ------------------------------------------------------------------------

PendingProclamation::PendingProclamation(std::shared_ptr<ProclamationWriter> proclamation_writer,
                                         std::string value, Deadline deadline, Done done)
    : proclamation_writer_(std::move(proclamation_writer)),
      number_(proclamation_writer_->begin_call()),
      value_(std::move(value)),
      deadline_(deadline),
      done_(std::move(done)) {}

std::shared_ptr<PendingProclamation> PendingProclamation::start(
    std::shared_ptr<ProclamationWriter> proclamation_writer, std::string value, Deadline deadline,
    Done done) {
  std::shared_ptr<PendingProclamation> proclaiming(new PendingProclamation(
      std::move(proclamation_writer), std::move(value), deadline, std::move(done)));
  proclaiming->send();
  return proclaiming;
}

void PendingProclamation::send() {
  const GuardedWrites writing = proclamation_writer_->value_write(value_);
  if (!GuardedCommit::refusal(writing) && proclamation_writer_->bind_to_leader()) {
    const auto creation = GuardedCommit::make(
        proclamation_writer_->creation(), deadline_,
        [self = shared_from_this()](auto error) { self->on_created(std::move(error)); });
    {
      const EngineLock lock(entry());
      creation_pending_ = true;
    }
    begin(&PendingProclamation::creating_, creation);
  }
  begin(&PendingProclamation::writing_,
        GuardedCommit::make(writing, deadline_,
                            [self = shared_from_this()](std::optional<Error> error) {
                              self->on_value_written(std::move(error));
                            }));
}

/// Registers the commit before it can be sent. So withdraw() reaches it, and nothing is sent after
/// that.
void PendingProclamation::begin(std::shared_ptr<GuardedCommit> PendingProclamation::*registered,
                                const std::shared_ptr<GuardedCommit>& commit) {
  bool withdrawn = false;
  {
    const EngineLock lock(entry());
    this->*registered = commit;
    withdrawn = given_up_;
  }
  if (withdrawn) commit->withdraw();
  commit->begin();
}

void PendingProclamation::on_created(std::optional<Error> error) {
  std::optional<Error> unexplained;
  {
    const EngineLock lock(entry());
    creation_pending_ = false;
    not_created_ = std::move(error);
    unexplained = std::exchange(unexplained_, std::nullopt);
  }
  if (unexplained) on_value_written(std::move(unexplained));
}

void PendingProclamation::on_value_written(std::optional<Error> error) {
  Done done;
  {
    const EngineLock lock(entry());
    assert(done_ && attempts_left_ > 0);
    const bool is_missing =
        error && error->errc() == Errc::no_node && error->path() == proclamation_writer_->node();
    if (is_missing && creation_pending_) {
      unexplained_ = std::move(error);
      return;
    }
    if (is_missing) {
      if (auto failure = creation_failure()) error = std::move(failure);
    }
    const bool may_send = !given_up_ && proclamation_writer_->is_newest(number_);
    const bool again =
        is_missing && error->errc() == Errc::no_node && may_send && --attempts_left_ > 0;
    if (!again) done = std::exchange(done_, nullptr);
  }
  if (done) return done(std::move(error));
  try {
    send();
  } catch (const Error& e) {
    {
      const EngineLock lock(entry());
      done = std::exchange(done_, nullptr);
    }
    if (done) done(e);
  }
}

std::optional<Error> PendingProclamation::creation_failure() const {
  if (!not_created_) return std::nullopt;
  const Errc code = not_created_->errc();
  const bool may_pass =
      code == Errc::node_exists || code == Errc::outcome_unknown || code == Errc::not_connected;
  return may_pass ? std::nullopt : not_created_;
}

void PendingProclamation::withdraw() {
  std::shared_ptr<GuardedCommit> creating;
  std::shared_ptr<GuardedCommit> writing;
  {
    const EngineLock lock(entry());
    given_up_ = true;
    creating = creating_;
    writing = writing_;
  }
  if (creating) creating->withdraw();
  if (writing) writing->withdraw();
}

}  // namespace zklock::detail
