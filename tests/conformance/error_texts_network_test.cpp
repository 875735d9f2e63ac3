// SPDX-License-Identifier: Apache-2.0
// The exact text of every Error that needs real servers, or other programs in their place. The
// other texts are in model/error_texts_test.cpp.
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

#include "conformance/lock_test.h"
#include "support/foreign_listener.h"
#include "zklock/testing/servers/free_ports.h"

namespace zklock::testing {
namespace {

std::string lock_text(Client& client, const std::string& path = kPath) {
  return error_text_of([&] { return ReentrantMutex(client, path).lock(), 0; });
}

// Returns the text with "$MS" for each number of milliseconds.
std::string masked(const std::string& text) {
  return std::regex_replace(text, std::regex("[0-9]+ ms"), "$$MS ms");
}

// ---- no server ----------------------------------------------------------------------------------

class NoServerTexts : public ::testing::Test {
 protected:
  static ClientOptions at(const std::string& hosts) {
    ClientOptions options;
    options.hosts = hosts;
    options.connection_timeout = 1s;
    return options;
  }
  // The text of the first call that knows the cause. A call may end before the C client's answer.
  static std::string lock_text_with(const ClientOptions& options) {
    Client client(options);
    std::string text;
    EXPECT_TRUE(eventually([&] {
      text = lock_text(client);
      return text.find("no session could be opened") == std::string::npos;
    })) << text;
    return text;
  }

