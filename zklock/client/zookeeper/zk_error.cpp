// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/zk_error.h"

#include <string_view>

#include <zookeeper/zookeeper.h>

namespace zklock::client {
namespace {

using core::Status;

// A code that servers send and the C header does not define.
constexpr int kQuotaExceeded = -125;

// The status of numbers that are in no header. The switches below have no default, so the compiler
// reports a code that a newer header adds.
constexpr Status kForeign = Status::server_error;

std::string_view header_name(ZOO_ERRORS code) noexcept {
  switch (code) {
    case ZOK: return "ZOK";
    case ZSYSTEMERROR: return "ZSYSTEMERROR";
    case ZRUNTIMEINCONSISTENCY: return "ZRUNTIMEINCONSISTENCY";
    case ZDATAINCONSISTENCY: return "ZDATAINCONSISTENCY";
    case ZCONNECTIONLOSS: return "ZCONNECTIONLOSS";
    case ZMARSHALLINGERROR: return "ZMARSHALLINGERROR";
    case ZUNIMPLEMENTED: return "ZUNIMPLEMENTED";
    case ZOPERATIONTIMEOUT: return "ZOPERATIONTIMEOUT";
    case ZBADARGUMENTS: return "ZBADARGUMENTS";
    case ZINVALIDSTATE: return "ZINVALIDSTATE";
    case ZNEWCONFIGNOQUORUM: return "ZNEWCONFIGNOQUORUM";
    case ZRECONFIGINPROGRESS: return "ZRECONFIGINPROGRESS";
    case ZSSLCONNECTIONERROR: return "ZSSLCONNECTIONERROR";
    case ZAPIERROR: return "ZAPIERROR";
    case ZNONODE: return "ZNONODE";
    case ZNOAUTH: return "ZNOAUTH";
    case ZBADVERSION: return "ZBADVERSION";
    case ZNOCHILDRENFOREPHEMERALS: return "ZNOCHILDRENFOREPHEMERALS";
    case ZNODEEXISTS: return "ZNODEEXISTS";
    case ZNOTEMPTY: return "ZNOTEMPTY";
    case ZSESSIONEXPIRED: return "ZSESSIONEXPIRED";
    case ZINVALIDCALLBACK: return "ZINVALIDCALLBACK";
    case ZINVALIDACL: return "ZINVALIDACL";
    case ZAUTHFAILED: return "ZAUTHFAILED";
    case ZCLOSING: return "ZCLOSING";
    case ZNOTHING: return "ZNOTHING";
    case ZSESSIONMOVED: return "ZSESSIONMOVED";
    case ZNOTREADONLY: return "ZNOTREADONLY";
    case ZEPHEMERALONLOCALSESSION: return "ZEPHEMERALONLOCALSESSION";
    case ZNOWATCHER: return "ZNOWATCHER";
    case ZRECONFIGDISABLED: return "ZRECONFIGDISABLED";
    case ZSESSIONCLOSEDREQUIRESASLAUTH: return "ZSESSIONCLOSEDREQUIRESASLAUTH";
    case ZTHROTTLEDOP: return "ZTHROTTLEDOP";
  }
  return {};
}

}  // namespace

Status to_status(int code) noexcept {
  if (code == kQuotaExceeded) return Status::quota_exceeded;
  switch (static_cast<ZOO_ERRORS>(code)) {
    case ZOK: return Status::ok;

    // The reply was lost, or the request may have reached the leader on another path.
    case ZRUNTIMEINCONSISTENCY:
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONMOVED: return Status::unknown;

    case ZSESSIONEXPIRED: return Status::session_ended;
    // The C client refused the call, because the session of its handle has ended.
    case ZINVALIDSTATE: return Status::session_ended;
    // The coordinator corrects this if it closed the handle of a session that had ended before.
    case ZCLOSING: return Status::closed;

    case ZNONODE: return Status::no_node;
    case ZNODEEXISTS: return Status::node_exists;
    case ZNOTEMPTY: return Status::not_empty;
    case ZBADVERSION: return Status::bad_version;
    case ZNOAUTH: return Status::no_auth;
    case ZAUTHFAILED:
    case ZSESSIONCLOSEDREQUIRESASLAUTH: return Status::auth_failed;
    case ZINVALIDACL: return Status::invalid_acl;
    case ZNOTREADONLY: return Status::read_only;
    case ZTHROTTLEDOP: return Status::throttled;

    case ZSYSTEMERROR:
    case ZDATAINCONSISTENCY:
    case ZMARSHALLINGERROR:
    case ZUNIMPLEMENTED:
    case ZBADARGUMENTS:
    case ZNEWCONFIGNOQUORUM:
    case ZRECONFIGINPROGRESS:
    case ZSSLCONNECTIONERROR:
    case ZAPIERROR:
    case ZNOCHILDRENFOREPHEMERALS:
    case ZINVALIDCALLBACK:
    case ZNOTHING:
    case ZEPHEMERALONLOCALSESSION:
    case ZNOWATCHER:
    case ZRECONFIGDISABLED: return Status::server_error;
  }
  return kForeign;
}

std::string code_name(int code) {
  std::string_view name = header_name(static_cast<ZOO_ERRORS>(code));
  if (code == kQuotaExceeded) name = "ZQUOTAEXCEEDED";
  if (name.empty()) name = "unknown code";
  return std::string(name) + " (" + std::to_string(code) + ")";
}

std::optional<core::AnsweredBy> answered_by(int code, bool is_multi) noexcept {
  using core::AnsweredBy;
  if (code == kQuotaExceeded) return AnsweredBy::quorum;
  switch (static_cast<ZOO_ERRORS>(code)) {
    case ZOK:
    case ZNONODE:
    case ZBADVERSION:
    case ZNOCHILDRENFOREPHEMERALS:
    case ZNODEEXISTS:
    case ZNOTEMPTY: return AnsweredBy::quorum;

    // With zookeeper.enableEagerACLCheck, each server checks these itself, except in a multi.
    case ZNOAUTH:
    case ZINVALIDACL: return is_multi ? AnsweredBy::quorum : AnsweredBy::server;

    case ZAUTHFAILED:
    case ZNOTREADONLY:
    case ZEPHEMERALONLOCALSESSION:
    case ZNOWATCHER:
    case ZRECONFIGDISABLED:
    case ZSESSIONCLOSEDREQUIRESASLAUTH:
    case ZTHROTTLEDOP: return AnsweredBy::server;

    case ZSYSTEMERROR:
    case ZRUNTIMEINCONSISTENCY:
    case ZDATAINCONSISTENCY:
    case ZCONNECTIONLOSS:
    case ZMARSHALLINGERROR:
    case ZUNIMPLEMENTED:
    case ZOPERATIONTIMEOUT:
    case ZBADARGUMENTS:
    case ZINVALIDSTATE:
    case ZNEWCONFIGNOQUORUM:
    case ZRECONFIGINPROGRESS:
    case ZSSLCONNECTIONERROR:
    case ZAPIERROR:
    case ZSESSIONEXPIRED:
    case ZINVALIDCALLBACK:
    case ZCLOSING:
    case ZNOTHING:
    case ZSESSIONMOVED: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace zklock::client
