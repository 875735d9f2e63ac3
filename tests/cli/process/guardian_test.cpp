// SPDX-License-Identifier: Apache-2.0
// The guardian with real processes, without a server.
#include <cerrno>
#include <chrono>
#include <string>

#include <sys/resource.h>

#include "guardian_fixture.h"
#include "zklock/cli/io/process_tree.h"
#include "zklock/cli/io/standard_streams.h"

namespace zklock::cli {
namespace {

using Kind = Notice::Kind;

TEST_F(GuardianTest, BoundPasses_DescendantsAreDead) {
  const Instant begin = LeaseClock::now();
  play(script(kIgnoresTerm + kTicks + "sleep 100 & (sleep 100 & sleep 100) & " + kSleeps),
       start_and_await_end);
  EXPECT_EQ(read_pipe(), "x");
  const Instant bound = LeaseClock::now() + kAhead;
  const Instant dead = death();
  EXPECT_LE(dead, bound);
  EXPECT_GE(dead, begin + kAhead - kLead);
  EXPECT_EQ(exit_code(), 0);
}

// The command gets a signal when the kill limit of its start has passed.
TEST_F(GuardianTest, BoundExtended_CommandRunsOn) {
  play(script("trap 'exit 9' USR1; " + kTicks + kReady + kSleeps), [this](Guardian& guardian) {
    start(guardian);
    const Instant first_limit = LeaseClock::now() + kAhead - kLead;
    await_ready();
    extend(guardian, kAhead, first_limit);
    guardian.signal(SIGUSR1);
    return WEXITSTATUS(await_notice(guardian, Kind::ended).number);
  });
  EXPECT_EQ(exit_code(), 9);
}

TEST_F(GuardianTest, ZklockKilled_TermThenKill) {
  play(script("trap 'printf t >&9' TERM; " + kTicks + kSleeps), [](Guardian& guardian) {
    start(guardian, 60s);
    extend(guardian, 60s);
    return 0;
  });
  EXPECT_EQ(read_pipe(), "x");
  ::kill(zklock_, SIGKILL);
  const Instant killed = LeaseClock::now();
  EXPECT_EQ(read_pipe(), "t");
  const Instant dead = death();
  EXPECT_GE(dead, killed + kGrace - 50ms);
  EXPECT_LE(dead, killed + 10s);
}

TEST_F(GuardianTest, ZklockKilledAtTheStart_NothingRuns) {
  play(script(kTicks + kSleeps), [](Guardian& guardian) {
    ::kill(guardian.pid(), SIGSTOP);
    start(guardian);
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  const pid_t zklock = zklock_;
  EXPECT_EQ(exit_code(), -1);
  // The guardian is an orphan now. It reads the order and the end of file at once, and ends.
  signal_descendants(::getpid(), SIGCONT);
  EXPECT_TRUE(testing::eventually([] { return ::waitpid(-1, nullptr, WNOHANG) < 0; })) << zklock;
  pollfd polled{pipe_.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&polled, 1, 0), 0) << zklock;
}

TEST_F(GuardianTest, GuardianKilled_OrphansSwept) {
  play(script(kIgnoresTerm + kTicks + "setsid sleep 100 & (setsid sleep 100 &); " + kReady +
              kSleeps),
       [this](Guardian& guardian) {
         start(guardian, 60s);
         await_notice(guardian, Kind::started);
         await_ready();
         guardian.kill_guardian();
         while (!guardian.has_ended()) (void)guardian.next_notice();
         return testing::eventually([&] { return guardian.sweep_orphans(); }) ? 5 : 1;
       });
  EXPECT_EQ(read_pipe(), "x");
  death();
  EXPECT_EQ(exit_code(), 5);
}

TEST_F(GuardianTest, GuardianStopped_ZklockKills) {
  const std::string daemon = "(setsid sleep 100 &); ";
  play(script(kIgnoresTerm + kTicks + daemon + kReady + kSleeps), [this](Guardian& guardian) {
    start(guardian, 60s);
    await_notice(guardian, Kind::started);
    await_ready();
    stop(guardian);
    const int killed = guardian.kill_descendants();
    guardian.kill_guardian();
    return testing::eventually([&] { return guardian.sweep_orphans(); }) ? killed : 0;
  });
  EXPECT_EQ(read_pipe(), "x");
  death();
  EXPECT_GE(exit_code(), 2);
}

TEST_F(GuardianTest, TermIgnored_KillAfterGrace) {
  play(script(kIgnoresTerm + kTicks + kReady + kSleeps), [this](Guardian& guardian) {
    start(guardian, 60s);
    await_notice(guardian, Kind::started);
    await_ready();
    guardian.request_end();
    const Instant end = LeaseClock::now();
    const Notice term = await_notice(guardian, Kind::stepped);
    const Notice kill = await_notice(guardian, Kind::stepped);
    const Notice swept = await_notice(guardian, Kind::swept);
    if (term.number != static_cast<int>(KillSchedule::Step::term)) return 1;
    if (kill.number != static_cast<int>(KillSchedule::Step::kill)) return 2;
    return swept.at >= end + kGrace - 50ms && swept.at < end + 10s ? 0 : 3;
  });
  EXPECT_EQ(exit_code(), 0);
}

TEST_F(GuardianTest, KillRequested_KilledAtOnce) {
  play(script(kIgnoresTerm + kTicks + kSleeps), [](Guardian& guardian) {
    start(guardian, 60s);
    await_notice(guardian, Kind::started);
    guardian.request_kill();
    const Notice step = await_notice(guardian, Kind::stepped);
    return step.number == static_cast<int>(KillSchedule::Step::kill) ? 0 : 1;
  });
  EXPECT_EQ(exit_code(), 0);
}

// For example `tee`, which writes the last output of the command. The leftover reads until the end
// of a second pipe, which comes when the command has ended.
TEST_F(GuardianTest, LeftoverEndsSoon_GetsNoTerm) {
  const std::string leftover = "(trap 'printf t >&9' TERM; read -r line <$END; printf e >&9) & ";
  play(script(kTicks + "END=$FILE.end; mkfifo $END; " + leftover + "exec 8>$END; exit 3"),
       [](Guardian& guardian) {
         start(guardian, 60s);
         await_notice(guardian, Kind::swept);
         return 0;
       });
  std::string output;
  for (std::string text = read_pipe(); !text.empty(); text = read_pipe()) output += text;
  EXPECT_EQ(output, "xe");
  EXPECT_EQ(exit_code(), 0);
}

TEST_F(GuardianTest, LeftoverStays_GetsTermAfterAPause) {
  play(script(kTicks + "sleep 100 & exit 3"), [](Guardian& guardian) {
    start(guardian, 60s);
    const Notice ended = await_notice(guardian, Kind::ended);
    const Notice step = await_notice(guardian, Kind::stepped);
    return step.at - ended.at >= 100ms ? 0 : 1;
  });
  EXPECT_EQ(exit_code(), 0);
}

// The socket would be full of old bounds. Their kill limits have passed when the guardian
// continues.
TEST_F(GuardianTest, GuardianStoppedLong_OnlyTheNewestBoundCounts) {
  play(script("trap 'exit 9' USR1; " + kTicks + kReady + kSleeps), [this](Guardian& guardian) {
    start(guardian);
    await_notice(guardian, Kind::started);
    await_ready();
    stop(guardian);
    for (int i = 0; i < 5'000; ++i) guardian.bound(LeaseClock::now() + kAhead, kTimeout);
    const Instant old_limit = LeaseClock::now() + kAhead - kLead;
    guardian.bound(LeaseClock::now() + 60s, kTimeout);
    guardian.signal(SIGUSR1);
    if (!testing::eventually([&] { return LeaseClock::now() > old_limit; })) return 2;
    ::kill(guardian.pid(), SIGCONT);
    const Notice notice = await_notice(guardian);
    return notice.kind == Kind::ended ? WEXITSTATUS(notice.number) : 1;
  });
  EXPECT_EQ(exit_code(), 9);
}

TEST_F(GuardianTest, BoundShrinks_GuardianWakes) {
  play(script(kIgnoresTerm + kTicks + kSleeps), [](Guardian& guardian) {
    start(guardian, 60s);
    await_notice(guardian, Kind::started);
    const Instant bound = LeaseClock::now() + kAhead;
    guardian.bound(bound, kTimeout);
    return await_notice(guardian, Kind::swept).at <= bound ? 0 : 1;
  });
  EXPECT_EQ(exit_code(), 0);
}

// A process can get the number of one that was found and has ended.
TEST_F(GuardianTest, ProcessOfOthers_IsNotSignalled) {
  const auto sleeper = [] {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::pause();
      ::_exit(0);
    }
    return pid;
  };
  const pid_t root = sleeper();
  const pid_t other = sleeper();
  EXPECT_EQ(signal_descendant(root, root, other, SIGKILL), ESRCH);
  EXPECT_EQ(::waitpid(other, nullptr, WNOHANG), 0) << "it was ended";
  EXPECT_EQ(signal_descendant(::getpid(), root, other, SIGKILL), 0);
  EXPECT_EQ(::waitpid(other, nullptr, 0), other);
  EXPECT_EQ(signal_descendant(::getpid(), root, other, SIGKILL), ESRCH);
}

TEST_F(GuardianTest, DoubleFork_DoesNotEscape) {
  const std::string daemon = "(setsid sh -c '(sleep 100 &)' &); ";
  play(script(kIgnoresTerm + kTicks + daemon + daemon + kSleeps), start_and_await_end);
  EXPECT_EQ(read_pipe(), "x");
  const Instant bound = LeaseClock::now() + kAhead;
  EXPECT_LE(death(), bound);
  EXPECT_EQ(exit_code(), 0);
}

TEST_F(GuardianTest, RespawningCommand_EndsAtKill) {
  play(script(kIgnoresTerm + kTicks + "while :; do (sleep 0.2 &); sleep 0.01; done"),
       start_and_await_end);
  EXPECT_EQ(read_pipe(), "x");
  const Instant bound = LeaseClock::now() + kAhead;
  EXPECT_LE(death(), bound);
}

TEST_F(GuardianTest, StoppedCommand_IsKilled) {
  play(script(kTicks + "kill -STOP $$; " + kSleeps), start_and_await_end);
  EXPECT_EQ(read_pipe(), "x");
  const Instant bound = LeaseClock::now() + kAhead;
  EXPECT_LE(death(), bound);
}

TEST_F(GuardianTest, StartTooLate_IsRefused) {
  play(script(kTicks), [](Guardian& guardian) {
    start(guardian, kLead + kGrace);
    const Notice notice = await_notice(guardian);
    return notice.kind == Kind::not_started && notice.number == 0 ? 0 : 1;
  });
  EXPECT_EQ(exit_code(), 0);
  pollfd polled{pipe_.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&polled, 1, 0), 0);
}

TEST_F(GuardianTest, Descriptors_OnlyInheritedReachCommand) {
  play(script("cd /proc/$$/fd; for each in *; do echo $each; done >$FILE"), start_and_await_end,
       [] { ::dup2(STDERR_FILENO, 20); });
  EXPECT_EQ(exit_code(), 0);
  // The shell itself uses 3 to list the folder, and 10 for its redirection.
  const std::string found = file();
  EXPECT_NE(found.find("20\n"), std::string::npos) << found;
  for (const char* const own : {"4\n", "5\n", "6\n", "7\n", "8\n", "9\n"}) {
    EXPECT_EQ(("\n" + found).find(std::string("\n") + own), std::string::npos) << found;
  }
}

TEST_F(GuardianTest, ClosedInput_StaysClosed) {
  play(script("test -e /proc/$$/fd/0; echo $? >$FILE"), start_and_await_end, [] {
    ::close(STDIN_FILENO);
    fill_standard_streams();
  });
  EXPECT_EQ(exit_code(), 0);
  EXPECT_EQ(file(), "1\n");
}

// The command ignores TERM, so both runs end by KILL.
TEST_F(GuardianTest, SecondStart_RunsAsTheFirst) {
  std::ofstream(folder_ + "/input") << "a\nb\n";
  GuardedCommand command =
      script(kIgnoresTerm + "read -r line; echo $line >>$FILE; sleep 100 & " + kSleeps);
  command.is_repeated = true;
  play(
      command,
      [](Guardian& guardian) {
        for (int i = 0; i < 2; ++i) {
          start(guardian);
          if (await_notice(guardian).kind != Kind::started) return 1;
          const Notice term = await_notice(guardian, Kind::stepped);
          if (term.number != static_cast<int>(KillSchedule::Step::term)) return 2;
          const Notice kill = await_notice(guardian, Kind::stepped);
          if (kill.number != static_cast<int>(KillSchedule::Step::kill)) return 3;
          if (await_notice(guardian, Kind::ended).number != SIGKILL) return 4;
          await_notice(guardian, Kind::swept);
        }
        guardian.finish();
        return 0;
      },
      [this] {
        ::close(STDIN_FILENO);
        ::open((folder_ + "/input").c_str(), O_RDONLY);
      });
  EXPECT_EQ(exit_code(), 0);
  EXPECT_EQ(file(), "a\nb\n");
}

// The guardian obeys in the order of the orders, so the command runs until the second start was
// read.
TEST_F(GuardianTest, StartWhileItRuns_IsIgnored) {
  play(script("trap 'exit 9' USR1; echo x >>$FILE; " + kReady + kSleeps),
       [this](Guardian& guardian) {
         start(guardian, 60s);
         await_notice(guardian, Kind::started);
         await_ready();
         start(guardian, 60s);
         guardian.signal(SIGUSR1);
         const int status = await_notice(guardian, Kind::ended).number;
         await_notice(guardian, Kind::swept);
         return WEXITSTATUS(status);
       });
  EXPECT_EQ(exit_code(), 9);
  EXPECT_EQ(file(), "x\n");
}

TEST_F(GuardianTest, OldMask_IsRestored) {
  GuardedCommand command = script("");  // no shell: it would change the mask
  command.program = "/bin/grep";
  command.arguments = {"grep", "SigBlk", "/proc/self/status"};
  sigaddset(&command.signal_mask, SIGUSR2);
  play(command, start_and_await_end, [this] {
    const int output = ::open((folder_ + "/file").c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(output, STDOUT_FILENO);
    ::close(output);
  });
  EXPECT_EQ(exit_code(), 0);
  EXPECT_NE(file().find("0000000000000800"), std::string::npos) << file();
}

}  // namespace
}  // namespace zklock::cli
