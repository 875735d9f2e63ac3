// SPDX-License-Identifier: Apache-2.0
#include "zklock/client.h"

#include <spdlog/logger.h>

#include <chrono>
#include <exception>
#include <utility>

#include "zklock/client/callback_threads.h"
#include "zklock/client/timer_thread.h"
#include "zklock/client/zookeeper.h"
#include "zklock/recipes/client_core.h"
#include "zklock/recipes/process_identity.h"

namespace zklock {

namespace {

constexpr std::chrono::seconds patience_with_callbacks{5};

void log_escaped(const std::shared_ptr<spdlog::logger>& logger, const std::exception_ptr& error) {
  if (!logger) return;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    logger->error("an exception left a callback: {}", core::printable(e.what(), 1024));
  } catch (...) {
    logger->error("an exception left a callback");
  }
}

ClientOptions with_defaults(std::string hosts) {
  ClientOptions options;
  options.hosts = std::move(hosts);
  return options;
}

recipes::Ports open(const ClientOptions& options) {
  auto timers = std::make_shared<client::TimerThread>();
  auto callbacks = std::make_shared<client::CallbackThreads>(
      [logger = options.logger](const std::exception_ptr& e) { log_escaped(logger, e); },
      client::CallbackThreadsOptions{.executor = options.executor});
  return {.coordinator = client::make_zookeeper_coordinator(options),
          .scheduler = timers,
          .dispatcher = callbacks,
          .stop_threads = [timers = timers.get(), callbacks = callbacks.get()] {
            timers->stop();
            callbacks->drain_for(patience_with_callbacks);
          }};
}

}  // namespace

Client::Client(ClientOptions options) {
  client::validate(options);
  recipes::ClientCore::Settings settings{
      .hosts = options.hosts,
      .application = options.application,
      .host = recipes::process_identity().host,
      .connection_timeout = options.connection_timeout,
      .announces = options.acl.kind() != AclPolicy::Kind::list,
      .logger = options.logger};
  core_ = recipes::ClientCore::make(open(options), std::move(settings));
}

Client::Client(std::string hosts) : Client(with_defaults(std::move(hosts))) {}

Client::~Client() {
  if (core_->forked()) {
    // Its threads and its connection are the parent's: nothing of it is to be touched, for ever.
    static_cast<void>(new std::shared_ptr<recipes::ClientCore>(std::move(core_)));
    return;
  }
  close();
}

bool Client::wait_until_connected(Deadline deadline) {
  return core_->wait_until_connected(deadline);
}

bool Client::is_connected() const noexcept {
  return !core_->forked() && core_->keeper().is_connected();
}

std::int64_t Client::session_id() const noexcept { return core_->keeper().session().value; }

std::chrono::milliseconds Client::session_timeout() const noexcept {
  return std::chrono::duration_cast<std::chrono::milliseconds>(core_->keeper().timeout());
}

Subscription Client::add_listener(std::function<void(ConnectionState)> listener) {
  return core_->add_listener(std::move(listener));
}

bool Client::flush(Deadline deadline) {
  if (core_->forked()) throw Error(Errc::forked, "flush", core_->settings().hosts);
  return core_->closed() || core_->work().wait(deadline);
}

void Client::close() noexcept {
  if (!core_->forked()) core_->close();
}

}  // namespace zklock
