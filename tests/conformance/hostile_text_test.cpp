// SPDX-License-Identifier: Apache-2.0
// Text of other clients is escaped before it reaches a log or a terminal, and no output contains a
// secret.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>
#include <iconv.h>

#include "conformance/lock_test.h"
#include "conformance/log_capture.h"
#include "zklock/testing/servers/expire_session.h"
#include "zklock/testing/servers/super_digest.h"

namespace zklock::testing {
namespace {

// Colour codes, a window title, line ends, C1 controls and invalid UTF-8: truncated, overlong, a
// surrogate.
const std::string kHostile =
    "\x1b[31m\x1b]0;owned\x07\r\nforged: line\t\x7f\xc2\x9b"
    "2J\xff\xfe\xc0\xaf\xed\xa0\x80\xe2\x82";

// Decodes UTF-8 with the C library, as a second opinion. Returns nullopt if the text is invalid.
std::optional<std::u32string> characters(std::string_view text) {
  struct Converter {
    iconv_t handle = ::iconv_open("UTF-32LE", "UTF-8");
    ~Converter() { ::iconv_close(handle); }
  } converter;
  std::u32string result(text.size(), U'\0');
  char* from = const_cast<char*>(text.data());
  std::size_t left = text.size();
  char* to = reinterpret_cast<char*>(result.data());
  std::size_t room = result.size() * sizeof(char32_t);
  if (::iconv(converter.handle, &from, &left, &to, &room) == static_cast<std::size_t>(-1)) {
    return std::nullopt;
  }
  result.resize(result.size() - room / sizeof(char32_t));
  return result;
}

::testing::AssertionResult is_harmless(std::string_view text) {
  const auto all = characters(text);
  if (!all) {
    return ::testing::AssertionFailure() << "not UTF-8: " << ::testing::PrintToString(text);
  }
  for (const char32_t c : *all) {
    if (c >= 0x20 && (c < 0x7f || c > 0x9f)) continue;
    return ::testing::AssertionFailure() << "control: " << ::testing::PrintToString(text);
  }
  return ::testing::AssertionSuccess();
}

TEST(HostileText, ControlsAndInvalidUtf8_AreDetectedAsHarmful) {
  EXPECT_TRUE(is_harmless("lock /a\xc3\xa4\xe2\x82\xac: no [invalid_path]"));
  EXPECT_TRUE(is_harmless(""));
  for (const std::string text : {"\x1b", "a\nb", "\x7f", "\xc2\x9b", "\xff", "\xc0\xaf", "\xe2"}) {
    EXPECT_FALSE(is_harmless(text)) << ::testing::PrintToString(text);
  }
}

class Hostile : public LockTest {
 protected:
  Hostile() {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    ClientOptions hostile = options();
    hostile.logger = log_.logger();
    hostile.application = kHostile;
    client_ = connect(hostile);
  }
  ~Hostile() override {
    EXPECT_TRUE(client_->flush(kTestTimeout));
    client_->close();
    for (const std::string& line : log_.lines()) EXPECT_TRUE(is_harmless(line));
    EXPECT_FALSE(log_.lines().empty());
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  }

  // Creates a foreign contender whose data have zklock's format but hostile values.
  void contend(const std::string& path, const std::string& prefix) {
    std::string data = "zklock 1\n";
    for (const char* key : {"attempt", "owner", "host", "thread", "application", "label", "note",
                            "pid", "token", "since", "bound"}) {
      data += std::string(key) + "=x" + kHostile + "\n";
    }
    (void)raw().create(path);
    EXPECT_EQ(raw().create(path + "/" + prefix, data, ZOO_EPHEMERAL_SEQUENTIAL).rc, ZOK);
  }
  static void expect_harmless(const Participant& p) {
    for (const auto& text : {p.node, p.owner, p.host, p.application, p.thread, p.label, p.note}) {
      EXPECT_TRUE(is_harmless(text));
    }
    EXPECT_TRUE(is_harmless(to_string(p)));
  }
  static void expect_harmless(const std::vector<Participant>& all) {
    for (const Participant& p : all) expect_harmless(p);
  }
  // Checks that `call` throws an Error, and that its text is harmless.
  template <class Call>
  static void expect_harmless_error(Call call) {
    const std::string text = error_text_of(call);
    EXPECT_NE(text, "") << "no error";
    EXPECT_TRUE(is_harmless(text));
  }

