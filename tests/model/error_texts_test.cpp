// SPDX-License-Identifier: Apache-2.0
// The exact text of every Error that needs no server, or only simulated ones. The texts that need
// real servers are in conformance/error_texts_network_test.cpp.
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/path_lock_fixture.h"
#include "zklock/client/zookeeper/zk_handle.h"
#include "zklock/core/znode_name.h"
#include "zklock/zklock.h"

namespace zklock::model {
namespace {

template <class Call>
std::string text_of(Call&& call) {
  try {
    static_cast<void>(std::forward<Call>(call)());
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// ---- without a server ---------------------------------------------------------------------------

zklock::ClientOptions nowhere() {
  zklock::ClientOptions options;
  options.hosts = "127.0.0.1:1";
  return options;
}

// The unit test of LockPath has the other texts.
TEST(ErrorTexts, BadPath_IsExact) {
  Client client(nowhere());
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"/a/", "lock /a/: the path ends with a slash [invalid_path]"},
      {"/a//b", "lock /a//b: the path has an empty component [invalid_path]"},
      {"/a/./b", "lock /a/./b: the path has a \".\" component [invalid_path]"},
      {"/a/../b", "lock /a/../b: the path has a \"..\" component [invalid_path]"},
      {"/zookeeper/a", "lock /zookeeper/a: /zookeeper is reserved for the servers [invalid_path]"},
  };
  for (const auto& [path, expected] : rows) {
    EXPECT_EQ(text_of([&, &given = path] { return ReentrantMutex(client, given).path(); }),
              expected);
  }
}

TEST(ErrorTexts, BadClientOption_IsExact) {
  using Change = std::function<void(zklock::ClientOptions&)>;
  const std::vector<std::pair<Change, std::string>> rows = {
      {[](auto& o) { o.hosts = ""; }, "connect: the connection string is empty [invalid_hosts]"},
      {[](auto& o) { o.hosts = "db1"; },
       "connect db1: the port is missing in \"db1\"; write db1:2181 [invalid_hosts]"},
      {[](auto& o) { o.hosts = "[::1]"; },
       "connect [::1]: the port is missing in \"[::1]\"; write [::1]:2181 [invalid_hosts]"},
      {[](auto& o) { o.session_timeout = 1ms; },
       "connect: session_timeout is 1 ms, and must be from 100 to 3600000 ms [invalid_option]"},
      {[](auto& o) { o.acl = AclPolicy::creator_all(); },
       "connect: AclPolicy::creator_all() needs ClientOptions::digest [invalid_acl]"},
  };
  for (const auto& [change, expected] : rows) {
    zklock::ClientOptions options = nowhere();
    change(options);
    EXPECT_EQ(text_of([&] { return std::make_unique<Client>(options); }), expected);
  }
}

TEST(ErrorTexts, TlsThatTheCClientLacks_IsExact) {
  if (client::tls_supported()) GTEST_SKIP() << "the C client has TLS";
  zklock::ClientOptions options = nowhere();
  options.tls =
      TlsOptions{.ca_file = "a", .certificate_file = "b", .key_file = "c", .key_password = ""};
  EXPECT_EQ(text_of([&] { return std::make_unique<Client>(options); }),
            "connect: the ZooKeeper C client was built without TLS; rebuild it with OpenSSL, or "
            "use a tunnel [unsupported]");
}

TEST(ErrorTexts, BadLockOption_IsExact) {
  Client client(nowhere());
  Semaphore semaphore(client, "/a", 8);
  const std::vector<std::pair<std::function<void()>, std::string>> rows = {
      {[&] { const ReentrantMutex mutex(client, "/a", {.max_hold = 0ms}); },
       "lock /a: the maximum hold time must be positive, not 0 ms [invalid_option]"},
      {[&] { const ReentrantMutex mutex(client, "/a", {.lock_delay = -1ms}); },
       "lock /a: the lock delay must be 0 to 24 hours, not -1 ms [invalid_option]"},
      {[&] { const Permit permit = semaphore.acquire(9); },
       "acquire /a: a call can acquire from 1 to 8 permits, not 9 [invalid_option]"},
      {[&] {
         const MultiMutex mutex(client, std::vector<std::string>{"/a", "/b", "/a"});
       },
       "lock /a: the path is given twice [invalid_option]"},
  };
  for (const auto& [call, expected] : rows) {
    EXPECT_EQ(text_of([&failing = call] { return failing(), 0; }), expected);
  }
}

TEST(ErrorTexts, ClosedClient_IsExact) {
  Client client(nowhere());
  ReentrantMutex mutex(client, "/a");
  client.close();
  EXPECT_EQ(text_of([&] { return mutex.try_lock(); }), "lock /a: the client was closed [closed]");
  EXPECT_EQ(text_of([&] { return mutex.participants(); }),
            "read the queue of /a: the client was closed [closed]");
}

TEST(ErrorTexts, UnlockedMutex_IsExact) {
  Client client(nowhere());
  Mutex mutex(client, "/a");
  EXPECT_EQ(text_of([&] { return mutex.unlock(), 0; }),
            "unlock /a: this object does not hold the lock by lock() [not_owner]");
}

// ---- with simulated servers ---------------------------------------------------------------------

class ErrorTextsOnSimulation;

struct Row {
  std::string name;
  /// Makes a call fail, and returns the index of the call.
  std::function<std::size_t(ErrorTextsOnSimulation&)> fail;
  std::string expected;  ///< without "lock /locks/a: "
  friend std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }
};

class ErrorTextsOnSimulation : public PathLockTest, public ::testing::WithParamInterface<Row> {
 public:
  using PathLockTest::child;
  using PathLockTest::client;
  using PathLockTest::ensemble;
  using PathLockTest::granted;
  using PathLockTest::lock_;
  using PathLockTest::run;
  using PathLockTest::run_for;
  using PathLockTest::waiting;

