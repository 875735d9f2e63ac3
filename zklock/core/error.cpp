// SPDX-License-Identifier: Apache-2.0
#include "zklock/error.h"

#include "zklock/core/znode_data.h"

namespace zklock {
namespace {

std::string_view text(Errc e) noexcept {
  switch (e) {
    case Errc::invalid_path: return "the lock path is not a usable ZooKeeper path";
    case Errc::invalid_hosts: return "the connection string cannot be parsed";
    case Errc::invalid_option: return "an option has a value outside its range";
    case Errc::not_connected: return "no server could be reached in time";
    case Errc::session_expired: return "the session expired";
    case Errc::node_deleted: return "the znode of the waiting contender was deleted; acquire again";
    case Errc::lock_lost: return "an earlier hold of this owner was lost and is not unlocked yet";
    case Errc::not_owner: return "the owner does not hold the lock";
    case Errc::closed: return "the client was closed or the mutex destroyed";
    case Errc::forked: return "the client belongs to the parent process, from before fork()";
    case Errc::no_auth: return "the ACL does not permit this operation";
    case Errc::auth_failed: return "the servers refused the credential";
    case Errc::invalid_acl: return "the ACL is not usable";
    case Errc::quota_exceeded: return "a quota of the servers is exceeded";
    case Errc::read_only: return "the server has lost its quorum and serves only reads";
    case Errc::sequence_exhausted: return "the sequence counter of the path cannot be reset";
    case Errc::too_many_nodes: return "the session has too many lock nodes";
    case Errc::too_many_watches: return "the session has too many watches";
    case Errc::no_chroot: return "the chroot of the connection string does not exist";
    case Errc::unsupported: return "the ZooKeeper client library was built without support for it";
    case Errc::server_error: return "the server replied with an error";
    case Errc::would_deadlock: return "the owner would wait for its own hold";
    case Errc::settings_mismatch: return "the contenders of the lock have different settings";
    case Errc::no_node: return "the node does not exist";
    case Errc::node_exists: return "the node exists already";
    case Errc::not_empty: return "the node has children";
    case Errc::version_mismatch: return "the node has another version than expected";
    case Errc::too_large: return "the request is larger than ZooKeeper permits";
    case Errc::outcome_unknown: return "the reply was lost; the operation may have been executed";
    case Errc::bad_data: return "a znode of the lock has data that zklock cannot parse";
  }
  return "unknown error";
}

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "zklock"; }
  std::string message(int code) const override {
    return std::string(text(static_cast<Errc>(code)));
  }
};

std::string sentence(Errc code, std::string_view operation, std::string_view path,
                     std::string_view cause) {
  std::string result(operation);
  if (!path.empty()) {
    if (!result.empty()) result += ' ';
    result += path;
  }
  if (!result.empty()) result += ": ";
  result += cause.empty() ? text(code) : cause;
  result += " [zklock:";
  result += std::to_string(static_cast<int>(code));
  result += ']';
  return result;
}

// The path may be unchecked, and terminals would execute its control characters.
std::string shown(std::string_view text) {
  return core::printable(text, text.size());
}

}  // namespace

const std::error_category& error_category() noexcept {
  // Never destroyed: error codes may be compared while static objects are destroyed.
  static const Category& category = *new Category;
  return category;
}

std::error_code make_error_code(Errc e) noexcept {
  return {static_cast<int>(e), error_category()};
}

Error::Error(Errc code, std::string_view operation, std::string_view path, std::string_view cause)
    : std::system_error(make_error_code(code)),
      text_(std::make_shared<Text>(
          Text{shown(path), shown(sentence(code, operation, path, cause))})) {}

const char* Error::what() const noexcept {
  return text_->what.c_str();
}

}  // namespace zklock
