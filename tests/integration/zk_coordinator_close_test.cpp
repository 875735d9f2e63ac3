// SPDX-License-Identifier: Apache-2.0
// Closing a coordinator, and what programs that exec starts inherit. A request that is submitted while
// memory runs out.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <future>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "integration/coordinator_probe.h"
#include "support/raw_client.h"
#include "support/scarce_memory.h"
#include "support/shared_server.h"
#include "support/test_chroot.h"
#include "zklock/testing/servers/expire_session.h"
#include "zklock/testing/servers/free_ports.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::client {
namespace {

using testing::eventually;
using testing::RawClient;
using testing::ScarceMemory;
using testing::SharedServer;
using testing::TestChroot;
using Kind = Event::Kind;

Operation some_operation(Probe& probe, int i) {
  switch (i % 3) {
    case 0: return rq::Exists{"/p"};
    case 1: return rq::CreateContender{"/p", "lock-", ""};
    default: return probe.watch(i, "/p");
  }
}

TEST(ZkCoordinatorClose, CloseWithRequestsInFlight_RepliesOnceToEach) {
  const TestChroot chroot(SharedServer::hosts());
  ASSERT_EQ(RawClient(chroot.hosts()).create("/p").rc, ZOK);
  constexpr int kRequests = 200;
  // close() waits up to one second for requests in flight. If that is too short, the servers may
  // not receive the end of the session.
  std::set<std::int64_t> slow_sessions;
  for (int round = 0; round < 50; ++round) {
    ClientOptions options = Probe::with(chroot.hosts());
    options.session_timeout = std::chrono::seconds(60);
    options.max_in_flight = round % 2 == 0 ? 2'000 : 20;
    std::vector<std::atomic<int>> replies(kRequests);
    std::atomic<int> late = 0;
    std::atomic<bool> closed = false;
    {
      Probe probe(options);
      const SessionId session = probe.session();
      for (int i = 0; i < kRequests; ++i) {
        probe->submit({some_operation(probe, i)}, [&, i](const Reply& reply) {
          ++replies[static_cast<std::size_t>(i)];
          if (reply.status != Status::ok && reply.status != Status::closed) ++late;
          if (closed) ++late;
        });
        // Between "no reply has arrived" and "all replies have arrived".
        if (i == round * 4) (void)probe->connection_problem();
      }
      const Instant begun = LeaseClock::now();
      probe->close();
      closed = true;
      if (LeaseClock::now() - begun >= std::chrono::seconds(1)) slow_sessions.insert(session.value);
      EXPECT_EQ(probe.journal().last(Kind::ended).status, Status::closed);
    }
    for (int i = 0; i < kRequests; ++i) EXPECT_EQ(replies[static_cast<std::size_t>(i)], 1) << i;
    EXPECT_EQ(late, 0);
  }
  // The sessions were closed; they did not expire.
  RawClient raw(chroot.hosts());
  const auto left = [&] {
    const auto names = raw.children("/p").names;
    return std::count_if(names.begin(), names.end(), [&](const std::string& name) {
      const auto node = raw.exists("/p/" + name);
      return node.rc == ZOK && !slow_sessions.contains(node.stat.ephemeralOwner);
    });
  };
  EXPECT_TRUE(eventually([&] { return left() == 0; }, std::chrono::seconds(30))) << left();
}

TEST(ZkCoordinatorClose, Close_NotifiesEndBeforeClosedReplies) {
  const TestChroot chroot(SharedServer::hosts());
  Probe probe(chroot.hosts());
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  probe.contend("/p");
  probe.send(1, rq::Exists{"/p"});
  probe->close();
  const auto events = probe.journal().events();
  bool ended = false;
  for (const Event& event : events) {
    if (event.kind == Kind::ended) ended = true;
    if (event.kind == Kind::reply && event.status == Status::closed) {
      EXPECT_TRUE(ended);
    }
    if (event.kind == Kind::answered) {
      EXPECT_FALSE(ended);
    }
  }
  EXPECT_TRUE(ended);
}

TEST(ZkCoordinatorClose, CloseByManyThreadsAndTwice_NotifiesEndOnce) {
  const TestChroot chroot(SharedServer::hosts());
  Probe probe(chroot.hosts());
  (void)probe.session();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      probe->close();
      EXPECT_EQ(probe.journal().count(Kind::ended), 1U);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(probe.call(rq::Exists{"/"}).status, Status::closed) << "after the end";
  EXPECT_EQ(probe.journal().count(Kind::ended), 1U);
}

TEST(ZkCoordinatorClose, CloseWithoutServerOrStart_RepliesClosed) {
  const testing::FreePorts dead(1);
  const ClientOptions options = Probe::with("127.0.0.1:" + std::to_string(dead[0]));
  Probe probe(options);
  for (int i = 0; i < 10; ++i) probe.send(i, rq::Exists{"/"});
  probe->close();
  EXPECT_EQ(probe.journal().count(Kind::reply), 10U);
  EXPECT_EQ(probe.journal().last(Kind::reply).status, Status::closed);
  EXPECT_EQ(probe.journal().count(Kind::ended), 0U) << "there was no session";

  const DrainedLog log(options);
  const auto unstarted = make_zookeeper_coordinator(options, *log);
  std::atomic<int> replies = 0;
  unstarted->submit({rq::Exists{"/"}}, [&](const Reply& reply) {
    EXPECT_EQ(reply.status, Status::closed);
    ++replies;
  });
  unstarted->close();
  EXPECT_EQ(replies, 1);
}

TEST(ZkCoordinatorClose, CloseDuringSubmits_RepliesOnceToEach) {
  const TestChroot chroot(SharedServer::hosts());
  for (int round = 0; round < 10; ++round) {
    Probe probe(chroot.hosts());
    (void)probe.session();
    std::atomic<int> submitted = 0;
    std::atomic<int> replied = 0;
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        while (!stop && submitted < 20'000) {
          ++submitted;
          probe->submit({rq::Exists{"/"}}, [&](const Reply&) { ++replied; });
        }
      });
    }
    ASSERT_TRUE(eventually([&] { return replied > 100; }));
    probe->close();
    stop = true;
    for (std::thread& thread : threads) thread.join();
    probe->close();
    EXPECT_EQ(replied, submitted);
  }
}

