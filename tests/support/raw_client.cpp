// SPDX-License-Identifier: Apache-2.0
#include "support/raw_client.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <system_error>

#include "support/host_list.h"

namespace zklock::testing {

struct RawClient::State {
  ~State() { close(); }

  int close() {
    zhandle_t* const closing = zh;
    zh = nullptr;
    return closing != nullptr ? zookeeper_close(closing) : ZINVALIDSTATE;
  }

  template <typename Predicate>
  bool wait(std::chrono::milliseconds timeout, Predicate predicate) {
    std::unique_lock guard(mutex);
    return changed.wait_for(guard, timeout, predicate);
  }

  void notify(auto change) {
    const std::lock_guard guard(mutex);
    change();
    changed.notify_all();
  }

  zhandle_t* zh = nullptr;
  std::mutex mutex;
  std::condition_variable changed;
  int session_state = 0;       // guarded by mutex
  std::optional<int> auth_rc;  // guarded by mutex
};

namespace {

// The log level is global to the process and belongs to the code under test. So this client does
// not change it, and drops its own lines.
void drop_log(const char*) {}

std::string join(const std::string& parent, const std::string& name) {
  return parent == "/" ? parent + name : parent + "/" + name;
}

int length(const std::string& text) {
  return static_cast<int>(text.size());
}

std::string text_of(const char* text) {
  return text != nullptr ? text : "";
}

}  // namespace

RawClient::RawClient(const std::string& hosts, const RawClientOptions& options)
    : state_(std::make_unique<State>()) {
  const auto on_event = [](zhandle_t*, int type, int new_state, const char*, void* context) {
    if (type != ZOO_SESSION_EVENT) return;
    auto* const state = static_cast<State*>(context);
    state->notify([&] { state->session_state = new_state; });
  };
  state_->zh = zookeeper_init2(with_odd_address_count(hosts).c_str(), on_event,
                               static_cast<int>(options.session_timeout.count()), nullptr,
                               state_.get(), ZOO_NO_LOG_CLIENTENV, drop_log);
  if (state_->zh == nullptr) {
    const std::string cause = std::generic_category().message(errno);
    throw ConnectError("connect to " + hosts + ": " + cause);
  }
  (void)zoo_set_servers_resolution_delay(state_->zh, -1);
  int reached = 0;
  const auto settled = [&] {
    reached = state_->session_state;
    return reached == ZOO_CONNECTED_STATE || reached == ZOO_AUTH_FAILED_STATE;
  };
  (void)state_->wait(options.connect_timeout, settled);
  if (reached == ZOO_CONNECTED_STATE) return;
  throw ConnectError("connect to " + hosts + ": timed out");
}

RawClient::~RawClient() = default;
RawClient::RawClient(RawClient&&) noexcept = default;
RawClient& RawClient::operator=(RawClient&&) noexcept = default;

int RawClient::close() {
  return state_ ? state_->close() : static_cast<int>(ZINVALIDSTATE);
}

zhandle_t* RawClient::handle() const {
  return state_ ? state_->zh : nullptr;
}

int RawClient::state() const {
  return handle() != nullptr ? zoo_state(handle()) : static_cast<int>(ZINVALIDSTATE);
}

std::int64_t RawClient::session_id() const {
  return handle() != nullptr ? zoo_client_id(handle())->client_id : 0;
}

std::array<char, 16> RawClient::session_password() const {
  std::array<char, 16> password{};
  if (handle() != nullptr) {
    std::memcpy(password.data(), zoo_client_id(handle())->passwd, password.size());
  }
  return password;
}

std::chrono::milliseconds RawClient::negotiated_timeout() const {
  return std::chrono::milliseconds(handle() != nullptr ? zoo_recv_timeout(handle()) : 0);
}

CreateReply RawClient::create(const std::string& path, const std::string& data, int flags,
                              const ACL_vector& acl) {
  CreateReply reply;
  if (handle() == nullptr) return {ZINVALIDSTATE, {}, {}};
  std::vector<char> name(path.size() + 16);  // room for the sequence number and the NUL
  reply.rc = zoo_create2(handle(), path.c_str(), data.data(), length(data), &acl, flags,
                         name.data(), static_cast<int>(name.size()), &reply.stat);
  if (reply.rc == ZOK) reply.path = name.data();
  return reply;
}

int RawClient::delete_node(const std::string& path, int version) {
  return handle() != nullptr ? zoo_delete(handle(), path.c_str(), version)
                             : static_cast<int>(ZINVALIDSTATE);
}

int RawClient::list_tree(const std::string& path, std::vector<std::string>& leaves_first) {
  const ChildrenReply below = children(path);
  if (below.rc != ZOK) return below.rc;
  for (const std::string& name : below.names) {
    const int rc = list_tree(join(path, name), leaves_first);
    if (rc != ZOK) return rc;
  }
  leaves_first.push_back(path);
  return ZOK;
}

int RawClient::delete_recursive(const std::string& path) {
  int rc = ZOK;
  for (int attempt = 0; attempt < 20; ++attempt) {
    // Most znodes are leaves: try to delete before listing.
    rc = delete_node(path);
    if (rc == ZNONODE) return ZOK;
    if (rc != ZNOTEMPTY) return rc;
    // Deletes the tree in one multi. Otherwise a contender that lost its znode would create another
    // before the parent is deleted.
    std::vector<std::string> tree;
    rc = list_tree(path, tree);
    if (rc == ZOK) {
      std::vector<zoo_op_t> deletions(tree.size());
      std::vector<zoo_op_result_t> results(tree.size());
      for (std::size_t i = 0; i < tree.size(); ++i) {
        zoo_delete_op_init(&deletions[i], tree[i].c_str(), -1);
      }
      rc = zoo_multi(handle(), static_cast<int>(tree.size()), deletions.data(), results.data());
    }
    if (rc != ZNONODE && rc != ZNOTEMPTY) return rc;
  }
  return rc;
}

StatReply RawClient::set_data(const std::string& path, const std::string& data, int version) {
  StatReply reply;
  if (handle() == nullptr) return {ZINVALIDSTATE, {}};
  reply.rc = zoo_set2(handle(), path.c_str(), data.data(), length(data), version, &reply.stat);
  return reply;
}

DataReply RawClient::get_data(const std::string& path) {
  DataReply reply;
  if (handle() == nullptr) return {ZINVALIDSTATE, {}, {}};
  // The C client truncates data that do not fit; the stat has the true length. The data may grow
  // between two reads.
  int capacity = 4096;
  for (int attempt = 0; attempt < 5; ++attempt) {
    reply.data.resize(static_cast<std::size_t>(capacity));
    int got = capacity;
    reply.rc = zoo_get(handle(), path.c_str(), 0, reply.data.data(), &got, &reply.stat);
    reply.data.resize(reply.rc == ZOK ? static_cast<std::size_t>(std::max(got, 0)) : 0);
    if (reply.rc != ZOK || reply.stat.dataLength <= capacity) break;
    capacity = reply.stat.dataLength;
  }
  return reply;
}

StatReply RawClient::exists(const std::string& path) {
  StatReply reply;
  if (handle() == nullptr) return {ZINVALIDSTATE, {}};
  reply.rc = zoo_exists(handle(), path.c_str(), 0, &reply.stat);
  return reply;
}

ChildrenReply RawClient::children(const std::string& path) {
  ChildrenReply reply;
  if (handle() == nullptr) return {ZINVALIDSTATE, {}};
  String_vector names{};
  reply.rc = zoo_get_children(handle(), path.c_str(), 0, &names);
  if (reply.rc != ZOK) return reply;
  for (int i = 0; i < names.count; ++i) reply.names.emplace_back(names.data[i]);
  (void)deallocate_String_vector(&names);
  std::sort(reply.names.begin(), reply.names.end());
  return reply;
}

AclReply RawClient::get_acl(const std::string& path) {
  AclReply reply;
  if (handle() == nullptr) return {ZINVALIDSTATE, {}, {}};
  ACL_vector acl{};
  reply.rc = zoo_get_acl(handle(), path.c_str(), &acl, &reply.stat);
  if (reply.rc != ZOK) return reply;
  for (int i = 0; i < acl.count; ++i) {
    const ACL& entry = acl.data[i];
    reply.entries.push_back({entry.perms, text_of(entry.id.scheme), text_of(entry.id.id)});
  }
  (void)deallocate_ACL_vector(&acl);
  return reply;
}

int RawClient::set_acl(const std::string& path, const ACL_vector& acl) {
  if (handle() == nullptr) return ZINVALIDSTATE;
  return zoo_set_acl(handle(), path.c_str(), -1, &acl);
}

int RawClient::add_digest(const std::string& credential) {
  if (handle() == nullptr) return ZINVALIDSTATE;
  state_->notify([this] { state_->auth_rc.reset(); });
  const auto on_done = [](int rc, const void* context) {
    auto* const state = static_cast<State*>(const_cast<void*>(context));
    state->notify([&] { state->auth_rc = rc; });
  };
  const int rc = zoo_add_auth(handle(), "digest", credential.data(), length(credential), on_done,
                              state_.get());
  if (rc != ZOK) return rc;
  // Upstream's C client sends the credential with its next packet, at the latest with a ping.
  (void)zoo_aexists(
      handle(), "/", 0, [](int, const Stat*, const void*) {}, nullptr);
  const bool done =
      state_->wait(std::chrono::seconds(10), [this] { return state_->auth_rc.has_value(); });
  return done ? state_->auth_rc.value() : static_cast<int>(ZOPERATIONTIMEOUT);
}

int RawClient::reconfigure(const std::string& joining, const std::string& leaving) {
  if (handle() == nullptr) return ZINVALIDSTATE;
  std::array<char, 4096> members{};
  int size = static_cast<int>(members.size());
  return zoo_reconfig(handle(), joining.c_str(), leaving.c_str(), nullptr, -1, members.data(),
                      &size, nullptr);
}

}  // namespace zklock::testing
