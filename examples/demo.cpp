// SPDX-License-Identifier: Apache-2.0
// The main use, end to end: three processes of three threads each contend for one lock. One thread
// nests three deep, one process is killed while it holds. Prints a timeline of the holders, then
// checks the promises of zklock. The exit status says whether all of them were kept.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>
#include <zklock/zklock.h>

#include "child.h"
#include "promise.h"
#include "shared_resource.h"

namespace {

using namespace std::chrono_literals;
using example::Child;
using example::Grant;
using example::SharedResource;
using zklock::Deadline;
using zklock::LeaseClock;

constexpr int kProcesses = 3;
constexpr int kThreads = 3;
constexpr int kRounds = 4;
constexpr int kNesting = 1;  // process B
constexpr int kDoomed = 2;   // process C

std::string name(int process) {
  return {static_cast<char>('A' + process)};
}
std::string name(const Grant& grant) {
  return name(grant.process) + std::to_string(grant.thread);
}

double ms(LeaseClock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

std::string seconds(LeaseClock::duration d) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << std::chrono::duration<double>(d).count() << " s";
  return text.str();
}

// Prints the timeline, in colour if standard output is a terminal.
class Timeline {
 public:
  Timeline() : colour_(::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr) {}

  void begin(LeaseClock::time_point start) {
    start_ = start;
    std::cout << "\n      time  thread waited       held      token  arrival no.\n";
  }

  void grant(const Grant& t) const {
    std::ostringstream line;
    line << std::fixed << std::setprecision(3) << std::setw(8)
         << std::chrono::duration<double>(t.granted - start_).count() << " s  " << name(t)
         << std::setprecision(0) << std::setw(7) << ms(t.granted - t.requested) << " ms"
         << std::setw(8) << ms(t.released - t.granted) << " ms" << std::setw(11) << t.token
         << std::setw(13) << t.arrival;
    if (t.depth > 1) line << "  nested " << t.depth << " deep with one token";
    if (t.state == Grant::killed) line << "  killed";
    static constexpr std::array kColours = {"36", "33", "35"};
    std::cout << paint(kColours.at(static_cast<std::size_t>(t.process) % kColours.size()),
                       line.str())
              << std::endl;
  }

  void event(const std::string& text) const {
    std::cout << paint("1", "  ----  " + text) << std::endl;
  }

  // Prints the result, and remembers whether all checks have succeeded so far.
  void check(bool holds, const std::string& text) {
    std::cout << (holds ? paint("32", "  ok      ") : paint("31", "  FAILED  ")) << text
              << std::endl;
    all_hold_ = all_hold_ && holds;
  }
  bool all_hold() const { return all_hold_; }

 private:
  std::string paint(const char* colour, const std::string& text) const {
    return colour_ ? "\033[" + std::string(colour) + "m" + text + "\033[0m" : text;
  }

