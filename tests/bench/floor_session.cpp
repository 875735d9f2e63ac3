// SPDX-License-Identifier: Apache-2.0
// The floor: the requests of zklock, sent by hand with the C client. It has no owners, lease,
// recovery or deadlines. An acquire is a create2 and an exists of the parent, pipelined. If other
// children exist, a watched get of the preceding znode follows. At a new path, a create of the path
// precedes the create2. A release is a multi of set and
// delete, for whose reply it does not wait. The znodes have data of about zklock's length, and
// similar ACLs.
#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bench/contestant.h"
#include "bench/fifo_lock.h"
#include "bench/raw_session.h"

namespace zklock::bench {
namespace {

constexpr std::size_t kSequenceDigits = 10;

/// Counts the releases in flight.
class Releases {
 public:
  void begin() { ++count_; }
  void end() {
    if (--count_ > 0) return;
    const std::lock_guard guard(mutex_);
    none_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::atomic<int> count_{0};
  std::mutex mutex_;
  std::condition_variable none_;
};

/// A release in flight. The C client needs its memory until the completion.
struct Release {
  Release(std::string node, Releases& all) : path(std::move(node)), releases(all) {
    zoo_set_op_init(&operations[0], path.c_str(), "released", 8, -1, nullptr);
    zoo_delete_op_init(&operations[1], path.c_str(), -1);
  }

  static void send(zhandle_t* handle, std::string node, Releases& all) {
    all.begin();
    auto* const release = new Release(std::move(node), all);
    check(
        zoo_amulti(handle, 2, release->operations.data(), release->results.data(), &done, release),
        "zoo_amulti");
  }

  static void done(int code, const void* data) {
    check(code, "release");
    const auto* const release = static_cast<const Release*>(data);
    release->releases.end();
    delete release;
  }

  const std::string path;
  Releases& releases;
  std::array<zoo_op_t, 2> operations{};
  std::array<zoo_op_result_t, 2> results{};
};

/// One contender. `granted` gets its znode, on the C client's completion thread.
class Attempt {
 public:
  using Granted = std::function<void(const std::string&)>;

  /// `makes_parent`: the parent does not exist.
  Attempt(zhandle_t* handle, std::mutex& order, std::string parent, Granted granted,
          bool makes_parent = false)
      : handle_(handle),
        order_(order),
        makes_parent_(makes_parent),
        parent_(std::move(parent)),
        prefix_(parent_ + "/lock-"),
        granted_(std::move(granted)) {}

  void begin() {
    static const std::string kData(130, 'x');
    static char auth[] = "auth";
    static char nobody[] = "";
    static char world[] = "world";
    static char anyone[] = "anyone";
    static std::array<ACL, 2> entries{
        {{ZOO_PERM_ALL, {auth, nobody}}, {ZOO_PERM_READ, {world, anyone}}}};
    static const ACL_vector kAcl{2, entries.data()};
    // Keeps create and exists together: the exists must not count children of later creates.
    const std::lock_guard guard(order_);
    if (makes_parent_) {
      check(zoo_acreate2(handle_, parent_.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_CONTAINER,
                         &made_parent, this),
            "zoo_acreate2");
    }
    check(zoo_acreate2(handle_, prefix_.c_str(), kData.data(), static_cast<int>(kData.size()),
                       &kAcl, ZOO_EPHEMERAL_SEQUENTIAL, &created, this),
          "zoo_acreate2");
    check(zoo_aexists(handle_, parent_.c_str(), 0, &counted, this), "zoo_aexists");
  }

  const std::string& own() const { return own_; }

 private:
  void granted() { granted_(own_); }

  static Attempt& of(const void* data) { return *static_cast<Attempt*>(const_cast<void*>(data)); }

  static void made_parent(int code, const char* /*path*/, const Stat* /*stat*/,
                          const void* /*data*/) {
    check(code, "create2 of the parent");
  }

  static void created(int code, const char* path, const Stat* /*stat*/, const void* data) {
    check(code, "create2");
    of(data).own_ = path;
  }

  static void counted(int code, const Stat* stat, const void* data) {
    check(code, "exists");
    Attempt& self = of(data);
    if (stat->numChildren == 1) {
      self.granted();
      return;
    }
    const std::string& own = self.own_;
    const int sequence = std::stoi(own.substr(own.size() - kSequenceDigits));
    self.watch(sequence - 1);
  }

  void watch(int sequence) {
    std::array<char, 16> digits{};
    std::snprintf(digits.data(), digits.size(), "%010d", sequence);
    check(zoo_awget(handle_, (prefix_ + digits.data()).c_str(), &changed, this, &watched, this),
          "zoo_awget");
  }

