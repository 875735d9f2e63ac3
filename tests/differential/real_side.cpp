// SPDX-License-Identifier: Apache-2.0
#include "tests/differential/real_side.h"

#include <limits>
#include <stdexcept>
#include <utility>

#include "support/snapshot.h"
#include "zklock/client/zookeeper/make_coordinator.h"
#include "zklock/client/zookeeper/zk_error.h"
#include "zklock/testing/servers/expire_session.h"
#include "zklock/testing/servers/super_digest.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::differential {
namespace {

// The parent of all paths, so that the clients have a chroot.
const std::string kRoot = "/differential";

testing::TestServerOptions server_options() {
  auto flags = testing::plain_snapshot_flags();
  // The large interval prevents the deletion of containers during a script.
  flags.emplace_back("-Dznode.container.checkIntervalMs=2000000000");
  return {.extra_jvm_flags = std::move(flags)};
}

void check(int rc, const std::string& what) {
  if (rc != ZOK) throw std::runtime_error(what + ": " + zerror(rc));
}

void check(bool done, const std::string& what) {
  if (!done) throw std::runtime_error(what);
}

/// An ACL that gives everyone these permissions.
class EveryoneAcl {
 public:
  explicit EveryoneAcl(std::int32_t everyone) : entry_{everyone, {scheme_, id_}} {}
  EveryoneAcl(const EveryoneAcl&) = delete;
  EveryoneAcl& operator=(const EveryoneAcl&) = delete;
  ACL_vector get() { return {1, &entry_}; }

 private:
  char scheme_[6] = "world";
  char id_[7] = "anyone";
  ACL entry_;
};

}  // namespace

RealSide::RealSide(const std::array<std::size_t, 3>& ends) : server_(server_options()) {
  start_server();
  make_end_directories(ends);
  connect_operator();
  check(operator_->create("/live").rc, "create /live");
  for (std::size_t c = 0; c < kClients; ++c) connect(c);
}

RealSide::~RealSide() {
  for (Client& client : clients_) client.coordinator->close();
}

void RealSide::start_server() {
  server_.start();
  check(server_.wait_until_serving(), "no server: " + server_.log());
}

void RealSide::make_end_directories(const std::array<std::size_t, 3>& ends) {
  {
    testing::RawClient raw(server_.hosts());
    check(raw.create(kRoot).rc, "create " + kRoot);
    for (std::size_t left = 0; left < ends.size(); ++left) {
      for (std::size_t i = 0; i < ends.at(left); ++i) {
        std::string path = "/end" + std::to_string(left) + "-" + std::to_string(i);
        check(raw.create(kRoot + path).rc, "create " + path);
        end_directories_.at(left).push_back(std::move(path));
      }
    }
  }
  server_.restart();  // the server writes a snapshot at its start
  check(server_.wait_until_serving(), "no server: " + server_.log());
  server_.stop();
  for (std::size_t left = 0; left < ends.size(); ++left) {
    for (const std::string& path : end_directories_.at(left)) {
      testing::set_sequence_counter(
          server_.directory(), kRoot + path,
          std::numeric_limits<std::int32_t>::max() - static_cast<std::int32_t>(left));
    }
  }
  start_server();
}

void RealSide::connect_operator() {
  testing::RawClientOptions options;
  options.session_timeout = std::chrono::seconds(60);
  operator_ = std::make_unique<testing::RawClient>(server_.hosts() + kRoot, options);
  check(operator_->add_digest(std::string(testing::kSuperDigest)), "add the operator's digest");
}

void RealSide::connect(std::size_t client) {
  zklock::ClientOptions options;
  auto& proxy = clients_.at(client).proxy;
  if (!proxy) proxy = std::make_unique<testing::FaultProxy>(std::vector{server_.port()});
  options.hosts = proxy->hosts() + kRoot;
  // After an expiry the C client may wait two thirds of this time for a server's answer.
  options.session_timeout = std::chrono::seconds(9);
  options.connection_timeout = std::chrono::seconds(60);
  options.retry_delay_min = std::chrono::milliseconds(1);
  options.retry_delay_max = std::chrono::milliseconds(10);
  const std::size_t before = journal_.sessions(client);
  auto log = std::make_unique<client::DrainedLog>(options);
  clients_.at(client).coordinator = client::make_zookeeper_coordinator(options, **log);
  clients_.at(client).log = std::move(log);
  clients_.at(client).coordinator->start(session_logs_.at(client));
  check(journal_.wait_for_session(client, before), "a client does not connect");
  make_sign_of_life(client);
}

