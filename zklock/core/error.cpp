// SPDX-License-Identifier: Apache-2.0
#include "zklock/error.h"

#include "zklock/core/znode_data.h"

namespace zklock {
namespace {

struct ErrcTexts {
  std::string_view name;
  std::string_view message;
};

ErrcTexts texts_of(Errc e) noexcept {
  switch (e) {
    case Errc::invalid_path:
      return {"invalid_path", "the lock path is not a usable ZooKeeper path"};
    case Errc::invalid_hosts: return {"invalid_hosts", "the connection string cannot be parsed"};
    case Errc::invalid_option: return {"invalid_option", "an option has a value outside its range"};
    case Errc::not_connected: return {"not_connected", "no server could be reached in time"};
    case Errc::session_expired:
      return {"session_expired", "the session ended while the call waited"};
    case Errc::node_deleted:
      return {"node_deleted", "the znode of the waiting contender was deleted; acquire again"};
    case Errc::lock_lost:
      return {"lock_lost", "an earlier hold of this owner was lost and is not unlocked yet"};
    case Errc::not_owner: return {"not_owner", "the owner does not hold the lock"};
    case Errc::closed: return {"closed", "the client was closed"};
    case Errc::forked:
      return {"forked", "the client belongs to the parent process; make a Client after fork()"};
    case Errc::no_auth: return {"no_auth", "the ACL does not permit this operation"};
    case Errc::auth_failed: return {"auth_failed", "the servers refused the credential"};
    case Errc::invalid_acl:
      return {"invalid_acl", "the servers refused the ACL of ClientOptions::acl"};
    case Errc::quota_exceeded:
      return {"quota_exceeded", "a quota of the servers does not permit the znode; see listquota"};
    case Errc::read_only: return {"read_only", "the server has no quorum, and serves only reads"};
    case Errc::sequence_exhausted:
      return {"sequence_exhausted", "the sequence counter of the path cannot be reset"};
    case Errc::too_many_nodes: return {"too_many_nodes", "the session has too many lock nodes"};
    case Errc::too_many_watches: return {"too_many_watches", "the session has too many watches"};
    case Errc::no_chroot:
      return {"no_chroot", "the chroot of the connection string does not exist"};
    case Errc::unsupported:
      return {"unsupported", "the ZooKeeper client library was built without support for it"};
    case Errc::server_error: return {"server_error", "the server replied with an error"};
    case Errc::would_deadlock: return {"would_deadlock", "the owner would wait for its own hold"};
    case Errc::settings_mismatch:
      return {"settings_mismatch", "the contenders of the lock have different settings"};
    case Errc::no_node: return {"no_node", "the node does not exist"};
    case Errc::node_exists: return {"node_exists", "the node exists already"};
    case Errc::not_empty: return {"not_empty", "the node has children"};
    case Errc::version_mismatch:
      return {"version_mismatch", "the node has another version than expected"};
    case Errc::too_large: return {"too_large", "the request is larger than ZooKeeper permits"};
    case Errc::outcome_unknown:
      return {"outcome_unknown", "the reply was lost; the writes may have been executed"};
    case Errc::bad_data:
      return {"bad_data", "a znode of the lock has data that zklock cannot parse"};
  }
  return {"unknown", "unknown error"};
}

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "zklock"; }
  std::string message(int code) const override {
    return std::string(texts_of(static_cast<Errc>(code)).message);
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
  result += cause.empty() ? texts_of(code).message : cause;
  result += " [";
  result += to_string(code);
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

std::string_view to_string(Errc code) noexcept {
  return texts_of(code).name;
}

Error::Error(Errc code, std::string_view operation, std::string_view path, std::string_view cause)
    : std::system_error(make_error_code(code)),
      text_(std::make_shared<Text>(
          Text{shown(path), shown(sentence(code, operation, path, cause))})) {}

const char* Error::what() const noexcept {
  return text_->what.c_str();
}

}  // namespace zklock
