// SPDX-License-Identifier: Apache-2.0
#include "zklock/client.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>
#include <vector>

#include <dlfcn.h>
#include <link.h>

#include "zklock/client/port/log.h"
#include "zklock/client/port/mutex.h"
#include "zklock/client/port/test_seam.h"
#include "zklock/client/threads/callback_threads.h"
#include "zklock/client/threads/start_thread.h"
#include "zklock/client/threads/timer_thread.h"
#include "zklock/client/zookeeper/check_client_options.h"
#include "zklock/client/zookeeper/make_coordinator.h"
#include "zklock/engine/callback/borrowed_executor.h"
#include "zklock/engine/callback/post_or_run.h"
#include "zklock/engine/client_core.h"
#include "zklock/engine/session/process.h"

namespace zklock {

namespace {

/// Keeps the shared object with this code in memory, even after dlclose(). A thread that has locked
/// calls this code when it ends, and a thread that the C client has logged on calls the C client.
/// Their thread-specific keys would stay too. Does nothing if this code is in the program itself.
/// Source: OpenSSL, which does so for its keys.
bool stay_loaded() noexcept {
  Dl_info unused{};
  void* object = nullptr;
  if (::dladdr1(reinterpret_cast<const void*>(&stay_loaded), &unused, &object, RTLD_DL_LINKMAP) ==
      0)
    return false;
  const char* const name = static_cast<const link_map*>(object)->l_name;
  constexpr int kMode = RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE;
  return *name != '\0' && ::dlopen(name, kMode) != nullptr;
}

// When the code is loaded: the C client makes its keys then. If it fails, an unloaded object can
// crash.
[[maybe_unused]] const bool kStaysLoaded = stay_loaded();

constexpr std::chrono::seconds kCallbackDrainTimeout{4};
constexpr std::chrono::seconds kLossDrainTimeout{1};
constexpr std::chrono::seconds kLogDrainTimeout{1};
/// Callbacks of losses and release requests that run at once; later ones wait for a thread.
constexpr std::size_t kMaxLossThreads = 32;

void log_escaped(client::Log& log, const std::exception_ptr& error) {
  constexpr const char* kText = "a callback threw an exception";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    log.write_throttled(LogLevel::error, kText + (": " + std::string(e.what())));
  } catch (...) {
    log.write_throttled(LogLevel::error, kText);
  }
}

/// Returns the warning that callbacks wait because earlier ones block. `threads`: what they block.
std::string backlog_text(const client::Backlog& backlog, const std::string& threads) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(backlog.oldest).count();
  const bool one_runs = backlog.running == 1;
  return "zklock: " + std::to_string(backlog.running) +
         (one_runs ? " callback blocks " : " callbacks block ") + threads + ", and " +
         std::to_string(backlog.waiting) + " more " + (backlog.waiting == 1 ? "waits" : "wait") +
         ", the longest for " + std::to_string(seconds) +
         " s. A callback must not wait for another; see the stacks of these threads";
}

std::function<void(const client::Backlog&)> backlog_warning(std::shared_ptr<client::Log> log,
                                                            std::string threads) {
  return [log = std::move(log), threads = std::move(threads)](const client::Backlog& backlog) {
    log->write_throttled(LogLevel::warning, backlog_text(backlog, threads));
  };
}

/// Returns the options of the pool for the callbacks of losses.
client::CallbackThreadsOptions options_of_losses(std::weak_ptr<client::Scheduler> scheduler,
                                                 std::shared_ptr<client::Log> log) {
  return {.name = "zklock-loss",
          .max_threads = kMaxLossThreads,
          .keeps_one = true,
          .scheduler = std::move(scheduler),
          .on_backlog =
              backlog_warning(std::move(log), "all threads for loss callbacks (zklock-loss)")};
}

/// The threads of listeners, one pool for each listener, that only pass calls to the client's
/// executor.
///
/// Thread-safety: all members, from any thread.
class ListenerThreads {
 public:
  void add(const std::shared_ptr<client::CallbackThreads>& threads) {
    const client::MutexLock guard(mutex_);
    std::erase_if(all_, [](const auto& each) { return each.expired(); });
    all_.push_back(threads);
  }
  void drain_until(LeaseClock::time_point end) {
    for (const auto& threads : all()) threads->drain_for(end - LeaseClock::now());
  }
  bool runs_here() {
    return std::ranges::any_of(all(), [](const auto& threads) { return threads->runs_here(); });
  }

 private:
  std::vector<std::shared_ptr<client::CallbackThreads>> all() {
    std::vector<std::shared_ptr<client::CallbackThreads>> alive;
    const client::MutexLock guard(mutex_);
    for (const auto& each : all_) {
      if (auto threads = each.lock()) alive.push_back(std::move(threads));
    }
    return alive;
  }

  client::Mutex mutex_;
  std::vector<std::weak_ptr<client::CallbackThreads>> all_ ZKLOCK_GUARDED_BY(mutex_);
};

/// Joins the threads of a pool if the constructor of a client fails. The pool alone would detach
/// them.
///
/// Thread-safety: for one thread.
class JoinOnFailure {
 public:
  JoinOnFailure(client::CallbackThreads& pool, std::chrono::seconds longest) noexcept
      : pool_(pool), longest_(longest) {}
  ~JoinOnFailure() {
    if (std::uncaught_exceptions() > exceptions_before_) pool_.drain_for(longest_);
  }
  JoinOnFailure(const JoinOnFailure&) = delete;
  JoinOnFailure& operator=(const JoinOnFailure&) = delete;

 private:
  client::CallbackThreads& pool_;
  const std::chrono::seconds longest_;
  const int exceptions_before_ = std::uncaught_exceptions();
};

