// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/servers/process_spawner.h"

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zklock/testing/servers/quiet_thread.h"

namespace zklock::testing {
namespace {

// All memory that the child uses between fork and exec, allocated before the fork. The process has
// many threads, so only async-signal-safe calls are allowed in the child.
struct ExecPlan {
  std::string program;
  std::vector<std::string> argv_text;
  std::vector<std::string> env_text;
  std::vector<char*> argv;
  std::vector<char*> envp;
  std::string working_dir;
  std::string log_file;
  pid_t parent = 0;
  int fd_limit = 0;
  int error_fd = -1;
};

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    std::string candidate = std::string(rest.substr(0, colon)) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  throw std::system_error(ENOENT, std::generic_category(), "find program " + name);
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& additions) {
  std::vector<std::string> merged;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!additions.contains(text.substr(0, text.find('=')))) merged.push_back(text);
  }
  for (const auto& [name, value] : additions) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

void mark_close_on_exec(int fd_limit) {
  if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (int fd = 3; fd < fd_limit; ++fd) (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// The caller may ignore or block signals, most often SIGPIPE. A child would inherit that.
void reset_signals() {
  for (const int signal_number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGQUIT}) {
    (void)std::signal(signal_number, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool redirect_streams(const ExecPlan& plan) {
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int output = ::open(plan.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (input < 0 || output < 0) return false;
  return ::dup2(input, STDIN_FILENO) >= 0 && ::dup2(output, STDOUT_FILENO) >= 0 &&
         ::dup2(output, STDERR_FILENO) >= 0;
}

[[noreturn]] void run_child(const ExecPlan& plan) {
  reset_signals();
  bool ready = ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
  // If the parent died before prctl, the kernel no longer sends the signal.
  if (::getppid() != plan.parent) ::_exit(127);
  ready = ready && redirect_streams(plan);
  ready = ready && (plan.working_dir.empty() || ::chdir(plan.working_dir.c_str()) == 0);
  if (ready) {
    mark_close_on_exec(plan.fd_limit);
    ::execve(plan.program.c_str(), plan.argv.data(), plan.envp.data());
  }
  const int error = errno;
  (void)!::write(plan.error_fd, &error, sizeof error);
  ::_exit(127);
}

pid_t fork_and_exec(ExecPlan& plan) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  plan.error_fd = ends[1];
  const pid_t pid = ::fork();
  if (pid == 0) run_child(plan);
  const int fork_error = errno;
  ::close(ends[1]);
  int error = pid < 0 ? fork_error : 0;
  if (pid > 0) {
    // End of file implies that exec closed the pipe, so it succeeded.
    ssize_t got = 0;
    do {
      got = ::read(ends[0], &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    if (got != static_cast<ssize_t>(sizeof error)) error = 0;
    if (error != 0) (void)::waitpid(pid, nullptr, 0);
  }
  ::close(ends[0]);
  if (error != 0) {
    throw std::system_error(error, std::generic_category(), "start " + plan.program);
  }
  return pid;
}

class Spawner {
 public:
  // Never destroyed: its thread must live as long as the process.
  static Spawner& instance() {
    static auto* const kSpawner = new Spawner();
    return *kSpawner;
  }

  pid_t spawn(ExecPlan& plan) {
    if (::getpid() != owner_) throw std::logic_error("spawn_process called in a forked process");
    std::packaged_task<pid_t()> task([&plan] { return fork_and_exec(plan); });
    auto pid = task.get_future();
    {
      const std::lock_guard guard(mutex_);
      tasks_.push_back(std::move(task));
    }
    ready_.notify_one();
    return pid.get();
  }

 private:
  Spawner() : owner_(::getpid()) {
    start_quiet_thread("zklock-spawner", [this] { run(); }).detach();
  }

  [[noreturn]] void run() {
    for (;;) {
      std::unique_lock guard(mutex_);
      ready_.wait(guard, [this] { return !tasks_.empty(); });
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      guard.unlock();
      task();
    }
  }

  const pid_t owner_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::packaged_task<pid_t()>> tasks_;  // guarded by mutex_
};

}  // namespace

pid_t spawn_process(const ChildOptions& options) {
  if (options.argv.empty()) throw std::invalid_argument("spawn_process: empty argv");
  ExecPlan plan;
  plan.program = find_program(options.argv.front());
  plan.argv_text = options.argv;
  plan.argv = pointers(plan.argv_text);
  plan.env_text = merged_environment(options.env);
  plan.envp = pointers(plan.env_text);
  plan.working_dir = options.working_dir.string();
  plan.log_file = options.log_file.empty() ? "/dev/null" : options.log_file.string();
  plan.parent = ::getpid();
  plan.fd_limit = static_cast<int>(::sysconf(_SC_OPEN_MAX));
  return Spawner::instance().spawn(plan);
}

}  // namespace zklock::testing
