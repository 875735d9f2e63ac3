// SPDX-License-Identifier: Apache-2.0
#include "zklock/guarded_transaction.h"

#include "zklock/core/lock_path.h"
#include "zklock/engine/callback/completion.h"
#include "zklock/engine/contender.h"
#include "zklock/engine/guarded_commit.h"
#include "zklock/engine/session/process.h"
#include "zklock/recipes/election/leadership_state.h"

namespace zklock {

using detail::GuardedCommit;
using detail::GuardedWrites;
namespace write = client::request::write;

namespace {

constexpr const char* kGuarding = "guard a transaction";

std::string checked(std::string_view operation, std::string path) {
  core::check_path(operation, path);
  return path;
}

std::string checked_below_root(std::string_view operation, std::string path) {
  core::check_path(operation, path);
  if (path == "/") {
    throw Error(Errc::invalid_path, operation, path, "the root znode cannot be created or deleted");
  }
  return path;
}

std::int32_t checked_version(std::string_view operation, std::string_view path,
                             std::optional<std::int32_t> version) {
  constexpr std::int32_t kAny = -1;
  if (version.value_or(kAny) < kAny) {
    throw Error(Errc::invalid_option, operation, path, "a version must be at least -1");
  }
  return version.value_or(kAny);
}

}  // namespace

GuardedTransaction::GuardedTransaction(const Hold& hold)
    : writes_(std::make_unique<GuardedWrites>()) {
  also_guarded_by(hold);
}

GuardedTransaction::GuardedTransaction(const Leadership& leadership)
    : writes_(std::make_unique<GuardedWrites>()) {
  also_guarded_by(leadership);
}

GuardedTransaction::GuardedTransaction(GuardedTransaction&& other) noexcept = default;

GuardedTransaction& GuardedTransaction::operator=(GuardedTransaction&& other) noexcept {
  writes_.swap(other.writes_);
  return *this;
}

GuardedTransaction::~GuardedTransaction() {
  if (!writes_) return;
  for (auto& guard : writes_->guards) {
    if (guard->path_lock().context().forked()) detail::keep_for_ever(std::move(guard));
  }
}

GuardedTransaction& GuardedTransaction::also_guarded_by(const Hold& hold) {
  if (!hold) throw Error(Errc::not_owner, kGuarding, "", "the hold is empty");
  return guard(hold.contender_);
}

GuardedTransaction& GuardedTransaction::also_guarded_by(const Leadership& leadership) {
  return guard(leadership.leader(kGuarding));
}

GuardedTransaction& GuardedTransaction::guard(std::shared_ptr<detail::Contender> holder) {
  auto& guards = writes_->guards;
  auto& path_lock = holder->path_lock();
  if (!guards.empty() && &path_lock.context() != &guards.front()->path_lock().context()) {
    throw Error(Errc::invalid_option, kGuarding, path_lock.path().str(),
                "the holds belong to different clients");
  }
  guards.push_back(std::move(holder));
  return *this;
}

GuardedTransaction& GuardedTransaction::create(std::string path, std::string data) {
  writes_->writes.emplace_back(
      write::Create{checked_below_root("create", std::move(path)), std::move(data)});
  return *this;
}

GuardedTransaction& GuardedTransaction::set(std::string path, std::string data,
                                            std::optional<std::int32_t> expected_version) {
  const std::int32_t version = checked_version("set", path, expected_version);
  writes_->writes.emplace_back(
      write::Set{checked("set", std::move(path)), std::move(data), version});
  return *this;
}

GuardedTransaction& GuardedTransaction::remove(std::string path,
                                               std::optional<std::int32_t> expected_version) {
  const std::int32_t version = checked_version("remove", path, expected_version);
  writes_->writes.emplace_back(
      write::Remove{checked_below_root("remove", std::move(path)), version});
  return *this;
}

GuardedTransaction& GuardedTransaction::check(std::string path, std::int32_t version) {
  checked_version("check", path, version);
  writes_->writes.emplace_back(write::CheckVersion{checked("check", std::move(path)), version});
  return *this;
}

void GuardedTransaction::commit(Deadline deadline) const {
  detail::commit_and_wait(
      [&](auto done) { return GuardedCommit::start(*writes_, deadline, std::move(done)); });
}

void GuardedTransaction::async_commit(Deadline deadline, CommitHandler handler) const {
  detail::commit_and_notify(
      writes_->guards.front()->path_lock().context().shared_from_this(), std::move(handler),
      [&](auto done) { return GuardedCommit::start(*writes_, deadline, std::move(done)); });
}

std::future<void> GuardedTransaction::async_commit(Deadline deadline) const {
  return detail::commit_as_future(
      [&](auto done) { return GuardedCommit::start(*writes_, deadline, std::move(done)); });
}

GuardedTransaction::Awaitable GuardedTransaction::co_commit(Deadline deadline) const {
  return Awaitable([this, deadline](CommitHandler handler, const std::stop_token&) {
    async_commit(deadline, std::move(handler));
  });
}

}  // namespace zklock