  const LogCapture log_;
  std::unique_ptr<Client> client_;
};

TEST_F(Hostile, DataOfForeignContenders_IsEscaped) {
  const std::string path = "/foreign";
  for (const char* prefix : {"lock-", "__WRIT__", "__READ__", "_c_\xe2\x82\xac-lock-"}) {
    contend(path, prefix);  // the last name is no contender's
  }
  ReentrantMutex mutex(*client_, path);
  EXPECT_FALSE(mutex.try_lock());
  EXPECT_EQ(mutex.participants().size(), 3U);
  expect_harmless(mutex.participants());
  EXPECT_EQ(mutex.participants()[0].owner.front(), 'x') << "the owner is reported, shortened";
  const LockState state = LockObserver(*client_, path).state();
  ASSERT_FALSE(state.holders.empty());
  expect_harmless(state.holders);
  EXPECT_TRUE(is_harmless(to_string(state)));
  const ElectionState election = ElectionObserver(*client_, path).state();
  ASSERT_TRUE(election.leader.has_value());
  EXPECT_EQ(election.value, std::nullopt);
  expect_harmless(*election.leader);
  const auto leader = LeaderLatch(*client_, path).leader();
  ASSERT_TRUE(leader.has_value());
  expect_harmless(*leader);
  EXPECT_FALSE(request_release(*client_, path, {.deadline = Deadline::passed()}));

  contend("/permits", "permits-1-of-9-");
  Semaphore semaphore(*client_, "/permits", 2);
  expect_harmless_error([&] { return semaphore.acquire(); });
  expect_harmless(semaphore.participants());
  contend("/weights", "weight-5-age-7-");
  PriorityMutex priority(*client_, "/weights");
  expect_harmless_error([&] { priority.lock(); });
  expect_harmless(priority.participants());
}

TEST_F(Hostile, HostileZnodeNames_AreRefusedOrEscaped) {
  ASSERT_EQ(raw().create(kPath).rc, ZOK);
  const ReentrantMutex mutex(*client_, kPath);
  int taken = 0;
  for (const std::string& part : {std::string("\x1b[31m"), std::string("a\nb"),
                                  std::string("\xc2\x9b"), std::string("\xff\xfe"), kHostile}) {
    for (const std::string& prefix :
         {"_c_" + part + "-lock-", "delay-" + part, part + "release-request-"}) {
      const auto made = raw().create(kPath + "/" + prefix, kHostile, ZOO_EPHEMERAL_SEQUENTIAL);
      if (made.rc == ZOK) ++taken;
    }
  }
  expect_harmless(mutex.participants());
  expect_harmless(LockObserver(*client_, kPath).state().holders);
  EXPECT_EQ(taken, 0) << "then the servers have become more generous; what is above still counts";
}

// ---- secrets ------------------------------------------------------------------------------------

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The command lines of all processes, including every child, and the environment that children
// inherit.
std::string command_lines() {
  std::string all = content("/proc/self/environ");
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    all += content(entry.path() / "cmdline");
  }
  return all;
}

// Uses the ensemble as a client that has the secret would.
class Secret : public LockTest {
 protected:
  // Returns the names and data of all znodes. ACLs are not included.
  std::string all_nodes(const std::string& path = "/") {
    std::string all = path + "\n" + super_.get_data(path).data + "\n";
    for (const std::string& name : super_.children(path).names) {
      all += all_nodes((path == "/" ? "" : path) + "/" + name);
    }
    return all;
  }
  const std::string secret_ = "correct-horse-" + Owner::unique().to_string();
  const LogCapture log_;
  RawClient super_{chroot_.hosts()};
};

TEST_F(Secret, DigestCredential_IsInNoLogErrorZnodeOrCommandLine) {
  ASSERT_EQ(super_.add_digest(std::string(kSuperDigest)), ZOK);
  ClientOptions with_secret = options();
  with_secret.logger = log_.logger();
  with_secret.digest = DigestCredential{"orders", secret_};
  with_secret.acl = AclPolicy::creator_all();
  const auto client = connect(with_secret);
  const Hold hold = ReentrantMutex(*client, kPath).acquire();
  LeaderLatch latch(*client, "/leader");
  latch.start();
  ASSERT_TRUE(latch.wait_until_leader(kTestTimeout));
  latch.leadership().proclaim("here");
  expire_session(chroot_.hosts(), client->session_id());
  ASSERT_TRUE(eventually([&] { return hold.state() == HoldState::lost; }, kTestTimeout));
  ASSERT_TRUE(latch.wait_until_leader(kTestTimeout));
  const Hold again = ReentrantMutex(*client, kPath).acquire({.owner = Owner::unique()});
  with_secret.digest->user = "or:ders";
  const std::string error = error_text_of([&] { return std::make_unique<Client>(with_secret); });

  const auto acl = super_.get_acl(kPath);
  ASSERT_EQ(acl.entries.size(), 1U);
  const std::string digest = acl.entries[0].id.substr(std::string("orders:").size());
  ASSERT_EQ(digest.size(), 28U) << "base64 of a SHA-1";
  const std::string own = super_.get_acl(again.node()).entries.at(0).id;

  EXPECT_NE(error, "");
  EXPECT_TRUE(log_.contains("zklock: session 0x"));
  EXPECT_TRUE(log_.contains("Sending request")) << "the C client's own, and its most talkative";
  for (const std::string& text : {log_.text(), error, all_nodes(), command_lines()}) {
    EXPECT_NE(text, "");
    for (const std::string& secret : {secret_, digest, own}) {
      EXPECT_EQ(text.find(secret), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace zklock::testing