// A submitter that is too late may be destroyed before its reply, and its handler may hold the last
// reference.
TEST(ZkCoordinatorClose, LateReplyHoldsLastReference_IsDestroyedSafely) {
  struct Signals {
    std::promise<void> alone;
    std::promise<int> replies;
  };
  const auto signals = std::make_shared<Signals>();
  Journal journal;
  const ClientOptions options = Probe::with("127.0.0.1:1");  // no server
  const DrainedLog log(options);
  auto coordinator = make_zookeeper_coordinator(options, *log);
  coordinator->start(journal);
  coordinator->close();
  const auto replies = std::make_shared<std::atomic<int>>(0);
  const auto late = [replies](const Reply& reply) {
    EXPECT_EQ(reply.status, Status::closed);
    ++*replies;
  };
  coordinator->submit({rq::Check{"/p"}}, [=, last = coordinator](const Reply& reply) mutable {
    signals->alone.get_future().wait();
    last->submit({rq::Check{"/p"}}, late);
    late(reply);
    last = nullptr;
    signals->replies.set_value(replies->load());
  });
  coordinator = nullptr;
  auto answered = signals->replies.get_future();
  signals->alone.set_value();
  ASSERT_EQ(answered.wait_for(kTestTimeout), std::future_status::ready);
  EXPECT_EQ(answered.get(), 2);
}

struct Inherited {
  std::size_t sockets = 0;
  std::size_t pipes = 0;
  friend bool operator==(const Inherited&, const Inherited&) = default;
};

// Counts the open descriptors of a program that this process starts.
Inherited inherited() {
  const std::unique_ptr<FILE, int (*)(FILE*)> listing(::popen("ls -l /proc/self/fd", "r"),
                                                      &::pclose);
  if (!listing) throw std::runtime_error("ls cannot be started");
  Inherited found;
  std::array<char, 512> line{};
  while (std::fgets(line.data(), line.size(), listing.get()) != nullptr) {
    const std::string text = line.data();
    found.sockets += text.find("socket:") != std::string::npos ? 1U : 0U;
    found.pipes += text.find("pipe:") != std::string::npos ? 1U : 0U;
  }
  return found;
}

TEST(ZkCoordinatorExec, StartedProgram_InheritsNoConnectionDescriptor) {
  const auto server = serving();
  const Inherited before = inherited();
  const ClientOptions options = outlasting_a_restart(*server);
  Probe probe(options);
  const SessionId first = probe.session();
  EXPECT_EQ(inherited(), before);
  {
    Probe another(options);
    (void)another.session();
    EXPECT_EQ(inherited(), before) << "two clients";
  }
  server->restart();
  ASSERT_TRUE(server->wait_until_serving()) << server->log();
  ASSERT_TRUE(probe.journal().wait(2, Kind::connected));
  EXPECT_EQ(inherited(), before) << "a new connection";
  testing::expire_session(server->hosts(), first.value);
  ASSERT_TRUE(probe.journal().wait(3, Kind::connected));
  EXPECT_EQ(inherited(), before) << "a new handle";
}

TEST(ZkCoordinatorMemory, NoMemoryToSubmit_ProcessTerminates) {
  const TestChroot chroot(SharedServer::hosts());
  Probe probe(Probe::with(chroot.hosts()));
  ASSERT_EQ(probe.call(rq::CreateParents{"/p"}).status, Status::ok);
  const auto submit = [&](std::size_t memory) {
    rq::CreateContender create{"/p", "lock-", "data"};
    const ScarceMemory scarce(memory);
    (void)probe.send(1, std::move(create));
  };
  for (const std::size_t memory : {0U, 1U}) EXPECT_DEATH(submit(memory), "bad_alloc") << memory;
}

}  // namespace
}  // namespace zklock::client
