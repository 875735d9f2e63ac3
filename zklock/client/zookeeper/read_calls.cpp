// SPDX-License-Identifier: Apache-2.0
// The calls that read znodes, and set and remove watches.
#include <optional>
#include <string>
#include <utility>

#include "zklock/client/zookeeper/calls.h"
#include "zklock/client/zookeeper/zk_error.h"

namespace zklock::client {
namespace {

/// Sends exists with a watch from within a completion. Sends nothing if the connection is lost,
/// also if the event of that loss is still to come.
int watch_existence(const Wire& wire, const char* path, const void* data) {
  if (wire.handle == nullptr) return ZINVALIDSTATE;
  if (zoo_state(wire.handle) != ZOO_CONNECTED_STATE) return ZCONNECTIONLOSS;
  return zoo_aexists(wire.handle, path, 1, &CompletionSink::on_stat, data);
}

/// The handler of a watch. Without a value: a read without a watch.
using Interest = std::optional<WatchRegistry::OnEvent>;

/// Returns the sequence number of the next child, which is the count of creates below the znode.
/// The `cversion` of a server counts creates and deletes: 2 * creates - numChildren, in 32 bits.
core::Sequence next_sequence(const Stat& stat) noexcept {
  const auto twice =
      static_cast<std::uint32_t>(stat.cversion) + static_cast<std::uint32_t>(stat.numChildren);
  return {static_cast<std::int32_t>(twice / 2)};
}

/// A read of one znode, with or without a watch.
class ReadCall : public Call {
 public:
  ReadCall(Watch watch, Interest interest, Origin origin)
      : Call(std::move(origin)), watch_(std::move(watch)), interest_(std::move(interest)) {}

  bool is_write(std::size_t /*part*/) const noexcept override { return false; }
  void forget_watch() noexcept override { interest_.reset(); }

 protected:
  /// The watch that the servers have after the reply.
  enum class ServerWatch {
    nothing,
    kept,   ///< a watch, but not the requested one
    armed,  ///< the requested watch
    mute,   ///< the requested watch, perhaps without events
  };

  const char* path() const noexcept { return watch_.path.c_str(); }
  bool watches() const noexcept { return interest_.has_value(); }

  /// Sends the first request by `call_c(watch, data)`, which calls the C client.
  template <typename CallC>
  int issue_read(const Wire& wire, CallC&& call_c) {
    Departure departure(*this, wire);
    // interest_ is copied, because the call is issued again later if it cannot be sent now.
    if (watches() && !wire.watches.expect(id(), watch_, *interest_)) {
      return refuse(wire, Status::too_many_watches,
                    "the session's watches have reached max_watch_bytes");
    }
    const int code = departure.sent(call_c(watches() ? 1 : 0, departure.data()));
    if (code != ZOK && watches()) (void)wire.watches.fail(id(), false);
    return code;
  }

  void settle(ServerWatch server_watch, const Wire& wire) {
    if (!watches()) return;
    const bool wanted = server_watch == ServerWatch::armed || server_watch == ServerWatch::mute;
    auto remove = wanted ? wire.watches.arm(id(), server_watch == ServerWatch::mute)
                         : wire.watches.fail(id(), server_watch == ServerWatch::kept);
    if (remove) wire.follow_ups.removals.push_back(std::move(*remove));
  }

  static void describe(const Stat* stat, const Wire& wire) {
    if (stat == nullptr) return;
    wire.reply.token = {stat->czxid};
    wire.reply.created_ms = stat->ctime;
    wire.reply.ephemeral_owner = {stat->ephemeralOwner};
    wire.reply.child_count = stat->numChildren;
    wire.reply.last_child = {stat->pzxid};
    wire.reply.version = stat->version;
    wire.reply.acl_version = stat->aversion;
    wire.reply.next = next_sequence(*stat);
  }

 private:
  const Watch watch_;
  Interest interest_;
};

class ExistsCall final : public ReadCall {
 public:
  ExistsCall(std::string path, Interest interest, Origin origin)
      : ReadCall({std::move(path), WatchKind::data}, std::move(interest), std::move(origin)) {}

  bool complete(std::size_t /*part*/, const Completion& completion, const Wire& wire) override {
    answer(wire, completion.code);
    const bool known = wire.reply.status == Status::ok || wire.reply.status == Status::no_node;
    settle(known ? ServerWatch::armed : ServerWatch::nothing, wire);
    describe(completion.stat, wire);
    return true;
  }

