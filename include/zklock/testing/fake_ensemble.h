// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/version.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "zklock/client.h"
#include "zklock/error.h"
#include "zklock/lease_clock.h"
#include "zklock/testing/request_kind.h"

namespace zklock::testing {

namespace detail {
struct FakeClient;
struct FakeServers;
}  // namespace detail

/// The connection of one client to its server in a FakeEnsemble, and the faults that can happen
/// there. T is the session timeout of the client.
///
/// | state    | begins with      | requests of the client                       | ends with       |
/// |----------|------------------|----------------------------------------------|-----------------|
/// | up       | construction     | are answered                                 |                 |
/// | cut      | cut()            | wait; neither end is notified. After 2 T/3   | mend()          |
/// |          |                  | the client drops the connection. After T     |                 |
/// |          |                  | more it ends its session                     |                 |
/// | refused  | refuse()         | wait in the client, which is disconnected    | accept()        |
/// | isolated | isolate_server() | reads are answered, writes wait: the server  | rejoin_server() |
/// |          |                  | has lost the quorum                          |                 |
///
/// A break of the connection ends the state `isolated`: the next server has the quorum. The faults
/// lose_reply(), lose_request() and fail_next() wait for their request as long as necessary. A
/// fault that does not apply in the present state has no effect. Each member except requests()
/// calls FakeEnsemble::settle() before it returns. If another thread is in settle() or advance(),
/// the member returns at once, and that thread settles.
///
/// Thread-safety: all members, from any thread, except from a LogSink or a logger.
class FakeLink {
 public:
  /// Begin and end the state `cut` of the table above.
  void cut();
  void mend();
  /// Breaks the connection. The client is notified, and connects again at once.
  void break_connection();
  void refuse();
  void accept();
  void isolate_server();
  void rejoin_server();
  /// The next request of this kind is executed, but its reply and the connection are lost.
  void lose_reply(RequestKind kind = RequestKind::any);
  /// The next request of this kind and the connection are lost.
  void lose_request(RequestKind kind = RequestKind::any);
  /// The server answers the next request of this kind with an error, and does not execute it.
  /// Throws std::invalid_argument unless `error` is no_auth, quota_exceeded, read_only or
  /// server_error.
  void fail_next(RequestKind kind, Errc error);
  /// Ends the client's session on the servers. A connected client is notified at once, and opens a
  /// new session. As on real servers, a watch event can first report that the lock znode was
  /// deleted. Then the LossReason is node_deleted.
  void expire_session();
  /// Has the effect on zklock that SIGSTOP has on a process: the timers and messages of the client
  /// wait until resume_process(). But the threads of the test continue. So after advance(), a
  /// thread can call Hold::state(), and gets the state that it would find after a real pause.
  void pause_process();
  void resume_process();
  /// Returns how many requests of this kind the client has made.
  [[nodiscard]] std::size_t requests(RequestKind kind = RequestKind::any) const;

 private:
  friend class FakeEnsemble;
  explicit FakeLink(std::shared_ptr<detail::FakeClient> client) noexcept
      : client_(std::move(client)) {}

  std::shared_ptr<detail::FakeClient> client_;
};

/// The options of a FakeEnsemble.
///
/// Thread-safety: a value.
struct FakeEnsembleOptions {
  /// The longest real time for which settle() and advance() wait at each step until all threads
  /// sleep. After it, they throw std::runtime_error with the name of a thread that runs. They also
  /// throw if a thread makes calls without end, and if another thread that settles makes no
  /// progress. With 0, settle() and advance() do not wait for threads; advance_until() and during()
  /// throw std::logic_error.
  std::chrono::milliseconds rest_limit{10'000};
};

/// A ZooKeeper ensemble without servers, for unit tests. Clients connect to it by hosts(). All code
/// of zklock runs as in production, except the code around the ZooKeeper C client. Time passes only
/// in advance(), advance_until() and during(). So a test of a lost lock takes milliseconds, and a
/// busy machine does not make it fail. In this example, the job makes a Client of its own:
/// @code
///   zklock::testing::FakeEnsemble ensemble;
///   NightlyJob job(ensemble.hosts());
///   std::jthread worker([&](std::stop_token stop) { job.run(stop); });  // so a failure ends it
///   ensemble.settle();
///   ASSERT_TRUE(job.is_writing());
///   ensemble.link(0).cut();
///   ensemble.advance(10s);
///   EXPECT_FALSE(job.is_writing());
/// @endcode
///
/// Time. While a FakeEnsemble exists, LeaseClock::now() is virtual in the whole process. So are the
/// deadlines of calls, leases, session timeouts, lock delays and maximum hold times. All
/// FakeEnsembles share one clock. Other clocks and sleeps are not virtual. A deadline that is a
/// time point of another clock is converted at the call: it is virtual from then on.
///
/// Determinism. The ensemble waits until all threads of the process sleep. Only then a server
/// executes requests, or a client receives the next message or runs its next timer. So each
/// reaction to an event ends before the next event. When settle() or advance() returns, all threads
/// sleep. Each call whose time has come has returned, and each callback that is due has run, or
/// blocks. advance() waits for that at each moment at which something happens. So a thread that
/// reacts to an event reacts at the time of that event. The speed of the machine has no influence,
/// with two exceptions. Threads that one event wakes can overtake each other, as in production.
/// Outside of settle() and advance(), the servers wait at most 100 ms of real time for threads that
/// run.
///
/// Experimental. The kit must also notice threads of the program under test, so it reads the system
/// calls of all threads in /proc/self/task. A kernel may stop showing them. Then a test fails with
/// that reason, and the interface may change.
///
/// Limits. The servers ignore ClientOptions::digest, tls, max_node_bytes, max_watch_bytes,
/// max_in_flight and the retry delays. They also ignore ClientOptions::acl: every znode has the ACL
/// of AclPolicy::open(), and the servers check that ACL. But AclPolicy::list() turns off announced
/// releases, as in production. A chroot appended to hosts() is refused with Error(invalid_hosts).
/// Empty container znodes are not deleted. Any session timeout is accepted.
///
/// A client of real servers cannot be constructed while a FakeEnsemble exists: its constructor
/// throws Error(unsupported). If it was constructed before, its lease continues in real time, but
/// the deadlines of its calls are virtual.
///
/// Thread-safety: all members, from any thread, except from a LogSink or a logger.
/// REQUIRES: no thread of the process runs without pause, or rest_limit is 0. No client of real
/// servers is used while a FakeEnsemble exists. The process does not run under Valgrind, which lets
/// threads sleep that could run.
class FakeEnsemble {
 public:
  /// Starts the servers, and makes the time virtual.
  explicit FakeEnsemble(FakeEnsembleOptions options = {});
  /// Ends the servers: clients that still exist lose their connection. With the last FakeEnsemble,
  /// LeaseClock becomes real again. Destroy or close the clients first.
  ~FakeEnsemble();
  FakeEnsemble(const FakeEnsemble&) = delete;
  FakeEnsemble& operator=(const FakeEnsemble&) = delete;

