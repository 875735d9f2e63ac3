// SPDX-License-Identifier: Apache-2.0
// TLS with a C client that has zookeeper_init_ssl: the stub of this folder.
#include <atomic>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "integration/coordinator_probe.h"
#include "tls/tls_fixture.h"
#include "zklock/client/zookeeper/quirks/tls_files.h"
#include "zklock/testing/servers/expire_session.h"
#include "zklock/testing/servers/free_ports.h"

namespace zklock::testing {
namespace {

class LineList {
 public:
  void add(std::string_view line) {
    const std::lock_guard guard(mutex_);
    text_.append(line).append("\n");
  }
  std::string text() {
    const std::lock_guard guard(mutex_);
    return text_;
  }
  bool contains(std::string_view part) { return text().find(part) != std::string::npos; }

 private:
  std::mutex mutex_;
  std::string text_;
};

TEST_F(TlsTest, CClientWithTheSymbol_IsUsed) {
  Client client(options(SharedServer::hosts()));
  ASSERT_TRUE(client.wait_until_connected(kTestTimeout));
  EXPECT_EQ(std::string(stub_last_files()).rfind(file("one.pem") + "," + file("one.pem"), 0), 0U);
  ReentrantMutex mutex(client, "/tls");
  EXPECT_TRUE(mutex.acquire({.deadline = kTestTimeout}));
}

// zookeeper_init_ssl splits its argument with strtok(), which has one state for all threads.
TEST_F(TlsTest, ClientsOfSeveralThreads_AreOpenedOneByOne) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<Client>(options(SharedServer::hosts())));
  }
  for (const auto& client : clients) EXPECT_TRUE(client->wait_until_connected(kTestTimeout));
  EXPECT_EQ(stub_most_at_once(), 1);
}

// Without a password the C client would wait for one from the terminal.
TEST_F(TlsTest, EmptyPassword_IsReplaced) {
  const auto passed_with = [this](const TlsOptions& tls) {
    ClientOptions changed = options(SharedServer::hosts());
    changed.tls = tls;
    Client client(changed);
    EXPECT_TRUE(client.wait_until_connected(kTestTimeout));
    return std::string(stub_last_files());
  };
  const std::string files = file("one.pem") + "," + file("two.pem") + "," + file("two.key");
  EXPECT_EQ(passed_with(tls("one.pem", "two.pem", "two.key", "sesame")), files + ",sesame");
  EXPECT_EQ(passed_with(tls("one.pem", "one.pem", "one.key")),
            file("one.pem") + "," + file("one.pem") + "," + file("one.key") + ",none");
}

// zookeeper_init_ssl takes no log callback.
TEST_F(TlsTest, LinesOfTheCClient_GoToTheLog) {
  const auto log = std::make_shared<LineList>();
  ClientOptions logged = options(SharedServer::hosts());
  logged.log_sink = [log](LogLevel /*level*/, std::string_view line) { log->add(line); };
  ::testing::internal::CaptureStderr();
  Client client(logged);
  EXPECT_TRUE(client.wait_until_connected(kTestTimeout));
  // The C client is silent until zookeeper_init_ssl returns. So its next line is that of the lost
  // connection.
  expire_session(SharedServer::hosts(), client.session_id());
  EXPECT_TRUE(eventually([&log] { return log->contains("zk retcode="); })) << log->text();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(log->contains("Initiating client connection, host=127.0.0.1:")) << log->text();
}

std::string error_text(const ClientOptions& options) {
  return error_text_of([&] { return std::make_unique<Client>(options); });
}

TEST_F(TlsTest, UnreadableFile_IsNamedAtOnce) {
  ClientOptions missing = options();
  missing.tls->ca_file = "/nowhere/ca.pem";
  EXPECT_EQ(error_text(missing),
            "connect: cannot read the TLS file /nowhere/ca.pem: No such file or directory "
            "[invalid_option]");
  ClientOptions folder = options();
  folder.tls->key_file = "/tmp";
  EXPECT_EQ(error_text(folder),
            "connect: cannot read the TLS file /tmp: Is a directory [invalid_option]");
}

