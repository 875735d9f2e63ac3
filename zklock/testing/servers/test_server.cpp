// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/test_server.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "zklock/testing/servers/child_process.h"
#include "zklock/testing/servers/expire_session.h"
#include "zklock/testing/servers/four_letter_word.h"
#include "zklock/testing/servers/free_ports.h"
#include "zklock/testing/servers/super_digest.h"
#include "zklock/testing/servers/temp_dir.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::testing {
namespace {

using std::chrono::milliseconds;

// The timeout of one four-letter word. A server that is starting does not answer all of them.
constexpr milliseconds kLongestQuery{1000};
// How often a healthy server is queried before it counts as down.
constexpr int kQueries = 20;
constexpr std::chrono::seconds kLongestStart{60};

// The jars of Debian's packages.
constexpr const char* kZooKeeperJar = "/usr/share/java/zookeeper.jar";
constexpr const char* kLoggerJar = "/usr/share/java/slf4j-simple.jar";
constexpr const char* kClassPathVariable = "ZKLOCK_ZOOKEEPER_CLASSPATH";
// kSuperDigest in the form of the server: user:base64(sha1("user:password")).
constexpr const char* kSuperDigestFlag =
    "-Dzookeeper.DigestAuthenticationProvider.superDigest=super:GTvXID4KgrBNvIYRGOvRjN2lsFw=";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string java() {
  const std::string home = variable("JAVA_HOME");
  return home.empty() ? "java" : home + "/bin/java";
}

bool java_works() {
  try {
    ChildOptions version;
    version.argv = {java(), "-version"};
    const auto status = ChildProcess(version).wait(kLongestStart);
    return status && (status->exit_code == 0 || status->is_unknown());
  } catch (const std::system_error&) {
    return false;
  }
}

std::optional<std::string> find_obstacle() {
  if (!java_works()) {
    return java() + " cannot be started: install openjdk-17-jre-headless, or set JAVA_HOME";
  }
  if (!variable(kClassPathVariable).empty()) return std::nullopt;
  for (const char* jar : {kZooKeeperJar, kLoggerJar}) {
    if (std::filesystem::exists(jar)) continue;
    return std::string(jar) + " is missing: install libzookeeper-java and libslf4j-java, or set " +
           kClassPathVariable;
  }
  return std::nullopt;
}

// Returns the mode in the answer to "srvr", or nullopt if the server does not serve.
std::optional<std::string> mode_of(const std::string& answer) {
  constexpr std::string_view kKey = "\nMode: ";
  const auto key = answer.find(kKey);
  if (key == std::string::npos) return std::nullopt;
  const auto value = key + kKey.size();
  return answer.substr(value, answer.find('\n', value) - value);
}

}  // namespace

struct TestServer::Impl {
  explicit Impl(TestServerOptions given) : options(std::move(given)), ports(1) {
    std::filesystem::create_directory(dir.path() / "data");
    write_config();
  }
  void write_config() const;
  std::vector<std::string> command_line() const;

  const TestServerOptions options;
  const TempDir dir;
  const FreePorts ports;
  std::unique_ptr<ChildProcess> process;  // after dir: destroyed before its files
};

void TestServer::Impl::write_config() const {
  const auto data = dir.path() / "data";
  if (options.my_id != 0) std::ofstream(data / "myid") << options.my_id << '\n';
  std::ofstream config(dir.path() / "zoo.cfg");
  config << "tickTime=" << options.tick_time.count() << '\n'
         << "minSessionTimeout=" << options.min_session_timeout.count() << '\n'
         << "maxSessionTimeout=" << options.max_session_timeout.count() << '\n'
         << "dataDir=" << data.string() << '\n'
         << "clientPort=" << ports[0] << '\n'
         << "clientPortAddress=127.0.0.1\n"
         << "admin.enableServer=false\n"
         << "4lw.commands.whitelist=*\n"
         << "maxClientCnxns=0\n";
  for (const std::string& line : options.extra_config) config << line << '\n';
  config.flush();
  if (!config) throw std::runtime_error("cannot write " + (dir.path() / "zoo.cfg").string());
}

