// SPDX-License-Identifier: Apache-2.0
// Not part of a program. The test short_calls compiles this file by the compiler of the build. It
// has each public constructor and call that takes options. Each stands with one designated member,
// with none, with a named object, and in short forms. g++ 12 also converts {.a = b} to types that
// are no aggregates.
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "zklock/testing/fake_ensemble.h"
#include "zklock/testing/fault_proxy.h"
#include "zklock/testing/test_ensemble.h"
#include "zklock/testing/test_server.h"
#include "zklock/zklock.h"

namespace zklock {

using namespace std::chrono_literals;

void clients(const std::string& hosts, const ClientOptions& options, const char* characters) {
  Client one_member({.hosts = hosts});
  Client one_literal({.hosts = "a:1"});
  Client one_moved({.hosts = hosts + "/chroot"});
  Client two_members({.hosts = hosts, .create_chroot = true});
  Client in_braces{{.hosts = hosts}};
  Client temporary(ClientOptions{.hosts = hosts});
  Client named(options);
  Client by_text(hosts);
  Client by_moved_text(hosts + "/chroot");
  Client by_literal("a:1");
  Client by_characters(characters);
  Client by_view(std::string_view("a:1"));
  Client by_text_in_braces{hosts};
  const std::optional<Client> in_place(std::in_place, hosts);
  const auto pointers =
      std::pair(std::make_unique<Client>(options), std::make_unique<Client>("a:1"));
}
static_assert(!std::is_constructible_v<Client, int> && !std::is_constructible_v<Client, Client&>);
static_assert(!std::is_convertible_v<std::string, Client>);

template <class Lock, class Options>
void objects_of(Client& client, const std::string& path, const Options& named) {
  Lock none(client, "/a");
  Lock no_member(client, path, {});
  Lock one_member(client, path, {.label = "a"});
  Lock by_name(client, path, named);
}
template void objects_of<ReentrantMutex>(Client&, const std::string&, const CohortOptions&);
template void objects_of<ReentrantMutex>(Client&, const std::string&, const LockOptions&);
template void objects_of<ReentrantMutex>(Client&, const std::string&, const ExclusiveOptions&);
template void objects_of<Mutex>(Client&, const std::string&, const LockOptions&);
template void objects_of<Mutex>(Client&, const std::string&, const CohortOptions&);
template void objects_of<Mutex>(Client&, const std::string&, const ExclusiveOptions&);
template void objects_of<SharedMutex>(Client&, const std::string&, const ExclusiveOptions&);
template void objects_of<SharedMutex>(Client&, const std::string&, const LockOptions&);
template void objects_of<PriorityMutex>(Client&, const std::string&, const PriorityOptions&);
template void objects_of<PriorityMutex>(Client&, const std::string&, const ExclusiveOptions&);
template void objects_of<PriorityMutex>(Client&, const std::string&, const LockOptions&);
template void objects_of<LeaderLatch>(Client&, const std::string&, const LatchOptions&);

void objects(Client& client, const std::string& path, const LockOptions& options,
             const SharedCount& count) {
  Semaphore fixed(client, path, 2);
  Semaphore fixed_with_member(client, path, 2, {.label = "a"});
  Semaphore fixed_with_options(client, path, 2, options);
  Semaphore shared(client, path, {.initial = 2});
  Semaphore shared_with_member(client, path, {.initial = 2}, {.label = "a"});
  Semaphore shared_by_name(client, path, count, options);
  Survey whole(client, path);
  Survey with_member(client, path, {.max_depth = 2});
  Survey with_none(client, path, {});
  const SurveyOptions named{.max_depth = 2};
  Survey by_name(client, path, named);
  const Executor executor;
  LockObserver observer(client, path), with_executor(client, path, executor);
  ElectionObserver of_election(client, path), and_executor(client, path, executor);
}

void elections(Client& client, const std::string& path, const ElectionOptions& options) {
  const LeaderElection::Function function = [](Leadership& /*leadership*/) {};
  LeaderElection short_form(client, path, function);
  LeaderElection by_lambda(client, "/a", [](Leadership& /*leadership*/) {});
  LeaderElection no_member(client, path, {}, function);
  LeaderElection one_member(client, path, {.label = "a"}, [](Leadership& /*leadership*/) {});
  LeaderElection by_name(client, path, options, function);
}

void composites(Client& client, const std::vector<std::string>& paths,
                const std::vector<LockPart>& parts, const ExclusiveOptions& options) {
  MultiMutex by_paths(client, {"/a", "/b"});
  MultiMutex one_path(client, {"/a"});
  MultiMutex paths_and_member(client, {"/a", "/b"}, {.label = "a"});
  MultiMutex named_paths(client, paths, options);
  MultiMutex by_parts(client, {LockPart::mutex("/a"), LockPart::permits("/b", 1, 2),
                               LockPart::permits("/c", 1, {.initial = 2})});
  MultiMutex parts_and_member(client, {LockPart::writer("/a")}, {.label = "a"});
  MultiMutex named_parts(client, parts, {});
  MultiMutex span_of_parts(client, std::span(parts), options);

  const QuorumOptions quorum;
  const QuorumMutex::Clients all{client, client, client};
  QuorumMutex of_three({client, client, client}, "/a");
  QuorumMutex of_one({client}, "/a", {});
  QuorumMutex one_member({client, client, client}, "/a", {.label = "a"});
  QuorumMutex by_name(all, "/a", quorum), by_exclusive(all, "/a", options);
  QuorumMutex by_common(all, "/a", LockOptions());
  MultiMutex by_common_options(client, paths, LockOptions());
}

template <class Lock>
void acquires(Lock& lock, const AcquireOptions& named, const std::stop_token& stop) {
  static_cast<void>(lock.acquire());
  static_cast<void>(lock.acquire({}));
  static_cast<void>(lock.acquire({.owner = Owner::unique()}));
  static_cast<void>(lock.acquire({.deadline = 1s}));
  static_cast<void>(lock.acquire({.stop = stop}));
  static_cast<void>(lock.acquire({.max_hold = 1s}));
  static_cast<void>(lock.acquire({.note = "a"}));
  static_cast<void>(lock.acquire(named));
  static_cast<void>(lock.acquire(1s));
  static_cast<void>(lock.acquire(LeaseClock::now()));
  static_cast<void>(lock.acquire(Deadline::passed()));
  const auto handler = [](auto /*hold*/, const std::exception_ptr& /*error*/) {};
  lock.async_acquire(handler);
  lock.async_acquire({}, handler);
  lock.async_acquire({.owner = Owner::unique()}, handler);
  lock.async_acquire({.deadline = 1s}, handler);
  lock.async_acquire({.max_hold = 1s}, handler);
  lock.async_acquire({.note = "a"}, handler);
  lock.async_acquire(named, handler);
  lock.async_acquire({.note = "a"}, [kept = std::make_unique<int>()](auto, auto) {});
  static_cast<void>(lock.async_acquire());
  static_cast<void>(lock.async_acquire({}));
  static_cast<void>(lock.async_acquire({.deadline = 1s}));
  static_cast<void>(lock.async_acquire({.note = "a"}));
  static_cast<void>(lock.async_acquire(named));
  static_cast<void>(lock.co_acquire());
  static_cast<void>(lock.co_acquire(1s));
  static_cast<void>(lock.co_acquire(1s, stop));
  static_cast<void>(lock.co_acquire(named));
}
template void acquires(ReentrantMutex&, const AcquireOptions&, const std::stop_token&);
template void acquires(Mutex&, const AcquireOptions&, const std::stop_token&);
template void acquires(SharedMutex&, const AcquireOptions&, const std::stop_token&);
template void acquires(PriorityMutex&, const AcquireOptions&, const std::stop_token&);
template void acquires(Semaphore&, const AcquireOptions&, const std::stop_token&);
template void acquires(CompositeMutex&, const AcquireOptions&, const std::stop_token&);

void acquires_shared(SharedMutex& mutex, const AcquireOptions& named,
                     const AcquireHandler& handler) {
  static_cast<void>(mutex.acquire_shared());
  static_cast<void>(mutex.acquire_shared({}));
  static_cast<void>(mutex.acquire_shared({.deadline = 1s}));
  static_cast<void>(mutex.acquire_shared(named));
  static_cast<void>(mutex.acquire_shared(1s));
  mutex.async_acquire_shared(handler);
  mutex.async_acquire_shared({}, handler);
  mutex.async_acquire_shared({.deadline = 1s}, handler);
  mutex.async_acquire_shared({}, [kept = std::make_unique<int>()](auto, auto) {});
  static_cast<void>(mutex.async_acquire_shared());
  static_cast<void>(mutex.async_acquire_shared({.note = "a"}));
  static_cast<void>(mutex.async_acquire_shared(named));
  static_cast<void>(mutex.co_acquire_shared());
  static_cast<void>(mutex.co_acquire_shared(1s));
  static_cast<void>(mutex.co_acquire_shared(named));
}

/// `Lock`: its calls take an integer behind the options, a count of permits or a weight.
template <class Lock>
void acquires_with(Lock& lock, const AcquireOptions& named, const AcquireHandler& handler) {
  static_cast<void>(lock.acquire({}, 2));
  static_cast<void>(lock.acquire({.deadline = 1s}, 2));
  static_cast<void>(lock.acquire(named, 2));
  static_cast<void>(lock.acquire(1s, 2));
  lock.async_acquire({}, 2, handler);
  lock.async_acquire({.deadline = 1s}, 2, handler);
  lock.async_acquire(named, 2, handler);
  static_cast<void>(lock.async_acquire({}, 2));
  static_cast<void>(lock.async_acquire({.deadline = 1s}, 2));
  static_cast<void>(lock.async_acquire(named, 2));
  static_cast<void>(lock.co_acquire(1s, {}, 2));
  static_cast<void>(lock.co_acquire(named, 2));
}
template void acquires_with(PriorityMutex&, const AcquireOptions&, const AcquireHandler&);
template void acquires_with(Semaphore&, const AcquireOptions&, const AcquireHandler&);

void permits(Semaphore& semaphore, short few, std::size_t many) {
  static_cast<void>(semaphore.acquire(2));
  static_cast<void>(semaphore.acquire(few));
  static_cast<void>(semaphore.acquire(static_cast<int>(many)));
  static_cast<void>(semaphore.async_acquire(2));
  static_cast<void>(semaphore.co_acquire(2));
  static_cast<void>(semaphore.try_acquire(2));
}
// An empty list means options, never a count of 0.
template <class T>
concept CanCoAcquireNothing = requires(T& lock) {
  lock.co_acquire({});
};
static_assert(!CanCoAcquireNothing<Semaphore>);

void ends(const GuardedTransaction& transaction, const Leadership& leadership) {
  transaction.async_commit([kept = std::make_unique<int>()](auto) {});
  leadership.async_proclaim("", [kept = std::make_unique<int>()](auto) {});
}

void functions(Client& client, const AcquireOptions& named, const CohortOptions& mutex,
               const ReleaseRequestOptions& request, const Participant& contender) {
  const auto work = [](const Hold& /*hold*/) { return 1; };
  static_cast<void>(with_lock(client, "/a", work));
  static_cast<void>(with_lock(client, "/a", {}, work));
  static_cast<void>(with_lock(client, "/a", {.deadline = 1s}, [] {}));
  static_cast<void>(with_lock(client, "/a", named, work));
  static_cast<void>(hold_lock(client, "/a"));
  static_cast<void>(hold_lock(client, "/a", {.deadline = 1s}));
  static_cast<void>(hold_lock(client, "/a", {}, {.label = "a"}));
  static_cast<void>(hold_lock(client, "/a", named, mutex));
  static_cast<void>(request_release(client, "/a"));
  static_cast<void>(request_release(client, "/a", {}));
  static_cast<void>(request_release(client, "/a", {.force = true}));
  static_cast<void>(request_release(client, "/a", request));
  static_cast<void>(evict(client, "/a", contender));
  static_cast<void>(evict(client, "/a", contender, 1s));
  static_cast<void>(AclPolicy::list({{.scheme = "world", .id = "anyone"}}));
}

}  // namespace zklock

namespace zklock::testing {

void kit(const TestServerOptions& server, const FakeEnsembleOptions& fake, std::uint16_t port) {
  TestServer none, one_member({.my_id = 1}), by_name(server);
  TestEnsemble of_three, three_with_member({.my_id = 1}), with_links(server, 3, {});
  TestEnsemble listed({{.my_id = 1}, {.my_id = 2}}, TestEnsemble::Links::direct);
  FaultProxy proxy({port}), of_bytes({port}, FaultProxy::Protocol::bytes);
  FakeEnsemble ensemble, ensemble_with_member({.rest_limit = 1s}), ensemble_by_name(fake);
  const ClientOptions options;
  static_cast<void>(ensemble.client());
  static_cast<void>(ensemble.client({}));
  static_cast<void>(ensemble.client({.application = "a"}));
  static_cast<void>(ensemble.client(options));
}

}  // namespace zklock::testing
