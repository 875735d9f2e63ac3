// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "chaos/faults.h"
#include "support/raw_client.h"
#include "zklock/owner.h"
#include "zklock/testing/servers/wait_for.h"

namespace zklock::chaos {
namespace {

using namespace std::chrono_literals;
using testing::RawClient;

// The locks whose znodes may be deleted: not the quiet ones and not the leader's.
constexpr std::array<std::size_t, 8> kOpen{0, 1, 2, 6, 7, 8, 9, 10};
constexpr std::array<std::size_t, 3> kMutexes{0, 1, 2};
constexpr std::size_t kDigits = 10;

RawClient connect(const Ensemble& ensemble) {
  testing::RawClientOptions options;
  options.session_timeout = 6s;
  options.connect_timeout = 15s;
  return RawClient(ensemble.hosts() + kChroot, options);
}

bool is_contender(const std::string& name) {
  if (name.size() <= kDigits) return false;
  return std::all_of(name.end() - kDigits, name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Returns the full paths of the contenders in the order of their sequence numbers.
std::vector<std::string> contenders(RawClient& raw, const std::string& path) {
  auto names = raw.children(path).names;
  std::erase_if(names, [](const std::string& name) { return !is_contender(name); });
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.substr(a.size() - kDigits) < b.substr(b.size() - kDigits);
  });
  for (std::string& name : names) name.insert(0, path + "/");
  return names;
}

// Returns the zxid of the contender's fencing token. A downgrade keeps the token, and creates
// another znode with the token in its data.
std::int64_t token_zxid(const std::string& data, std::int64_t czxid) {
  constexpr std::string_view kKey = "\ntoken=";
  const auto found = data.find(kKey);
  return found == std::string::npos ? czxid : std::stoll(data.substr(found + kKey.size()));
}

bool delete_first(RawClient& raw, std::size_t lock, Collector& collector) {
  for (const std::string& node : contenders(raw, kWorkload.at(lock).path)) {
    const auto stat = raw.exists(node);
    if (stat.rc != ZOK) continue;  // deleted meanwhile
    Excuse excuse;
    excuse.lock = lock;
    excuse.zxid_from = excuse.zxid_to = token_zxid(raw.get_data(node).data, stat.stat.czxid);
    excuse.from = now();
    collector.excuse(excuse);
    if (raw.delete_node(node) == ZOK) return true;
  }
  return false;
}

bool delete_parent(RawClient& raw, const Ensemble& ensemble, std::size_t lock,
                   Collector& collector) {
  Excuse excuse;
  excuse.lock = lock;
  excuse.from = now();
  const int rc = raw.delete_recursive(kWorkload.at(lock).path);
  // Every deleted znode is older than this marker.
  const bool marked = testing::eventually([&] {
    try {
      auto marker = connect(ensemble);
      const auto node = marker.create("/marker-", {}, ZOO_EPHEMERAL_SEQUENTIAL);
      excuse.zxid_to = node.stat.czxid;
      return node.rc == ZOK;
    } catch (const testing::ConnectError&) {
      return false;
    }
  });
  if (!marked) collector.claim("no server takes a node for a minute");
  collector.excuse(excuse);
  return rc == ZOK;
}

bool add_strange_children(RawClient& raw, std::size_t lock, std::chrono::milliseconds length) {
  const std::string path = kWorkload.at(lock).path;
  int made = 0;
  for (const char* name : {"lock-", "lock-abc", "lock-99999999999", "foo bar", "-", "lock",
                           "\xC3\xBC", "0000000000x", "lock-00000000-1"}) {
    if (raw.create(path + "/" + name, "released", ZOO_EPHEMERAL).rc == ZOK) ++made;
  }
  std::this_thread::sleep_for(500ms + length);
  return made > 0;
}

// A client that may write "released" into another's znode could end that hold. Foreign znodes are
// skipped: all clients may write them.
bool forge_release(RawClient& raw, std::size_t lock, Collector& collector) {
  bool refused = false;
  for (const std::string& node : contenders(raw, kWorkload.at(lock).path)) {
    if (!raw.get_data(node).data.starts_with("zklock ")) continue;
    const int rc = raw.set_data(node, "released").rc;
    if (rc == ZOK) collector.claim("a stranger could write " + node);
    refused = refused || rc == ZNOAUTH;
  }
  return refused;
}

// Enqueues as a foreign contender. When it holds, "released" is written into its znode, which every
// client may write. The foreign contender still holds then.
bool contend(RawClient& raw, std::size_t lock, std::chrono::milliseconds length,
             Collector& collector) {
  const std::string path = kWorkload.at(lock).path;
  Grant grant;
  grant.id = grant_id(0xFF, 0, 0, 0);
  grant.lock = lock;
  grant.owner = std::hash<Owner>{}(Owner::unique());
  grant.call = now();
  const auto node = raw.create(path + "/lock-", "stranger", ZOO_EPHEMERAL_SEQUENTIAL);
  if (node.rc != ZOK) return false;
  grant.token.zxid = node.stat.czxid;
  const bool first = testing::eventually(
      [&] {
        const auto all = contenders(raw, path);
        return !all.empty() && all.front() == node.path;
      },
      8s, 10ms);
  grant.first = now();
  bool holds = first;
  if (holds) {
    collector.write_to_resource(lock, grant.token);
    static_cast<void>(raw.set_data(node.path, "released"));
    std::this_thread::sleep_for(50ms + length / 2);
  }
  grant.last = now();
  // If the delete succeeds, the znode existed until then.
  holds = raw.delete_node(node.path) == ZOK && holds;
  grant.end = End::released;
  if (holds) collector.grant(grant);
  return holds;
}

}  // namespace

bool do_to_nodes(const PlannedFault& planned, const Ensemble& ensemble, Collector& collector) {
  using enum Fault;
  auto raw = connect(ensemble);
  const std::size_t any = planned.choice % (kWorkload.size() - 1);
  const std::size_t open = kOpen.at(planned.choice % kOpen.size());
  switch (planned.fault) {
    case node_deleted:
      return testing::eventually([&] { return delete_first(raw, open, collector); }, 4s, 10ms);
    case parent_deleted: return delete_parent(raw, ensemble, open, collector);
    case strange_children: return add_strange_children(raw, any, planned.length);
    case release_forged:
      return testing::eventually([&] { return forge_release(raw, any, collector); }, 4s, 10ms);
    case foreign_contender:
      return contend(raw, kMutexes.at(planned.choice % kMutexes.size()), planned.length, collector);
    default: throw std::logic_error("not a fault of nodes: " + name_of(planned.fault));
  }
}

}  // namespace zklock::chaos