std::vector<std::string> TestServer::Impl::command_line() const {
  std::string class_path;
  for (const std::string& jar : options.extra_class_path) class_path += jar + ":";
  const std::string given = variable(kClassPathVariable);
  class_path += given.empty() ? std::string(kZooKeeperJar) + ":" + kLoggerJar : given;
  // UsePerfData leaves a file under /tmp when the process is killed. Without forceSync the server
  // does not wait for a disk that may be busy for seconds. The writes of a killed process are not
  // lost, as the kernel has them.
  std::vector<std::string> command = {java(),
                                      "-Xms32m",
                                      "-Xmx128m",
                                      "-XX:+UseSerialGC",
                                      "-XX:-UsePerfData",
                                      "-XX:TieredStopAtLevel=1",
                                      "-Dzookeeper.forceSync=no",
                                      kSuperDigestFlag,
                                      "-Dzookeeper.jmx.log4j.disable=true"};
  command.insert(command.end(), options.extra_jvm_flags.begin(), options.extra_jvm_flags.end());
  command.insert(command.end(),
                 {"-cp", class_path, "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                  (dir.path() / "zoo.cfg").string()});
  return command;
}

TestServer::TestServer(TestServerOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

TestServer::~TestServer() = default;

std::optional<std::string> TestServer::unavailable() {
  static const std::optional<std::string> kObstacle = find_obstacle();
  return kObstacle;
}

void TestServer::start() {
  if (is_running()) return;
  ChildOptions child;
  child.argv = impl_->command_line();
  child.working_dir = directory();
  child.log_file = directory() / "server.log";
  try {
    impl_->process = std::make_unique<ChildProcess>(child);
  } catch (const std::system_error& error) {
    throw std::runtime_error(unavailable().value_or(error.what()));
  }
}

void TestServer::stop() {
  if (!impl_->process) return;
  impl_->process->terminate();
  impl_->process->resume();  // a paused process would not receive the signal
  if (!impl_->process->wait(std::chrono::seconds(10))) impl_->process->kill();
}

void TestServer::restart() {
  stop();
  start();
}

void TestServer::kill() {
  if (impl_->process) impl_->process->kill();
}

void TestServer::erase_data() const {
  std::filesystem::remove_all(directory() / "data" / "version-2");
}

void TestServer::pause() {
  if (impl_->process) impl_->process->pause();
}

void TestServer::resume() {
  if (impl_->process) impl_->process->resume();
}

bool TestServer::is_running() const {
  return impl_->process && impl_->process->running();
}

bool TestServer::is_paused() const {
  return impl_->process && impl_->process->paused();
}

bool TestServer::wait_until_serving(milliseconds timeout) const {
  // A paused server does not answer: one query must not use up the whole timeout.
  const auto query_timeout = std::clamp(timeout, milliseconds(20), kLongestQuery);
  bool up = false;
  (void)eventually(
      [&] {
        const auto answer = four_letter_word("srvr", query_timeout);
        up = answer && mode_of(*answer);
        return up || !is_running();
      },
      timeout, milliseconds(10));
  return up;
}

std::optional<std::string> TestServer::mode() const {
  for (int queries = 0; queries < kQueries && is_running(); ++queries) {
    if (const auto answer = four_letter_word("srvr", kLongestQuery)) return mode_of(*answer);
  }
  return std::nullopt;
}

std::optional<std::string> TestServer::four_letter_word(std::string_view word,
                                                        milliseconds timeout) const {
  return testing::four_letter_word(port(), word, timeout);
}

void TestServer::expire_session(std::int64_t session_id) const {
  testing::expire_session(hosts(), session_id);
}

std::uint16_t TestServer::port() const {
  return impl_->ports[0];
}

std::string TestServer::hosts() const {
  return "127.0.0.1:" + std::to_string(port());
}

int TestServer::pid() const {
  return impl_->process ? impl_->process->pid() : 0;
}

const std::filesystem::path& TestServer::directory() const noexcept {
  return impl_->dir.path();
}

std::string TestServer::log() const {
  constexpr std::streamoff kTail = 8192;
  std::ifstream file(directory() / "server.log", std::ios::binary | std::ios::ate);
  if (!file) return {};
  file.seekg(std::max<std::streamoff>(0, static_cast<std::streamoff>(file.tellg()) - kTail));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace zklock::testing