void RealSide::make_sign_of_life(std::size_t client) {
  Client& made = clients_.at(client);
  made.sign_of_life = "/live/" + std::to_string(++made_);
  journal_.expect_reply(client);
  made.coordinator->submit(
      {.operation =
           client::request::Transaction{
               {}, {client::request::write::Create{.path = made.sign_of_life, .ephemeral = true}}}},
      [this, client](const client::Reply&) { journal_.replied_to_fence(client); });
  check(settle(), "no reply");
  journal_.forget_quorum(client);
}

model::ExistsRule RealSide::exists_rule() {
  const std::string path = "/unreadable";
  EveryoneAcl nothing(ZOO_PERM_ADMIN);
  check(operator_->create(path, {}, 0, nothing.get()).rc, "create " + path);
  const int rc = testing::RawClient(server_.hosts() + kRoot).exists(path).rc;
  check(rc == ZOK || rc == ZNOAUTH, "exists " + path);
  return rc == ZOK ? model::ExistsRule::needs_nothing : model::ExistsRule::needs_read;
}

bool RealSide::can_begin(const Script& script) const {
  return !script.left_to_end ||
         !end_directories_.at(static_cast<std::size_t>(*script.left_to_end)).empty();
}

void RealSide::begin(const Script& script) {
  directory_ = "/s" + std::to_string(++made_);
  check(operator_->create(directory_).rc, "create " + directory_);
  if (script.left_to_end) {
    auto& left = end_directories_.at(static_cast<std::size_t>(*script.left_to_end));
    end_directory_ = left.back();
    left.pop_back();
  }
  journal_.begin_script();
}

void RealSide::end() {
  journal_.begin_script();  // events of the deletion are not recorded
  check(operator_->delete_recursive(directory_), "delete " + directory_);
}

void RealSide::close(std::size_t client) {
  Client& closing = clients_.at(client);
  closing.coordinator->close();
  // The server may end the session only after the client has stopped waiting for that.
  check(testing::eventually([&] { return operator_->exists(closing.sign_of_life).rc == ZNONODE; },
                            std::chrono::seconds(60), std::chrono::milliseconds(1)),
        "a closed session does not end");
  connect(client);
}

void RealSide::expire(std::size_t client) {
  const std::size_t before = journal_.sessions(client);
  testing::expire_session(server_.hosts(), journal_.current_session(client).value);
  check(journal_.wait_for_session(client, before), "a client does not connect again");
  make_sign_of_life(client);
}

void RealSide::disconnect(std::size_t client) {
  clients_.at(client).proxy->refuse();
  check(journal_.wait_for_connection(client, false), "a connection does not break");
}

void RealSide::reconnect(std::size_t client) {
  clients_.at(client).proxy->accept();
  check(journal_.wait_for_connection(client, true), "a client does not connect again");
}

Status RealSide::create(const std::string& path, const std::string& data, std::int32_t everyone) {
  EveryoneAcl acl(everyone);
  return client::to_status(operator_->create(path, data, 0, acl.get()).rc);
}

Status RealSide::set_data(const std::string& path, const std::string& data) {
  return client::to_status(operator_->set_data(path, data).rc);
}

Status RealSide::set_acl(const std::string& path, std::int32_t everyone) {
  EveryoneAcl acl(everyone);
  return client::to_status(operator_->set_acl(path, acl.get()));
}

Status RealSide::remove(const std::string& path) {
  return client::to_status(operator_->delete_node(path));
}

std::vector<std::string> RealSide::children(const std::string& path) {
  return operator_->children(path).names;
}

}  // namespace zklock::differential