client::TestSeam::Connection connect(const ClientOptions& options,
                                     const std::shared_ptr<client::Log>& log) {
  if (client::TestSeam* const seam = client::test_seam()) return seam->connect(options);
  auto timers = std::make_shared<client::TimerThread>();
  return {client::make_zookeeper_coordinator(options, log), std::move(timers)};
}

detail::Ports open(const ClientOptions& options, const std::shared_ptr<client::Log>& log,
                   const std::shared_ptr<client::CallbackThreads>& log_thread) {
  const auto on_exception = [log](const std::exception_ptr& e) { log_escaped(*log, e); };
  const client::TestSeam::Connection connection = connect(options, log);
  const detail::BorrowedExecutor executor(options.executor);
  const char* const runs_them =
      options.executor ? "ClientOptions::executor" : "all threads for handlers (zklock-callback)";
  const auto callbacks = std::make_shared<client::CallbackThreads>(
      on_exception, client::CallbackThreadsOptions{.keeps_one = true,
                                                   .executor = executor.revocable(),
                                                   .scheduler = connection.scheduler,
                                                   .on_backlog = backlog_warning(log, runs_them)});
  const JoinOnFailure joins(*callbacks, kCallbackDrainTimeout);
  const auto listeners = std::make_shared<ListenerThreads>();
  const auto losses = std::make_shared<client::CallbackThreads>(
      on_exception, options_of_losses(connection.scheduler, log));
  return {
      .coordinator = connection.coordinator,
      .scheduler = connection.scheduler,
      .dispatcher = callbacks,
      .loss_dispatcher = losses,
      .listener_dispatcher =
          [on_exception, listeners, callbacks, standard = executor.revocable()](Executor own) {
            const bool borrows = !own && standard;
            auto threads = std::make_shared<client::CallbackThreads>(
                on_exception, client::CallbackThreadsOptions{.max_threads = 1,
                                                             .substitute = callbacks,
                                                             .executor = borrows ? standard : own});
            if (borrows) listeners->add(threads);
            return threads;
          },
      .finish_losses = [losses] { losses->drain_for(kLossDrainTimeout); },
      .stop_threads =
          [timers = connection.scheduler, callbacks, listeners, executor] {
            timers->stop();
            const auto until = LeaseClock::now() + kCallbackDrainTimeout;
            callbacks->drain_for(kCallbackDrainTimeout);
            listeners->drain_until(until);
            executor.revoke_within(until - LeaseClock::now());
          },
      .finish_log = [log_thread] { log_thread->drain_for(kLogDrainTimeout); },
      .in_callback =
          [callbacks, losses, log_thread, listeners] {
            return callbacks->runs_here() || losses->runs_here() || log_thread->runs_here() ||
                   listeners->runs_here();
          },
  };
}

/// Closes the client on another thread, because close() would wait for the calling one.
void close_elsewhere(const std::shared_ptr<detail::ClientCore>& core) {
  detail::post_or_run(core, core->loss_dispatcher(), [core] { core->close(); });
}

/// All threads that the guarantees of a client need exist when it returns. Throws std::system_error
/// if the system does not provide one of them; then it has joined the others.
std::shared_ptr<detail::ClientCore> make_core(const ClientOptions& options) {
  const auto log_thread = client::make_log_thread();
  const JoinOnFailure joins(*log_thread, kLogDrainTimeout);
  const auto log = client::make_log(options, log_thread);
  detail::ClientCore::Settings settings{
      .hosts = options.hosts,
      .user = options.digest ? options.digest->user : std::string(),
      .application = options.application,
      .host = detail::process_identity().host,
      .connection_timeout = options.connection_timeout,
      .loss_callback_limit = options.loss_callback_limit,
      .max_in_flight = options.max_in_flight,
      .announces = options.acl.kind() != AclPolicy::Kind::list,
      .log = log};
  return detail::ClientCore::make(open(options, log, log_thread), std::move(settings));
}

}  // namespace

Client::Client(ClientOptions options) {
  client::check_client_options(options);
  try {
    core_ = make_core(options);
  } catch (const Error&) {
    throw;
  } catch (const std::system_error& e) {  // no thread, or no descriptor for the timers
    throw Error(Errc::unsupported, "connect", {},
                e.code() == std::errc::resource_unavailable_try_again ? client::thread_shortage()
                                                                      : e.what());
  }
}

Client::Client(std::shared_ptr<detail::ClientCore> core) noexcept : core_(std::move(core)) {}

Client::~Client() {
  close();
  if (core_->forked()) detail::keep_for_ever(std::move(core_));
}

bool Client::wait_until_connected(Deadline deadline) {
  return core_->wait_until_connected(deadline);
}

bool Client::is_connected() const noexcept {
  return !core_->forked() && core_->keeper().is_connected();
}

std::int64_t Client::session_id() const noexcept {
  return core_->keeper().session().value;
}

std::chrono::milliseconds Client::session_timeout() const noexcept {
  return std::chrono::duration_cast<std::chrono::milliseconds>(core_->keeper().timeout());
}

void Client::set_hosts(const std::string& hosts) {
  core_->set_hosts(hosts);
}

Subscription Client::add_listener(std::function<void(ConnectionState)> listener) {
  return core_->add_listener(std::move(listener));
}

bool Client::flush(Deadline deadline) {
  if (core_->forked()) throw Error(Errc::forked, "flush", core_->hosts());
  return core_->flush(deadline);
}

ClientMetrics Client::metrics() const {
  return core_->metrics();
}

Health Client::health() const {
  return core_->health();
}

void Client::close() noexcept {
  if (core_->forked()) return;
  const bool own_thread =
      core_->coordinator().is_own_thread() || core_->scheduler().is_timer_thread();
  own_thread ? close_elsewhere(core_) : core_->close();
}

}  // namespace zklock
