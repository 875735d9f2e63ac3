// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/zk_error.h"

#include <algorithm>
#include <string_view>

#include <zookeeper/zookeeper.h>

namespace zklock::client {
namespace {

using core::AnsweredBy;
using core::Status;

// A code that servers send and the C header does not define.
constexpr int kQuotaExceeded = -125;

struct Meaning {
  std::string_view name;
  Status status;
  std::optional<AnsweredBy> by;  ///< see answered_by()
};

// The switch has no default, so the compiler reports a code that a newer header adds.
Meaning meaning_of(int code) noexcept {
  constexpr AnsweredBy kServer = AnsweredBy::server;
  constexpr AnsweredBy kQuorum = AnsweredBy::quorum;
  constexpr std::nullopt_t kPerhapsNone = std::nullopt;
  constexpr Status kError = Status::server_error;
  if (code == kQuotaExceeded) return {"ZQUOTAEXCEEDED", Status::quota_exceeded, kQuorum};
  switch (static_cast<ZOO_ERRORS>(code)) {
    case ZOK: return {"ZOK", Status::ok, kQuorum};

    // The reply was lost, or the request may have reached the leader on another path.
    case ZRUNTIMEINCONSISTENCY: return {"ZRUNTIMEINCONSISTENCY", Status::unknown, kPerhapsNone};
    case ZCONNECTIONLOSS: return {"ZCONNECTIONLOSS", Status::unknown, kPerhapsNone};
    case ZOPERATIONTIMEOUT: return {"ZOPERATIONTIMEOUT", Status::unknown, kPerhapsNone};
    case ZSESSIONMOVED: return {"ZSESSIONMOVED", Status::unknown, kPerhapsNone};

    case ZSESSIONEXPIRED: return {"ZSESSIONEXPIRED", Status::session_ended, kPerhapsNone};
    // The C client refused the call, because the session of its handle has ended.
    case ZINVALIDSTATE: return {"ZINVALIDSTATE", Status::session_ended, kPerhapsNone};
    // The coordinator corrects this if it closed the handle of a session that had ended before.
    case ZCLOSING: return {"ZCLOSING", Status::closed, kPerhapsNone};

    case ZNONODE: return {"ZNONODE", Status::no_node, kQuorum};
    case ZNODEEXISTS: return {"ZNODEEXISTS", Status::node_exists, kQuorum};
    case ZNOTEMPTY: return {"ZNOTEMPTY", Status::not_empty, kQuorum};
    case ZBADVERSION: return {"ZBADVERSION", Status::bad_version, kQuorum};
    // With zookeeper.enableEagerACLCheck, each server checks these itself, except in a multi.
    case ZNOAUTH: return {"ZNOAUTH", Status::no_auth, kServer};
    case ZINVALIDACL: return {"ZINVALIDACL", Status::invalid_acl, kServer};
    case ZAUTHFAILED: return {"ZAUTHFAILED", Status::auth_failed, kServer};
    case ZSESSIONCLOSEDREQUIRESASLAUTH:
      return {"ZSESSIONCLOSEDREQUIRESASLAUTH", Status::auth_failed, kServer};
    case ZNOTREADONLY: return {"ZNOTREADONLY", Status::read_only, kServer};
    case ZTHROTTLEDOP: return {"ZTHROTTLEDOP", Status::throttled, kServer};

    case ZSYSTEMERROR: return {"ZSYSTEMERROR", kError, kPerhapsNone};
    case ZDATAINCONSISTENCY: return {"ZDATAINCONSISTENCY", kError, kPerhapsNone};
    case ZMARSHALLINGERROR: return {"ZMARSHALLINGERROR", kError, kPerhapsNone};
    case ZUNIMPLEMENTED: return {"ZUNIMPLEMENTED", kError, kPerhapsNone};
    case ZBADARGUMENTS: return {"ZBADARGUMENTS", kError, kPerhapsNone};
    case ZNEWCONFIGNOQUORUM: return {"ZNEWCONFIGNOQUORUM", kError, kPerhapsNone};
    case ZRECONFIGINPROGRESS: return {"ZRECONFIGINPROGRESS", kError, kPerhapsNone};
    case ZSSLCONNECTIONERROR: return {"ZSSLCONNECTIONERROR", kError, kPerhapsNone};
    case ZAPIERROR: return {"ZAPIERROR", kError, kPerhapsNone};
    case ZNOCHILDRENFOREPHEMERALS: return {"ZNOCHILDRENFOREPHEMERALS", kError, kQuorum};
    case ZINVALIDCALLBACK: return {"ZINVALIDCALLBACK", kError, kPerhapsNone};
    case ZNOTHING: return {"ZNOTHING", kError, kPerhapsNone};
    case ZEPHEMERALONLOCALSESSION: return {"ZEPHEMERALONLOCALSESSION", kError, kServer};
    case ZNOWATCHER: return {"ZNOWATCHER", kError, kServer};
    case ZRECONFIGDISABLED: return {"ZRECONFIGDISABLED", kError, kServer};
  }
  return {"unknown code", kError, kPerhapsNone};
}

}  // namespace

Status to_status(int code) noexcept {
  return meaning_of(code).status;
}

std::string code_name(int code) {
  return std::string(meaning_of(code).name) + " (" + std::to_string(code) + ")";
}

std::optional<AnsweredBy> answered_by(int code, RequestKind kind) noexcept {
  const bool is_of_acl = code == ZNOAUTH || code == ZINVALIDACL;
  if (kind == RequestKind::multi && is_of_acl) return AnsweredBy::quorum;
  const auto by = meaning_of(code).by;
  if (!by || kind == RequestKind::write || kind == RequestKind::multi) return by;
  return std::min(*by, kind == RequestKind::sync ? AnsweredBy::leader : AnsweredBy::server);
}

}  // namespace zklock::client