 private:
  int issue(const Wire& wire) override {
    return issue_read(wire, [&](int watch, const void* data) {
      return zoo_aexists(wire.handle, path(), watch, &CompletionSink::on_stat, data);
    });
  }
};

class ListCall final : public ReadCall {
 public:
  ListCall(std::string path, Interest interest, Origin origin)
      : ReadCall({std::move(path), WatchKind::children}, std::move(interest), std::move(origin)) {}

  bool complete(std::size_t /*part*/, const Completion& completion, const Wire& wire) override {
    answer(wire, completion.code);
    settle(wire.reply.status == Status::ok ? ServerWatch::armed : ServerWatch::nothing, wire);
    if (wire.reply.status == Status::no_node) wire.nodes.listed(path(), 0);
    if (wire.reply.status != Status::ok || completion.strings == nullptr) return true;
    const String_vector& names = *completion.strings;
    wire.nodes.listed(path(), static_cast<std::size_t>(names.count));
    wire.reply.children.assign(names.data, names.data + names.count);
    describe(completion.stat, wire);
    return true;
  }

 private:
  int issue(const Wire& wire) override {
    return issue_read(wire, [&](int watch, const void* data) {
      return zoo_aget_children2(wire.handle, path(), watch, &CompletionSink::on_strings, data);
    });
  }
};

class GetCall final : public ReadCall {
 public:
  GetCall(std::string path, Interest interest, Origin origin)
      : ReadCall({std::move(path), WatchKind::data}, std::move(interest), std::move(origin)) {}

  bool complete(std::size_t part, const Completion& completion, const Wire& wire) override {
    // The client has no READ permission, but exists requires none.
    if (watches() && part == get && completion.code == ZNOAUTH) {
      sent_again();
      Departure departure(*this, wire, exists);
      const int code = departure.sent(watch_existence(wire, path(), departure.data()));
      if (code == ZOK) return false;
      answer(wire, code);
      settle(ServerWatch::nothing, wire);
      return true;
    }
    answer(wire, completion.code);
    settle(server_watch(part, wire.reply.status), wire);
    wire.follow_ups.ask_for_nodes = watches() && part == exists;
    wire.reply.mute = part == exists;
    if (wire.reply.status != Status::ok) return true;
    if (completion.value != nullptr && completion.length > 0) {
      wire.reply.data.assign(completion.value, static_cast<std::size_t>(completion.length));
    }
    describe(completion.stat, wire);
    return true;
  }

 private:
  enum Part : std::size_t { get, exists };

  int issue(const Wire& wire) override {
    return issue_read(wire, [&](int watch, const void* data) {
      return zoo_aget(wire.handle, path(), watch, &CompletionSink::on_data, data);
    });
  }

  // If exists does not find the znode, the servers retain the watch nevertheless. If it finds the
  // znode, servers since 3.8.4 and 3.9.2 send events only to clients with READ permission
  // (CVE-2024-23944).
  static ServerWatch server_watch(std::size_t part, Status status) {
    if (status == Status::ok) return part == exists ? ServerWatch::mute : ServerWatch::armed;
    return part == exists && status == Status::no_node ? ServerWatch::kept : ServerWatch::nothing;
  }
};

class GetAclCall final : public ReadCall {
 public:
  GetAclCall(std::string path, Origin origin)
      : ReadCall({std::move(path), WatchKind::data}, std::nullopt, std::move(origin)) {}

  bool complete(std::size_t /*part*/, const Completion& completion, const Wire& wire) override {
    answer(wire, completion.code);
    if (wire.reply.status != Status::ok || completion.acl == nullptr) return true;
    for (std::int32_t i = 0; i < completion.acl->count; ++i) {
      const ACL& entry = completion.acl->data[i];
      wire.reply.acl.push_back({entry.perms, entry.id.scheme, entry.id.id});
    }
    describe(completion.stat, wire);
    return true;
  }

 private:
  int issue(const Wire& wire) override {
    return issue_read(wire, [&](int /*watch*/, const void* data) {
      return zoo_aget_acl(wire.handle, path(), &CompletionSink::on_acl, data);
    });
  }
};

class WatchRemovalCall final : public Call {
 public:
  WatchRemovalCall(Watch watch, Origin origin)
      : Call(std::move(origin)), watch_(std::move(watch)) {}