  static void watched(int code, const char* /*value*/, int /*length*/, const Stat* /*stat*/,
                      const void* data) {
    if (code == ZOK) return;
    if (code != ZNONODE) check(code, "get");
    Attempt& self = of(data);
    check(zoo_aget_children(self.handle_, self.parent_.c_str(), 0, &listed, &self),
          "zoo_aget_children");
  }

  static void listed(int code, const String_vector* names, const void* data) {
    check(code, "get_children");
    Attempt& self = of(data);
    const std::string own = self.own_.substr(self.parent_.size() + 1);
    std::string before;
    for (int i = 0; i < names->count; ++i) {
      const std::string name = names->data[i];
      if (name < own && name > before) before = name;
    }
    if (before.empty()) {
      self.granted();
    } else {
      self.watch(std::stoi(before.substr(before.size() - kSequenceDigits)));
    }
  }

  static void changed(zhandle_t* /*handle*/, int type, int /*state*/, const char* /*path*/,
                      void* data) {
    if (type == ZOO_CHANGED_EVENT) static_cast<Attempt*>(data)->granted();
  }

  zhandle_t* const handle_;
  std::mutex& order_;
  const bool makes_parent_;
  const std::string parent_;
  const std::string prefix_;
  const Granted granted_;
  std::string own_;
};

class FloorLock final : public Lock {
 public:
  FloorLock(zhandle_t* handle, std::mutex& order, Releases& releases, const std::string& path,
            bool makes_parent)
      : handle_(handle),
        releases_(releases),
        attempt_(
            handle, order, path, [this](const std::string&) { wake(); }, makes_parent) {}

  void lock() override {
    attempt_.begin();
    std::unique_lock lock(mutex_);
    granted_.wait(lock, [this] { return held_; });
    held_ = false;
  }
  void unlock() override { Release::send(handle_, attempt_.own(), releases_); }

  /// The C client has no re-entry, so this measures a std::recursive_mutex.
  void nest(std::size_t pairs) override {
    const std::lock_guard guard(nested_);
    for (std::size_t i = 0; i < pairs; ++i) {
      nested_.lock();
      nested_.unlock();
    }
  }

 private:
  void wake() {
    const std::lock_guard guard(mutex_);
    held_ = true;
    granted_.notify_one();
  }

  zhandle_t* const handle_;
  Releases& releases_;
  Attempt attempt_;
  std::mutex mutex_;
  std::condition_variable granted_;
  bool held_ = false;
  std::recursive_mutex nested_;
};

/// The lock of a single process: one znode serves all its threads, and a hand-off sends no request.
class LocalLock final : public Lock {
 public:
  explicit LocalLock(FifoLock& shared) : shared_(shared) {}

  void lock() override { shared_.lock(); }
  void unlock() override { shared_.unlock(); }
  void nest(std::size_t /*pairs*/) override {}

 private:
  FifoLock& shared_;
};

class FloorSession final : public Session {
 public:
  FloorSession(const std::string& hosts, const Params& params)
      : is_local_(params.has("max_local_handoffs")),
        is_cold_(params.text("kind") == "cold"),
        raw_(hosts, params.seconds("timeout")) {
    if (is_cold_) raw_.make_path(params.text("path"));  // the parent of the paths
  }
  ~FloorSession() override { releases_.wait(); }

  std::unique_ptr<Lock> make_lock(const std::string& path) override {
    if (is_local_) return std::make_unique<LocalLock>(local_);
    if (!is_cold_) raw_.make_path(path);
    return std::make_unique<FloorLock>(raw_.handle(), order_, releases_, path, is_cold_);
  }

  void queue(const std::string& path, std::function<void()> held) override {
    waiters_
        .emplace_back(raw_.handle(), order_, path,
                      [this, held = std::move(held)](const std::string& node) {
                        held();
                        Release::send(raw_.handle(), node, releases_);
                      })
        .begin();
  }

  void flush() override { releases_.wait(); }

 private:
  const bool is_local_;
  const bool is_cold_;
  FifoLock local_;               // for the only path in that mode
  std::deque<Attempt> waiters_;  // until the session ends: its threads refer to them
  std::mutex order_;
  Releases releases_;
  RawSession raw_;  // last: its threads use the other members
};

class Floor final : public Contestant {
 public:
  explicit Floor(std::string hosts) : hosts_(std::move(hosts)) {}

  std::string version() const override { return "C client " ZOO_VERSION; }
  std::string absence(const Params& params) const override {
    return params.has("keep_idle_for") ? "none" : "";
  }
  std::unique_ptr<Session> connect(const Params& params) override {
    return std::make_unique<FloorSession>(hosts_, params);
  }

 private:
  const std::string hosts_;
};

}  // namespace

std::unique_ptr<Contestant> make_floor(std::string hosts) {
  return std::make_unique<Floor>(std::move(hosts));
}

}  // namespace zklock::bench
