// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "zklock/acl_policy.h"
#include "zklock/client/port/coordinator.h"

namespace zklock::model {

using client::Operation;
using client::Reply;
using client::request::WatchEvent;
using core::AnsweredBy;
using core::SessionId;
using core::Status;

/// A visitor made of lambdas.
template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

/// The alternatives of Operation, in its order.
enum class OperationKind : std::size_t {
  create_contender,
  count_children,
  create_parents,
  list_children,
  get,
  get_and_watch,
  check,
  remove,
  announce_and_delete,
  list_and_watch,
  exists_and_watch,
  transaction,
  sync,
};
inline constexpr std::size_t kOperationKinds = std::variant_size_v<Operation>;

/// The kinds of requests that a fault selects.
using KindSet = std::bitset<kOperationKinds>;

/// Returns the set of this kind; without a value, of all kinds.
inline KindSet kinds(std::optional<OperationKind> only) noexcept {
  return only ? KindSet().set(static_cast<std::size_t>(*only)) : KindSet().set();
}

inline OperationKind kind_of(const Operation& operation) noexcept {
  return static_cast<OperationKind>(operation.index());
}
/// Returns who answers it.
AnsweredBy answered_by(OperationKind kind) noexcept;
inline bool is_quorum_operation(OperationKind kind) noexcept {
  return answered_by(kind) == AnsweredBy::quorum;
}

/// Identifies the secret of one client, which its coordinator adds to every connection. 0: no
/// client.
enum class Credential : std::uint64_t {};

/// The ACL of a znode, limited to the ACLs that zklock and the tests write.
struct NodeAcl {
  std::int32_t everyone = AclEntry::all;  ///< bits of AclEntry::Permission
  Credential owner{};                     ///< the client with all permissions; 0: none

  /// Returns whether the client has one of these permissions.
  bool allows(std::int32_t permissions, Credential client) const noexcept {
    return (everyone & permissions) != 0 || (owner != Credential{} && owner == client);
  }
};

struct Node {
  std::string data;
  NodeAcl acl;
  std::int64_t czxid = 0;
  std::int64_t mzxid = 0;
  std::int64_t pzxid = 0;  ///< of the last child change
  std::int32_t version = 0;
  std::int64_t created_ms = 0;
  SessionId owner;  ///< of an ephemeral znode; 0: not ephemeral
  bool container = false;
  std::int32_t counter = 0;           ///< the next child's sequence number
  std::vector<std::string> children;  ///< names, unordered
};

/// The znodes by path. It is a value type, so a server that lags can retain an old tree.
class Tree {
 public:
  Tree() { nodes_.try_emplace("/"); }
  const Node* find(std::string_view path) const;
  Node* find(std::string_view path);
  /// REQUIRES for both: the parent exists. They check nothing else. add() does not update the
  /// parent's pzxid when the parent's counter is at its end.
  Node& add(std::string path, Node node);
  void remove(const std::string& path);
  const std::map<std::string, Node, std::less<>>& nodes() const noexcept { return nodes_; }

 private:
  std::map<std::string, Node, std::less<>> nodes_;
};

/// The servers' rule for exists.
enum class ExistsRule {
  needs_nothing,
  needs_read,  ///< with ZOOKEEPER-2590, if the znode exists
};

/// Returns a server's answer to `client` from the tree. REQUIRES: it is no quorum operation.
Reply read(const Tree& tree, const Operation& operation, Credential client, ExistsRule rule);

Reply status_only(Status status);

// Parts of znode paths. REQUIRES: the path is valid and not "/".
std::string_view parent_of(std::string_view path);
std::string_view name_of(std::string_view path);

}  // namespace zklock::model
