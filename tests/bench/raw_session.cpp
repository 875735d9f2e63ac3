// SPDX-License-Identifier: Apache-2.0
#include "bench/raw_session.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace zklock::bench {

void check(int code, const char* what) {
  if (code == ZOK) return;
  std::fprintf(stderr, "zklock_bench: %s: %s\n", what, zerror(code));
  std::_Exit(1);
}

RawSession::RawSession(const std::string& hosts, Clock::duration session_timeout) {
  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(session_timeout);
  handle_ = zookeeper_init2(hosts.c_str(), &RawSession::on_event, static_cast<int>(timeout.count()),
                            nullptr, this, ZOO_NO_LOG_CLIENTENV, nullptr);
  if (handle_ == nullptr) check(ZSYSTEMERROR, "zookeeper_init2");
  // zklock sets this too. By default the C client resolves the servers' names in every turn, which
  // takes longer than the rest.
  zoo_set_servers_resolution_delay(handle_, -1);
  constexpr std::string_view kSecret = "bench:secret";
  check(zoo_add_auth(handle_, "digest", kSecret.data(), static_cast<int>(kSecret.size()), nullptr,
                     nullptr),
        "zoo_add_auth");
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, std::chrono::seconds(30), [this] { return connected_; })) {
    check(ZCONNECTIONLOSS, "connect");
  }
}

RawSession::~RawSession() {
  zookeeper_close(handle_);
}

void RawSession::on_event(zhandle_t* /*handle*/, int type, int state, const char* /*path*/,
                          void* self) {
  if (type != ZOO_SESSION_EVENT || state != ZOO_CONNECTED_STATE) return;
  auto& session = *static_cast<RawSession*>(self);
  const std::lock_guard guard(session.mutex_);
  session.connected_ = true;
  session.changed_.notify_all();
}

void RawSession::make_path(const std::string& path) {
  for (auto end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const int code = zoo_create(handle_, path.substr(0, end).c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE,
                                0, nullptr, 0);
    if (code != ZNODEEXISTS) check(code, "zoo_create");
    if (end == std::string::npos) return;
  }
}

int RawSession::count_children(const std::string& path) {
  Stat stat{};
  const int code = zoo_exists(handle_, path.c_str(), 0, &stat);
  if (code == ZNONODE) return 0;
  check(code, "zoo_exists");
  return stat.numChildren;
}

}  // namespace zklock::bench