  bool colour_;
  bool all_hold_ = true;
  LeaseClock::time_point start_;
};

bool wait_for(Deadline deadline, const std::function<bool()>& fact) {
  while (!fact()) {
    if (deadline.has_passed(LeaseClock::now())) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

class Demo {
 public:
  explicit Demo(const std::string& hosts)
      : hosts_(hosts),
        path_("/zklock-demo-" + std::to_string(LeaseClock::now().time_since_epoch().count()) + "-" +
              std::to_string(::getpid())),
        client_(hosts),
        mutex_(client_, path_),
        // It leaves no file behind. The children inherit the descriptor.
        memory_(::memfd_create("zklock-demo", 0)),
        resource_(example::map_shared_resource(memory_, /*create=*/true)) {}
  ~Demo() { ::close(memory_); }
  Demo(const Demo&) = delete;
  Demo& operator=(const Demo&) = delete;

  bool run() {
    std::cout << kProcesses << " processes with " << kThreads << " threads each queue for " << path_
              << " on " << hosts_ << ", " << kRounds << " times a thread:\n";
    start_children();
    timeline_.begin(LeaseClock::now());
    resource_.start = true;
    kill_a_holder();
    const bool finished = wait_for(overall_, [this] {
      print_grants();
      return std::all_of(children_.begin(), children_.end(), [](auto& c) { return c->ended(); });
    });
    print_grants();
    check(finished);
    return timeline_.all_hold();
  }

 private:
  void start_children() {
    const auto contender =
        std::filesystem::read_symlink("/proc/self/exe").replace_filename("contender");
    for (int p = 0; p < kProcesses; ++p) {
      const char* special = p == kNesting ? "nest" : p == kDoomed ? "wait_to_be_killed" : "none";
      children_.push_back(std::make_unique<Child>(std::vector<std::string>{
          contender.string(), hosts_, path_, "/proc/self/fd/" + std::to_string(memory_),
          std::to_string(p), std::to_string(kThreads), std::to_string(kRounds), special}));
      std::cout << "  process " << name(p) << ": pid " << children_.back()->pid() << '\n';
    }
    if (!wait_for(overall_, [this] { return resource_.processes_ready == kProcesses; })) {
      throw std::runtime_error("the processes did not connect in time");
    }
  }

  // Prints the grants that have ended since the last call, in their order.
  void print_grants() {
    const std::size_t count = resource_.grant_count;
    while (printed_ < count && resource_.grants.at(printed_).state >= Grant::left) {
      timeline_.grant(resource_.grants.at(printed_++));
    }
  }

  void kill_a_holder() {
    const bool seen = wait_for(overall_, [this] {
      print_grants();
      return resource_.grant_to_kill >= 0;
    });
    if (!seen) throw std::runtime_error("the holder that is to be killed was not granted");
    Grant& grant = resource_.grants.at(static_cast<std::size_t>(resource_.grant_to_kill));

    timeline_.event(name(grant) + " holds, and the queue is: " + queue());
    Child& child = *children_.at(kDoomed);
    child.kill();
    killed_at_ = LeaseClock::now();
    // The session expires later, so this is done before the next grant.
    resource_.bury(grant);
    print_grants();
    timeline_.event("process " + name(kDoomed) + " (pid " + std::to_string(child.pid()) +
                    ") was killed with SIGKILL; the others are not notified");

    const auto next = static_cast<std::size_t>(resource_.grant_to_kill) + 1;
    const bool granted_again = wait_for(overall_, [&] {
      return resource_.grant_count > next && resource_.grants.at(next).state != Grant::none;
    });
    if (granted_again) {
      granted_again_after_ = resource_.grants.at(next).granted - killed_at_;
      timeline_.event("the lock was granted to the next contender, " +
                      seconds(granted_again_after_) + " later (session timeout: 4.0 s requested)");
    }
  }

  // Returns the contenders in the order of the queue, by the names of their threads.
  std::string queue() {
    std::string text;
    for (const zklock::Participant& p : mutex_.participants(10s)) {
      text += (text.empty() ? "" : ", ") + p.thread + " (no. " + std::to_string(p.sequence) + ")";
    }
    return text;
  }

  void check(bool finished) {
    const auto grants = static_cast<int>(resource_.grant_count);
    int out_of_order = 0;
    int tokens_not_higher = resource_.stale_tokens;
    int left = 0;
    int of_survivors = 0;
    int deepest = 0;
    for (int i = 0; i < grants; ++i) {
      const Grant& t = resource_.grants.at(static_cast<std::size_t>(i));
      if (t.state == Grant::left) ++left;
      if (t.process != kDoomed) ++of_survivors;
      deepest = std::max(deepest, t.depth);
      if (i == 0) continue;
      const Grant& before = resource_.grants.at(static_cast<std::size_t>(i - 1));
      if (t.arrival <= before.arrival) ++out_of_order;
      if (t.token <= before.token) ++tokens_not_higher;
    }
    // The path is of this run only, so a contender that still exists was left behind.
    const std::size_t left_over = mutex_.participants(10s).size();

    std::cout << "\nChecks, over " << grants << " grants:\n";
    timeline_.check(resource_.overlaps == 0,
                    "overlaps: " + std::to_string(resource_.overlaps.load()));
    timeline_.check(resource_.work_done == left,
                    "updates lost: " + std::to_string(left - resource_.work_done));
    timeline_.check(tokens_not_higher == 0, "tokens strictly increasing");
    timeline_.check(out_of_order == 0, "grants in the order of arrival");
    timeline_.check(deepest == 3, "one holder nested " + std::to_string(deepest) + " deep");
    timeline_.check(granted_again_after_ > 0s, "the killed holder's lock was granted again");
    timeline_.check(
        finished && of_survivors == (kProcesses - 1) * kThreads * kRounds,
        "every thread of the living processes had all its grants: " + std::to_string(of_survivors));
    for (int p = 0; p < kProcesses; ++p) {
      if (p == kDoomed) continue;
      timeline_.check(children_.at(static_cast<std::size_t>(p))->succeeded(),
                      "process " + name(p) + " met no error");
    }
    timeline_.check(left_over == 0,
                    "lock directory empty: " + std::to_string(left_over) + " nodes left");
  }

  std::string hosts_;
  std::string path_;
  zklock::Client client_;
  zklock::ReentrantMutex mutex_;
  int memory_;
  SharedResource& resource_;
  std::vector<std::unique_ptr<Child>> children_;
  Timeline timeline_;
  Deadline overall_{50s};
  std::size_t printed_ = 0;
  LeaseClock::time_point killed_at_;
  LeaseClock::duration granted_again_after_{0};
};

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, [](const std::string& hosts) {
    if (!Demo(hosts).run()) throw std::runtime_error("not everything held");
    std::cout << "\nEverything held.\n";
  });
}