  void TearDown() override {}  // the rows leave what makes their calls fail
  std::size_t failing(std::size_t c, Request request = {}) {
    const std::size_t call = lock_.acquire(c, std::move(request));
    run();
    return call;
  }
  /// Acquires, calls `lose`, and acquires again.
  template <class Lose>
  std::size_t after_loss(Lose lose, Request request = {}) {
    granted(0, request);
    lose();
    run_for(5s);
    return failing(0, request);
  }
  std::size_t refused(Status status) {
    client(0).fail_next(OperationKind::create_contender, status);
    return failing(0);
  }
};

TEST_P(ErrorTextsOnSimulation, IsExact) {
  const std::size_t call = GetParam().fail(*this);
  const auto& error = lock_.call(call).error;
  ASSERT_TRUE(error);
  EXPECT_EQ(error->what(), "lock /locks/a: " + GetParam().expected);
}

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"Upgrade",
       [](auto& t) {
         const Owner owner = Owner::unique();
         t.granted(0, LockWorld::to_read(owner));
         return t.failing(0, LockWorld::to_write(owner));
       },
       "this owner holds a read lock here, and would wait for itself; unlock it first "
       "[would_deadlock]"},
      {"OtherCount",
       [](auto& t) {
         t.granted(0, LockWorld::permits(1, 4));
         return t.failing(1, LockWorld::permits(1, 8));
       },
       "a contender ahead is set to 4 permits, this contender to 8 permits; use equal settings "
       "[settings_mismatch]"},
      {"BadCount",
       [](auto& t) {
         t.lock_.say_permits(2);
         t.ensemble().set_data(LockWorld::count_path(), "many");
         return t.failing(0, LockWorld::shared_permits(1, 2));
       },
       "the znode count has the data \"many\", which is not a permit count; call set_permits() "
       "[bad_data]"},
      {"CounterEnd",
       [](auto& t) {
         EXPECT_EQ(t.ensemble().create(t.child("notes")), Status::ok);
         t.ensemble().set_counter(LockWorld::kPath, core::kFirstUnusableSequence.value);
         return t.failing(0);
       },
       "the sequence counter of the path is exhausted, and the path cannot be recreated while it "
       "has the child \"notes\"; delete that child [sequence_exhausted]"},
      {"NextNameTaken",
       [](auto& t) {
         const auto next = t.ensemble().find(LockWorld::kPath)->counter + 1;
         const auto name = core::ZnodeName::make("lock-", {next}).text;
         EXPECT_EQ(next, 2);
         EXPECT_EQ(t.ensemble().create(std::string(LockWorld::kPath) + "/" + name), Status::ok);
         return t.failing(0);
       },
       "another program made the znode lock-0000000002 with the next sequence number of the path; "
       "delete that znode, or create and delete another child of the path [node_exists]"},
      {"Quota", [](auto& t) { return t.refused(Status::quota_exceeded); },
       "a quota of the servers does not permit the znode; see listquota [quota_exceeded]"},
      {"ServerError", [](auto& t) { return t.refused(Status::server_error); },
       "server error [server_error]"},
      {"LeaseExpired", [](auto& t) { return t.after_loss([&] { t.client(0).cut_off(); }); },
       "this owner's earlier hold was lost (the lease expired); unlock it first [lock_lost]"},
      {"SessionOfHoldEnded",
       [](auto& t) { return t.after_loss([&] { t.lock_.world().expire(0); }); },
       "this owner's earlier hold was lost (the session ended); unlock it first [lock_lost]"},
      {"ZnodeOfHoldDeleted",
       [](auto& t) {
         return t.after_loss([&] {
           t.run_for(1s);  // until the watch on the contender's znode is set
           EXPECT_EQ(t.ensemble().remove(t.lock_.call(1).node), Status::ok);
         });
       },
       "this owner's earlier hold was lost (the znode was deleted); unlock it first [lock_lost]"},
      {"HoldTimeEnded", [](auto& t) { return t.after_loss([] {}, {.limit = {.longest = 1s}}); },
       "this owner's earlier hold was lost (the maximum hold time ended); unlock it first "
       "[lock_lost]"},
      {"ReadOnly", [](auto& t) { return t.refused(Status::read_only); },
       "the server has no quorum, and serves only reads [read_only]"},
      {"SessionEnded",
       [](auto& t) {
         t.granted(1);
         const std::size_t call = t.waiting(0, {.queue_again = false});
         t.lock_.world().expire(0);
         t.run();
         return call;
       },
       "the session ended while the call waited [session_expired]"},
      {"ZnodeDeleted",
       [](auto& t) {
         t.granted(1);
         const std::size_t call = t.waiting(0, {.queue_again = false});
         EXPECT_EQ(t.ensemble().remove(t.child("lock-0000000002")), Status::ok);
         t.run_for(10s);  // until the watch on the contender's znode is set
         return call;
       },
       "another client deleted the waiting znode lock-0000000002; acquire again [node_deleted]"},
      {"Closed",
       [](auto& t) {
         t.granted(1);
         const std::size_t call = t.waiting(0);
         t.lock_.core(0).close();
         t.run();
         return call;
       },
       "the client was closed [closed]"},
  };
  return kRows;
}

