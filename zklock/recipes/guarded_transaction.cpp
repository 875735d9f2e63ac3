// SPDX-License-Identifier: Apache-2.0
#include "zklock/guarded_transaction.h"

#include <string_view>
#include <utility>

#include "zklock/core/lock_path.h"
#include "zklock/recipes/blocking_call.h"
#include "zklock/recipes/fork_guard.h"
#include "zklock/recipes/guarded_commit.h"

namespace zklock {

using recipes::GuardedCommit;
using recipes::GuardedWrites;
namespace write = client::request::write;

namespace {

void check_has_count(const Hold& hold) {
  if (!hold) throw Error(Errc::not_owner, "guard a transaction", "", "the hold is empty");
}

std::string checked(std::string_view operation, std::string path) {
  core::check_path(operation, path);
  return path;
}

std::string checked_below_root(std::string_view operation, std::string path) {
  core::check_path(operation, path);
  if (path == "/") {
    throw Error(Errc::invalid_path, operation, path, "the root is always there");
  }
  return path;
}

std::int32_t checked_version(std::string_view operation, std::string_view path,
                             std::optional<std::int32_t> version) {
  constexpr std::int32_t any = -1;
  if (version.value_or(any) < any) {
    throw Error(Errc::invalid_option, operation, path, "a version is not below -1");
  }
  return version.value_or(any);
}

}  // namespace

GuardedTransaction::GuardedTransaction(const Hold& hold) {
  check_has_count(hold);
  writes_ = std::make_unique<GuardedWrites>();
  writes_->guards.push_back(hold.contender_);
}

GuardedTransaction::GuardedTransaction(GuardedTransaction&& other) noexcept = default;

GuardedTransaction& GuardedTransaction::operator=(GuardedTransaction&& other) noexcept {
  writes_.swap(other.writes_);
  return *this;
}

GuardedTransaction::~GuardedTransaction() {
  if (!writes_) return;
  for (auto& guard : writes_->guards) {
    if (guard->engine().core().forked()) recipes::keep_for_ever(std::move(guard));
  }
}

GuardedTransaction& GuardedTransaction::also_guarded_by(const Hold& hold) {
  check_has_count(hold);
  auto& engine = hold.contender_->engine();
  if (&engine.core() != &writes_->guards.front()->engine().core()) {
    throw Error(Errc::invalid_option, "guard a transaction", engine.path().str(),
                "the holds are of different clients");
  }
  writes_->guards.push_back(hold.contender_);
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
  // Shared: an interrupted thread does not wait for the answer.
  const auto answer = std::make_shared<recipes::BlockingCall<std::optional<Error>>>();
  const auto committing = GuardedCommit::start(
      *writes_, deadline, [answer](std::optional<Error> error) { answer->set(std::move(error)); });
  try {
    if (const auto error = answer->wait()) throw *error;
  } catch (const boost::thread_interrupted&) {
    committing->give_up();
    throw;
  }
}

void GuardedTransaction::async_commit(CommitHandler handler, Deadline deadline) const {
  // What the handler owns must not die on the threads that bring the outcome: there is one copy,
  // and it moves on to the executor.
  auto only = std::make_shared<CommitHandler>(std::move(handler));
  auto& dispatcher = writes_->guards.front()->engine().core().dispatcher();
  GuardedCommit::start(*writes_, deadline,
                       [&dispatcher, only = std::move(only)](std::optional<Error> error) mutable {
                         dispatcher.post([only = std::move(only), error = std::move(error)] {
                           (*only)(error ? std::make_exception_ptr(*error) : nullptr);
                         });
                       });
}

std::future<void> GuardedTransaction::async_commit(Deadline deadline) const {
  auto promise = std::make_shared<std::promise<void>>();
  auto future = promise->get_future();
  try {
    GuardedCommit::start(*writes_, deadline, [promise](std::optional<Error> error) {
      if (error) {
        promise->set_exception(std::make_exception_ptr(*error));
      } else {
        promise->set_value();
      }
    });
  } catch (...) {
    promise->set_exception(std::current_exception());
  }
  return future;
}

GuardedTransaction::Awaitable GuardedTransaction::co_commit(Deadline deadline) const {
  return {*this, deadline};
}

void GuardedTransaction::Awaitable::await_suspend(std::coroutine_handle<> caller) {
  // The coroutine may go on, and this object with it, before async_commit() has returned.
  transaction_->async_commit(
      [this, caller](std::exception_ptr error) {
        error_ = std::move(error);
        caller.resume();
      },
      deadline_);
}

}  // namespace zklock