  /// Returns the value for ClientOptions::hosts. It never names a real server.
  [[nodiscard]] std::string hosts() const;
  /// Returns a client with these options, after settle(); so it is connected, unless the servers
  /// are stopped. `options.hosts` is replaced.
  [[nodiscard]] std::unique_ptr<Client> client(ClientOptions options = {});
  /// Returns the link of a client of this ensemble. Throws std::invalid_argument for another
  /// client.
  [[nodiscard]] FakeLink link(const Client& client) const;
  /// Returns the link of the client that was constructed as number `index`, from 0. So a test
  /// reaches a client that the code under test owns. Throws std::out_of_range.
  [[nodiscard]] FakeLink link(std::size_t index) const;

  /// Returns the virtual time.
  [[nodiscard]] LeaseClock::time_point now() const noexcept;
  /// Waits until all threads of the process sleep and the servers have nothing to do. No time
  /// passes. Throws std::runtime_error after FakeEnsembleOptions::rest_limit.
  void settle();
  /// Lets that much time pass. Everything on the way happens at its exact time. Throws as settle()
  /// does; then the time has passed up to that moment.
  void advance(LeaseClock::duration duration);
  /// Lets time pass, from event to event, until `fact()` returns true. Returns false if it does not
  /// within `longest` of virtual time. Throws as settle() does.
  [[nodiscard]] bool advance_until(const std::function<bool()>& fact,
                                   LeaseClock::duration longest = std::chrono::minutes(10));
  /// Calls `call()` on another thread, lets time pass while it blocks, and returns its result.
  /// Throws what `call` throws. Throws std::runtime_error if it still blocks after `longest` of
  /// virtual time; then its thread continues without an owner.
  template <class Call>
  auto during(Call call, LeaseClock::duration longest = std::chrono::hours(1)) {
    require_rest();
    std::packaged_task<decltype(call())()> task(std::move(call));
    auto result = task.get_future();
    std::thread(std::move(task)).detach();
    const auto has_ended = [&] {
      return result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    };
    if (!advance_until(has_ended, longest)) throw std::runtime_error("during: the call blocks");
    return result.get();
  }

  /// Stop or start all servers. Znodes and sessions stay; at the start, each session has its whole
  /// timeout again.
  void stop_servers();
  void start_servers();

  // The znodes, as an operator with all permissions sees and changes them. The changes return after
  // settle(). Most return false if ZooKeeper refuses them.
  [[nodiscard]] std::vector<std::string> children(const std::string& path) const;  ///< sorted
  /// Returns the data of the znode; std::nullopt if it does not exist.
  [[nodiscard]] std::optional<std::string> data(const std::string& path) const;
  /// Creates the znode, and its parents if they are missing.
  bool create(const std::string& path, std::string data = {});
  /// Creates a persistent znode with the next sequence number. Its parent must exist. Returns the
  /// path; std::nullopt if ZooKeeper refuses it.
  std::optional<std::string> create_sequential(const std::string& prefix, std::string data = {});
  bool set_data(const std::string& path, std::string data);
  bool remove(const std::string& path);

  /// Describes the ephemeral znodes, and the watches and requests of clients; empty if there are
  /// none. For EXPECT_EQ(ensemble.leftovers(), "") at the end of a test. Does not settle: call
  /// settle() first, so that the requests in flight end.
  [[nodiscard]] std::string leftovers() const;

 private:
  void require_rest() const;

  const std::shared_ptr<detail::FakeServers> servers_;
};

}  // namespace zklock::testing