  const FreePorts unused_{1};
  const std::string nobody_ = "127.0.0.1:" + std::to_string(unused_[0]);
  const std::string refused_ =
      nobody_ + " refused the connection; check ClientOptions::hosts and the servers";
};

TEST_F(NoServerTexts, Refused_IsExactForEachCall) {
  EXPECT_EQ(masked(lock_text_with(at(nobody_))),
            "lock /lock: no server answered within $MS ms: " + refused_ + " [not_connected]");
  Client client(at(nobody_));
  ReentrantMutex mutex(client, kPath);
  const std::string within = "no server answered within $MS ms: " + refused_ + " [not_connected]";
  const std::string lock = "lock /lock: " + within;
  EXPECT_EQ(masked(error_text_of([&] { return mutex.try_lock(); })), lock);
  EXPECT_EQ(masked(error_text_of([&] { return mutex.acquire({.deadline = 100ms}); })), lock);
  const std::string read = "read the queue of /lock: " + within;
  EXPECT_EQ(masked(error_text_of([&] { return mutex.participants(300ms); })), read);
  EXPECT_EQ(masked(error_text_of([&] { return mutex.participants(); })), read);
  EXPECT_EQ(masked(error_text_of([&] { return request_release(client, kPath); })), read)
      << "it reads the queue first";
}

TEST_F(NoServerTexts, OtherCauses_AreExact) {
  const std::string banner = "SSH-2.0-OpenSSH_9.6p1 Ubuntu-3ubuntu13.5\r\n";
  const std::string page =
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
      "Connection: close\r\n\r\n400 Bad Request";
  const ForeignListener silent;
  const ForeignListener shell(banner, ForeignListener::Then::stay);
  const ForeignListener web(page, ForeignListener::Then::close);
  const ForeignListener closing("", ForeignListener::Then::close);
  const std::string foreign = " is no ZooKeeper server; check ClientOptions::hosts";
  ClientOptions impatient = at(silent.hosts());
  impatient.session_timeout = 300ms;  // the C client waits 200 ms for an answer
  const std::vector<std::pair<ClientOptions, std::string>> rows = {
      {impatient,
       silent.hosts() + " did not answer; check ClientOptions::hosts, the network and the servers"},
      {at(shell.hosts()), shell.hosts() + foreign},
      {at(web.hosts()), web.hosts() + foreign},
      {at(closing.hosts()),
       closing.hosts() + " closed the connection; check its quorum, its limit of "
                         "connections (maxClientCnxns), and whether it lags or was restored"},
      {at("no-such-host.invalid:2181"),
       "none of the hosts no-such-host.invalid:2181 could be resolved; check "
       "ClientOptions::hosts"},
  };
  std::vector<std::future<std::string>> texts;
  for (const auto& row : rows) {
    texts.push_back(in_thread([&row] { return lock_text_with(row.first); }));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(masked(get(texts[i])), "lock /lock: no server answered within $MS ms: " +
                                         rows[i].second + " [not_connected]");
  }
}

class LostServerTexts : public OwnServerTest {};

TEST_F(LostServerTexts, ServerEndsAfterTheConnection_IsExact) {
  const auto client = connect();
  ReentrantMutex mutex(*client, kPath);
  const std::string hosts = server_.hosts();
  server_.kill();
  ASSERT_TRUE(eventually([&] { return !client->is_connected(); }, kTestTimeout));
  EXPECT_EQ(masked(error_text_of([&] { return mutex.acquire({.deadline = 2s}); })),
            "lock /lock: no server answered within $MS ms: the connection to " + hosts +
                " has been lost for $MS ms: " + hosts +
                " refused the connection; check ClientOptions::hosts and the servers "
                "[not_connected]");
}

// ---- chroot and caps ----------------------------------------------------------------------------

class ServerTexts : public LockTest {
 protected:
  std::unique_ptr<Client> connect_as_orders() const {
    ClientOptions with = options();
    with.digest = DigestCredential{"orders", "sesame"};
    return connect(with);
  }
  // Creates the znode, or sets the ACL of an existing one, so that every client has `permissions`.
  void permit(const std::string& path, int permissions) {
    ACL entry{permissions, ZOO_ANYONE_ID_UNSAFE};
    const ACL_vector acl{1, &entry};
    if (raw().create(path, {}, 0, acl).rc == ZOK) return;
    ASSERT_EQ(raw().set_acl(path, acl), ZOK);
  }
  static std::string refused(const std::string& operation, const std::string& path,
                             const std::string& permission) {
    return operation + ": the ACL of " + path + " does not permit " + permission +
           " with the credential digest:orders [no_auth]";
  }
  const int all_ = ZOO_PERM_ALL;
};

TEST_F(ServerTexts, Caps_AreExact) {
  const auto other = connect();
  const Hold hold = ReentrantMutex(*other, kPath).acquire();
  ClientOptions few = options();
  few.max_node_bytes = 10;
  const std::string advice = "use fewer locks at once, or another Client";
  EXPECT_EQ(lock_text(*connect(few)),
            "lock /lock: the session's znodes have reached ClientOptions::max_node_bytes (10 "
            "bytes); " +
                advice + " [too_many_nodes]");
  few = options();
  few.max_watch_bytes = 10;
  EXPECT_EQ(lock_text(*connect(few)),
            "lock /lock: the session's watches have reached ClientOptions::max_watch_bytes (10 "
            "bytes); " +
                advice + " [too_many_watches]");
}

TEST_F(ServerTexts, EphemeralParent_IsExact) {
  ASSERT_EQ(raw().create("/brief", {}, ZOO_EPHEMERAL).rc, ZOK);
  const auto client = connect();
  for (const std::string path : {"/brief", "/brief/a", "/brief/a/b"}) {
    EXPECT_EQ(lock_text(*client, path),
              "lock " + path +
                  ": /brief is an ephemeral znode, which cannot have children; use another path "
                  "[server_error]");
  }
}

// ---- permissions --------------------------------------------------------------------------------

TEST_F(ServerTexts, AnotherPassword_IsExact) {
  ClientOptions own = options();
  own.digest = DigestCredential{"orders", "right"};
  own.acl = AclPolicy::creator_all();
  const auto owner = connect(own);
  const Hold hold = ReentrantMutex(*owner, kPath).acquire();
  EXPECT_EQ(lock_text(*connect_as_orders()), refused("lock /lock", "/lock", "CREATE"));
  EXPECT_EQ(lock_text(*connect()),
            "lock /lock: the ACL of /lock does not permit CREATE without a credential; set "
            "ClientOptions::digest [no_auth]");
}

TEST_F(ServerTexts, ClosedAncestors_NearestIsNamed) {
  permit("/x", all_);
  permit("/x/y", ZOO_PERM_READ);
  permit("/x", ZOO_PERM_READ);
  const auto client = connect_as_orders();
  EXPECT_EQ(lock_text(*client, "/x/a"), refused("lock /x/a", "/x", "CREATE"));
  EXPECT_EQ(lock_text(*client, "/x/a/b"), refused("lock /x/a/b", "/x", "CREATE"));
  EXPECT_EQ(lock_text(*client, "/x/y/a"), refused("lock /x/y/a", "/x/y", "CREATE"));
}

TEST_F(ServerTexts, ClosedChroot_IsExact) {
  permit("/apps", ZOO_PERM_READ);
  ClientOptions below = options();
  below.hosts += "/apps";
  EXPECT_EQ(lock_text(*connect(below)),
            "lock /lock: the ACL of the chroot " + chroot_.path() +
                "/apps does not permit CREATE without a credential; set ClientOptions::digest "
                "[no_auth]");
}

TEST_F(ServerTexts, NoRead_IsExact) {
  permit(kPath, all_);
  ASSERT_EQ(raw().create(kPath + "/lock-", {}, ZOO_EPHEMERAL_SEQUENTIAL).rc, ZOK);
  permit(kPath, all_ & ~ZOO_PERM_READ);
  const auto client = connect_as_orders();
  SharedMutex mutex(*client, kPath);
  EXPECT_EQ(error_text_of([&] { return mutex.lock(), 0; }), refused("lock /lock", "/lock", "READ"));
  EXPECT_EQ(error_text_of([&] { return mutex.participants(); }),
            refused("read the queue of /lock", "/lock", "READ"));
}

TEST_F(ServerTexts, NoDelete_IsExactUntilPermitted) {
  const auto client = connect_as_orders();
  ReentrantMutex mutex(*client, kPath);
  Hold hold = mutex.acquire();
  const std::string node = hold.node();
  permit(kPath, all_ & ~ZOO_PERM_DELETE);
  hold.release();
  EXPECT_FALSE(client->flush());
  EXPECT_EQ(lock_text(*client),
            "lock /lock: the ACL of /lock does not permit DELETE with the credential "
            "digest:orders, so this client's znode " +
                node + " stays; permit DELETE, or close the client [no_auth]");
  EXPECT_EQ(raw().exists(node).rc, ZOK);
  EXPECT_FALSE(client->flush());
  permit(kPath, all_);
  EXPECT_TRUE(client->flush());
  EXPECT_EQ(raw().exists(node).rc, ZNONODE);
  EXPECT_EQ(lock_text(*client), "");
}

TEST_F(ServerTexts, NoCreateOrWrite_IsExactForOtherCalls) {
  const auto client = connect_as_orders();
  LeaderLatch latch(*client, kPath);
  latch.start();
  ASSERT_TRUE(eventually([&] { return latch.has_leadership(); }, kTestTimeout));
  permit(kPath + "/count", ZOO_PERM_READ);
  permit(kPath, all_ & ~ZOO_PERM_CREATE);
  EXPECT_EQ(error_text_of([&] { return latch.leadership().proclaim("x"), 0; }),
            refused("create /lock/proclaimed-0000000000", "/lock", "CREATE"));
  EXPECT_EQ(error_text_of([&] { return request_release(*client, kPath); }),
            refused("request the release of /lock", "/lock", "CREATE"));
  Semaphore semaphore(*client, kPath, SharedCount{.initial = 2});
  EXPECT_EQ(error_text_of([&] { return semaphore.set_permits(3), 0; }),
            refused("set the permits of /lock", "/lock/count", "WRITE"));
}

class SaslText : public ::testing::Test, protected StartedServer {
 protected:
  static TestServerOptions requiring_sasl() {
    TestServerOptions requiring;
    requiring.extra_jvm_flags = {
        "-Dzookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
        "-Dzookeeper.sessionRequireClientSASLAuth=true"};
    return requiring;
  }
  SaslText() : StartedServer(requiring_sasl()) {}
};

TEST_F(SaslText, IsExactForEachCall) {
  const std::string cause =
      "the servers require an authentication scheme that zklock does not support, such as SASL; "
      "in zoo.cfg of the servers, remove sessionRequireClientSASLAuth, or add digest to "
      "enforce.auth.schemes and set ClientOptions::digest";
  ClientOptions without;
  without.hosts = server_.hosts();
  Client client(without);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(lock_text(client), "lock /lock: " + cause + " [auth_failed]");
  }
  EXPECT_EQ(error_text_of([&] { return client.wait_until_connected(); }),
            "connect " + server_.hosts() + ": " + cause + " [auth_failed]");
  const Health health = client.health();
  ASSERT_EQ(health.problems.size(), 1U);
  EXPECT_EQ(health.state, HealthState::failed);
  EXPECT_EQ(health.problems.front().text, cause);
}

// ---- unlock() and the end of objects ------------------------------------------------------------

class UnlockTexts : public LockTest {
 protected:
  std::string unlock_text() {
    return error_text_of([&] { return mutex_.unlock(), 0; });
  }
  const std::unique_ptr<Client> client_ = connect();
  SharedMutex mutex_{*client_, kPath};
};

TEST_F(UnlockTexts, AnotherThreadHolds_IsExact) {
  std::promise<std::string> owner;
  std::promise<void> end;
  auto holder = in_thread([&] {
    ::pthread_setname_np(::pthread_self(), "worker-2");
    mutex_.lock();
    owner.set_value(Owner::this_thread().to_string());
    end.get_future().wait();
    mutex_.unlock();
  });
  const std::string holder_owner = owner.get_future().get();
  EXPECT_EQ(unlock_text(), "unlock /lock: this thread does not hold the lock; the owner " +
                               holder_owner +
                               " (thread \"worker-2\") of this client does [not_owner]");
  end.set_value();
  get(holder);
}

TEST_F(UnlockTexts, ThreadHoldsOtherwise_IsExact) {
  EXPECT_EQ(unlock_text(),
            "unlock /lock: this thread does not hold the lock, and no other owner of this client "
            "does [not_owner]");
  Hold hold = mutex_.acquire();
  const std::string by_hold =
      "this thread holds the lock by a Hold, not by lock(); release the Hold [not_owner]";
  EXPECT_EQ(unlock_text(), "unlock /lock: " + by_hold);
  EXPECT_EQ(error_text_of([&] { return mutex_.unlock_shared(), 0; }),
            "unlock shared /lock: " + by_hold);
  hold.release();
  mutex_.lock_shared();
  EXPECT_EQ(unlock_text(),
            "unlock /lock: this thread holds a read lock, not a write lock; call unlock_shared() "
            "[not_owner]");
  mutex_.unlock_shared();
  mutex_.lock();
  EXPECT_EQ(error_text_of([&] { return mutex_.unlock_shared(), 0; }),
            "unlock shared /lock: this thread holds a write lock, not a read lock; call unlock() "
            "[not_owner]");
  mutex_.unlock();
}

TEST_F(UnlockTexts, DestroyedWhileWaiting_EndsOnlyItsCalls) {
  const auto other = connect();
  const Hold hold = ReentrantMutex(*other, kPath).acquire();
  auto mutex = std::make_unique<ReentrantMutex>(*client_, kPath);
  auto waiting = mutex->async_acquire();
  ASSERT_TRUE(reaches_nodes(2));
  auto of_another_object = mutex_.async_acquire();
  ASSERT_TRUE(reaches_nodes(3));
  mutex.reset();
  EXPECT_EQ(error_text_of([&] { return get(waiting); }),
            "lock /lock: the mutex was destroyed meanwhile [closed]");
  EXPECT_TRUE(reaches_nodes(2));
  EXPECT_FALSE(is_ready(of_another_object));
}

}  // namespace
}  // namespace zklock::testing