INSTANTIATE_TEST_SUITE_P(Rows, ErrorTextsOnSimulation, ::testing::ValuesIn(rows()),
                         [](const auto& row) { return row.param.name; });

// ---- unlock() without a count -------------------------------------------------------------------

class NotOwnerTexts : public PathLockTest {
 protected:
  /// Returns the text for unlock() by the owner of this call.
  std::string text_for(std::size_t call) {
    return text_of([&] {
      lock_.path_lock(0)->refuse_unlock(lock_.call(call).owner, core::CountKind::lock, "unlock");
    });
  }
};

TEST_F(NotOwnerTexts, ReadLock_IsNamed) {
  auto read = LockWorld::to_read();
  read.kind = core::CountKind::shared_lock;
  const auto reader = granted(0, read);
  EXPECT_EQ(text_for(reader),
            "unlock /locks/a: this thread holds a read lock, not a write lock; call "
            "unlock_shared() [not_owner]");
}

TEST_F(NotOwnerTexts, Permits_AreNamedOnlyWhileHeld) {
  const auto holder = granted(0, LockWorld::permits(2, 2));
  const auto waiter = waiting(0, LockWorld::permits(1, 2));
  EXPECT_EQ(text_for(holder),
            "unlock /locks/a: this thread holds permits of the path, not the lock; unlock the "
            "MultiMutex [not_owner]");
  EXPECT_TRUE(text_for(waiter).starts_with(
      "unlock /locks/a: this thread does not hold the lock; the owner "))
      << text_for(waiter);
}

}  // namespace
}  // namespace zklock::model
