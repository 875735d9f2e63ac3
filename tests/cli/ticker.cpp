// SPDX-License-Identifier: Apache-2.0
// A command for two_hosts.py: it shows when it runs.
//
//   zklock_cli_ticker DIR MODE
//
// Makes DIR/$ZKLOCK_TOKEN, and writes two times of CLOCK_BOOTTIME in nanoseconds there: of its
// first tick, and of its latest one. A tick comes each 200 us. The file is mapped into memory, so
// it survives SIGKILL. SIGUSR1 ends the program with exit code 0. MODE says what SIGTERM does.
//
// | mode   | SIGTERM                                                                     |
// |--------|-----------------------------------------------------------------------------|
// | ignore | is ignored                                                                  |
// | exit   | ends the program, with exit code 3                                          |
// | daemon | is ignored; the ticks come from a process of another session                |
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

std::int64_t boottime() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

volatile std::sig_atomic_t received = 0;

void on_signal(int signal) {
  received = signal;
}

struct Times {
  std::atomic<std::int64_t> first;
  std::atomic<std::int64_t> last;
};

void tick(Times& times) {
  times.first = times.last = boottime();
  while (received == 0) {
    ::usleep(200);
    times.last = boottime();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* const token = std::getenv("ZKLOCK_TOKEN");
  if (argc != 3 || token == nullptr) return 2;
  const std::string mode = argv[2];
  ::signal(SIGTERM, mode == "exit" ? on_signal : SIG_IGN);
  ::signal(SIGUSR1, on_signal);
  const std::string file = std::string(argv[1]) + "/" + token;
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (fd < 0 || ::ftruncate(fd, sizeof(Times)) != 0) return 2;
  void* const memory = ::mmap(nullptr, sizeof(Times), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return 2;
  auto& times = *static_cast<Times*>(memory);
  if (mode == "daemon") {
    if (::fork() == 0) {
      ::setsid();
      if (::fork() == 0) tick(times);
      ::_exit(0);
    }
    while (received == 0) ::usleep(1'000);
  } else {
    tick(times);
  }
  return received == SIGUSR1 ? 0 : 3;
}