TEST_F(TlsTest, FileWithoutItsPemBlock_IsNamed) {
  const std::string expected =
      "connect: the TLS file " + file("bad.pem") + " contains no PEM block CERTIFICATE";
  ClientOptions bad = options();
  bad.tls->certificate_file = file("bad.pem");
  for (const std::string text : {"", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"}) {
    write("bad.pem", text);
    EXPECT_EQ(error_text(bad), expected + " [invalid_option]");
  }
}

TEST_F(TlsTest, DescriptorsThatSelectCannotHold_AreRefused) {
  const DescriptorLimit more(1025);
  EXPECT_EQ(error_text(options()),
            "connect: the limit of open files is 1025, but the TLS of the ZooKeeper C client would "
            "crash with a descriptor of 1024 or more; lower it (ulimit -Sn 1024), or use a tunnel "
            "[unsupported]");
}

// A C client in a TLS handshake without an answer ignores zookeeper_close.
class HangingCloses {
 public:
  HangingCloses() { stub_hang_closes(1); }
  static void end() { stub_hang_closes(0); }
  ~HangingCloses() {
    end();
    EXPECT_TRUE(eventually([] { return stub_closed() >= stub_opened(); }));
  }
  HangingCloses(const HangingCloses&) = delete;
  HangingCloses& operator=(const HangingCloses&) = delete;
};

TEST_F(TlsTest, CloseThatHangs_IsBounded) {
  const HangingCloses hang;
  Client client(options(SharedServer::hosts()));
  ASSERT_TRUE(client.wait_until_connected(kTestTimeout));
  client.close();
  EXPECT_LT(stub_closed(), stub_opened()) << "the C client still hangs";
}

// Attempts to connect fail while no server uses this port.
class UnusedHost {
 public:
  std::string hosts() const { return "127.0.0.1:" + std::to_string(port_[0]); }
  ClientOptions hurried(ClientOptions options, std::chrono::milliseconds timeout = 300ms) const {
    options.hosts = hosts();
    options.session_timeout = timeout;
    options.retry_delay_max = 200ms;
    return options;
  }

 private:
  const FreePorts port_{1};
};

TEST_F(TlsTest, HandleWithoutConnection_IsReplaced) {
  const HangingCloses hang;
  const UnusedHost unused;
  const int before = stub_opened();
  Client client(unused.hurried(options()));
  EXPECT_TRUE(eventually([&] { return stub_opened() >= before + 3; }));
  client.close();
  EXPECT_LT(stub_closed(), stub_opened()) << "the C client still hangs";
}

TEST_F(TlsTest, HostsSetWhileACloseHangs_ApplyToTheNextSession) {
  const std::string hosts = SharedServer::hosts();  // starts it
  const HangingCloses hang;
  const UnusedHost unused;
  const int before = stub_opened();
  Client client(unused.hurried(options(), 1s));
  ASSERT_TRUE(eventually([&] { return stub_opened() >= before + 2; }));  // the first close hangs
  client.set_hosts(hosts);
  EXPECT_TRUE(client.wait_until_connected(kTestTimeout));
  EXPECT_GE(stub_opened(), before + 3) << "the second handle has the new list";
}

TEST_F(TlsTest, TooManyHangingCloses_StopFurtherAttempts) {
  const HangingCloses hang;
  const UnusedHost unused;
  const int before = stub_opened();
  Client client(unused.hurried(options()));
  ReentrantMutex mutex(client, kPath);
  const std::string expected = "16 TLS handshakes with " + unused.hosts() + " get no answer";
  std::string text;
  EXPECT_TRUE(eventually([&] {
    text = error_text_of([&] { return mutex.acquire({.deadline = 100ms}); });
    return text.find(expected) != std::string::npos;
  })) << text;
  EXPECT_EQ(stub_opened(), before + 16);
  client.set_hosts(SharedServer::hosts());
  EXPECT_FALSE(client.wait_until_connected(1s));
  EXPECT_EQ(stub_opened(), before + 16);
  HangingCloses::end();
  EXPECT_TRUE(client.wait_until_connected(kTestTimeout));
}

// The handler of a reply runs longer than close() waits for the C client.
TEST_F(TlsTest, CloseThatHangs_WaitsForARunningHandler) {
  const HangingCloses hang;
  std::promise<void> runs;
  std::promise<void> closed;
  std::atomic<bool> ended{false};
  client::Probe probe(options(SharedServer::hosts()));
  probe->submit({client::request::Exists{"/"}}, [&](const client::Reply& /*reply*/) {
    runs.set_value();
    EXPECT_EQ(closed.get_future().wait_for(8s), std::future_status::timeout);
    ended = true;
  });
  ASSERT_EQ(runs.get_future().wait_for(kTestTimeout), std::future_status::ready);
  probe->close();
  EXPECT_TRUE(ended);
  closed.set_value();
}

// Checks of the content need OpenSSL.
class TlsContentTest : public TlsTest {
 protected:
  void SetUp() override {
    TlsTest::SetUp();
    if (!client::openssl_is_reachable()) GTEST_SKIP() << "the test is not linked to OpenSSL";
  }
};

TEST_F(TlsContentTest, FilesThatBelongTogether_AreAccepted) {
  EXPECT_EQ(client::tls_file_problem(tls("one.pem", "two.pem", "two.key", "sesame")), "");
  EXPECT_EQ(client::tls_file_problem(tls("two.pem", "one.pem", "one.key")), "");
}

TEST_F(TlsContentTest, KeyOfAnotherCertificate_IsRefused) {
  EXPECT_EQ(
      client::tls_file_problem(tls("one.pem", "two.pem", "one.key")),
      "the TLS key " + file("one.key") + " does not belong to the certificate " + file("two.pem"));
}

TEST_F(TlsContentTest, WrongPassword_IsRefused) {
  for (const std::string password : {"wrong", ""}) {
    EXPECT_EQ(client::tls_file_problem(tls("one.pem", "two.pem", "two.key", password)),
              "the TLS key " + file("two.key") + " cannot be opened with tls.key_password");
  }
}

TEST_F(TlsContentTest, BlockThatIsNoCertificate_IsRefused) {
  write("bad.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  const std::string finds_none =
      "OpenSSL finds no valid certificate in the TLS file " + file("bad.pem");
  EXPECT_EQ(client::tls_file_problem(tls("bad.pem", "one.pem", "one.key")), finds_none);
  EXPECT_EQ(client::tls_file_problem(tls("one.pem", "bad.pem", "one.key")), finds_none);
}

// The C client reads the files for each connection, so they can become invalid later.
TEST_F(TlsTest, FileThatDisappears_IsNamedByTheNextSession) {
  TestServer server;
  server.start();
  ASSERT_TRUE(server.wait_until_serving()) << server.log();
  Client client(options(server.hosts()));
  ASSERT_TRUE(client.wait_until_connected(kTestTimeout));
  std::filesystem::rename(file("one.key"), file("away.key"));
  server.expire_session(client);
  ReentrantMutex mutex(client, kPath);
  std::string text;
  EXPECT_TRUE(eventually([&] {
    text = error_text_of([&] { return mutex.acquire({.deadline = 100ms}); });
    return text.find("cannot read the TLS file " + file("one.key")) != std::string::npos;
  })) << text;
  std::filesystem::rename(file("away.key"), file("one.key"));
  EXPECT_TRUE(mutex.acquire({.deadline = kTestTimeout}));
}

}  // namespace
}  // namespace zklock::testing
