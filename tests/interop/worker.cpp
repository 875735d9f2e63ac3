// SPDX-License-Identifier: Apache-2.0
//   zklock_interop_worker KIND HOSTS PATH GUARD
// One zklock process that contends for PATH: see README.md.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "zklock/zklock.h"

namespace {

using namespace std::chrono_literals;

/// Commands on standard input. "hold" keeps the next section until "go"; end of file ends the
/// process.
class Commands {
 public:
  void read() {
    for (std::string line; std::getline(std::cin, line);) {
      const std::lock_guard lock(mutex_);
      holds_ = line == "hold";
      changed_.notify_all();
    }
    std::_Exit(0);
  }
  bool holds() {
    const std::lock_guard lock(mutex_);
    return holds_;
  }
  void wait_until_go() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !holds_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool holds_ = false;
};

/// A kernel lock on a file. It excludes holders that must not hold together.
class Guard {
 public:
  explicit Guard(const char* path) {
    if (std::string(path) == "-") return;
    file_ = ::open(path, O_RDWR | O_CLOEXEC);
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
  }
  bool enter(bool shared) { return set(static_cast<short>(shared ? F_RDLCK : F_WRLCK)); }
  void leave() { set(F_UNLCK); }

 private:
  bool set(short type) const {
    if (file_ < 0) return true;
    struct flock whole_file {};
    whole_file.l_type = type;
    whole_file.l_whence = SEEK_SET;
    return ::fcntl(file_, F_SETLK, &whole_file) == 0;
  }

  int file_ = -1;
};

class Worker {
 public:
  Worker(const std::string& hosts, std::string path, const char* guard)
      : client_(options(hosts)), path_(std::move(path)), guard_(guard) {
    if (!client_.wait_until_connected(60s)) throw std::runtime_error("not connected");
    std::thread([this] { commands_.read(); }).detach();
    std::cout << "ready" << std::endl;
  }

  [[noreturn]] void mutex() {
    zklock::ReentrantMutex mutex(client_, path_);
    for (;;) {
      const zklock::Hold hold = mutex.acquire();
      section(false);
    }
  }
  [[noreturn]] void shared() {
    zklock::SharedMutex mutex(client_, path_);
    std::minstd_rand random(std::random_device{}());
    for (;;) {
      const bool reads = random() % 3 != 0;
      const zklock::Hold hold = reads ? mutex.acquire_shared() : mutex.acquire();
      section(reads);
    }
  }
  [[noreturn]] void semaphore() {
    zklock::Semaphore semaphore(client_, path_, 1);
    for (;;) {
      const zklock::Hold hold = semaphore.acquire();
      section(false);
    }
  }
  [[noreturn]] void election() {
    zklock::LeaderElection election(client_, path_,
                                    [this](zklock::Leadership&) { section(false); });
    election.start();
    for (;;) std::this_thread::sleep_for(1h);
  }
  [[noreturn]] void latch() {
    for (;;) {
      zklock::LeaderLatch latch(client_, path_);
      latch.start();
      if (latch.wait_until_leader(1h)) section(false);
    }
  }

 private:
  static zklock::ClientOptions options(const std::string& hosts) {
    zklock::ClientOptions options;
    options.hosts = hosts;
    options.session_timeout = 4s;
    return options;
  }

  void section(bool shared) {
    std::cout << (guard_.enter(shared) ? "grant" : "overlap") << std::endl;
    if (commands_.holds()) {
      std::cout << "held" << std::endl;
      commands_.wait_until_go();
    }
    std::this_thread::sleep_for(200us);
    guard_.leave();
  }

  zklock::Client client_;
  const std::string path_;
  Guard guard_;
  Commands commands_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (Worker::*)()> kinds{{"mutex", &Worker::mutex},
                                                        {"shared", &Worker::shared},
                                                        {"semaphore", &Worker::semaphore},
                                                        {"election", &Worker::election},
                                                        {"latch", &Worker::latch}};
  const auto kind = kinds.find(argc == 5 ? argv[1] : "");
  if (kind == kinds.end()) {
    std::cerr << "usage: zklock_interop_worker KIND HOSTS PATH GUARD\n";
    return 2;
  }
  try {
    Worker worker(argv[2], argv[3], argv[4]);
    (worker.*kind->second)();
  } catch (const std::exception& e) {
    std::cerr << "zklock " << argv[1] << ": " << e.what() << '\n';
    return 1;
  }
}