  bool is_write(std::size_t /*part*/) const noexcept override { return false; }

  bool complete(std::size_t part, const Completion& completion, const Wire& wire) override {
    answer(wire, completion.code);
    // The servers have ended the watch without an event. The C client still has it, and would set
    // it again at the next server: it forgets only watches whose removal a server confirms. So the
    // call sets the watch again, to remove it then.
    if (completion.code == ZNOWATCHER && watch_.kind == WatchKind::data) {
      Departure departure(*this, wire, exists);
      const char* const path = watch_.path.c_str();
      return departure.sent(watch_existence(wire, path, departure.data())) != ZOK;
    }
    // The removal must be repeated. Either its outcome is unknown, and the C client sets the watch
    // again at the next server; or the exists has set the watch again.
    const Status status = wire.reply.status;
    const bool watched = status == Status::ok || status == Status::no_node;
    if (part == removal ? status == Status::unknown : watched) {
      wire.follow_ups.removals.push_back(watch_);
    }
    return true;
  }

 private:
  enum Part : std::size_t { removal, exists };

  int issue(const Wire& wire) override {
    if (!wire.watches.begin_removal(watch_)) return refuse(wire, Status::ok, {});
    const auto kind = watch_.kind == WatchKind::data ? ZWATCHTYPE_DATA : ZWATCHTYPE_CHILD;
    // The parameter is declared with one star too many: it must be the function itself.
    auto* const on_void = reinterpret_cast<void_completion_t*>(&CompletionSink::on_void);
    Departure departure(*this, wire, removal);
    return departure.sent(zoo_aremove_all_watches(wire.handle, watch_.path.c_str(), kind, 0,
                                                  on_void, departure.data()));
  }

  const Watch watch_;
};

class PresenceCheckCall final : public Call {
 public:
  PresenceCheckCall(std::string path, Origin origin)
      : Call(std::move(origin)), path_(std::move(path)) {}

  bool is_write(std::size_t /*part*/) const noexcept override { return false; }

  bool complete(std::size_t /*part*/, const Completion& completion, const Wire& wire) override {
    answer(wire, completion.code);
    if (wire.reply.status == Status::no_node) {
      wire.follow_ups.departures.push_back({path_, WatchKind::data});
    }
    return true;
  }

 private:
  int issue(const Wire& wire) override {
    Departure departure(*this, wire);
    return departure.sent(
        zoo_aexists(wire.handle, path_.c_str(), 0, &CompletionSink::on_stat, departure.data()));
  }

  const std::string path_;
};

}  // namespace

std::shared_ptr<Call> make(request::CountChildren operation, Origin origin) {
  return std::make_shared<ExistsCall>(std::move(operation.path), std::nullopt, std::move(origin));
}

std::shared_ptr<Call> make(request::ExistsAndWatch operation, Origin origin) {
  return std::make_shared<ExistsCall>(std::move(operation.path), std::move(operation.on_event),
                                      std::move(origin));
}

std::shared_ptr<Call> make(request::ListChildren operation, Origin origin) {
  return std::make_shared<ListCall>(std::move(operation.path), std::nullopt, std::move(origin));
}

std::shared_ptr<Call> make(request::ListAndWatch operation, Origin origin) {
  return std::make_shared<ListCall>(std::move(operation.path), std::move(operation.on_event),
                                    std::move(origin));
}

std::shared_ptr<Call> make(request::Get operation, Origin origin) {
  return std::make_shared<GetCall>(std::move(operation.path), std::nullopt, std::move(origin));
}

std::shared_ptr<Call> make(request::GetAcl operation, Origin origin) {
  return std::make_shared<GetAclCall>(std::move(operation.path), std::move(origin));
}

std::shared_ptr<Call> make(request::GetAndWatch operation, Origin origin) {
  return std::make_shared<GetCall>(std::move(operation.path), std::move(operation.on_event),
                                   std::move(origin));
}

std::shared_ptr<Call> make_watch_removal(Watch watch, Origin origin) {
  return std::make_shared<WatchRemovalCall>(std::move(watch), std::move(origin));
}

std::shared_ptr<Call> make_presence_check(std::string path, Origin origin) {
  return std::make_shared<PresenceCheckCall>(std::move(path), std::move(origin));
}

}  // namespace zklock::client
