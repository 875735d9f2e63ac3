// SPDX-License-Identifier: Apache-2.0
// The calls that read znodes, and set and remove watches.
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "zklock/client/zookeeper/make_call.h"
#include "zklock/client/zookeeper/zk_error.h"

namespace zklock::client {
namespace {

/// Sends exists with a watch from within a completion. Sends nothing if the connection is lost,
/// even if the event of that loss is still to come.
int watch_existence(const CallContext& context, const char* path, const void* data) {
  if (context.handle == nullptr) return ZINVALIDSTATE;
  if (zoo_state(context.handle) != ZOO_CONNECTED_STATE) return ZCONNECTIONLOSS;
  return zoo_aexists(context.handle, path, 1, &CompletionSink::on_stat, data);
}

/// The handler of a watch. Without a value: a read without a watch.
using Interest = std::optional<WatchRegistry::OnEvent>;

/// A read of one znode, with or without a watch.
class ReadCall : public Call {
 public:
  ReadCall(Watch watch, Interest interest, CallHeader header)
      : Call(std::move(header)), watch_(std::move(watch)), interest_(std::move(interest)) {}

  void forget_watch() noexcept override { interest_.reset(); }

 protected:
  /// The watch that the servers have after the reply.
  enum class ServerWatch {
    nothing,
    kept,   ///< a watch, but not the requested one
    armed,  ///< the requested watch
    /// The requested watch, of an unreadable znode: perhaps without events.
    unreadable,
    refused,  ///< none, because the znode is unreadable
  };

  const char* path() const noexcept { return watch_.path.c_str(); }
  Permission needed(std::string_view permission) const noexcept {
    return {permission, watch_.path};
  }
  bool watches() const noexcept { return interest_.has_value(); }

  /// Sends the first request by `call_c(watch, data)`, which calls the C client.
  template <typename CallC>
  int issue_read(const CallContext& context, CallC&& call_c) {
    OutgoingRequest outgoing(*this, context);
    // interest_ is copied, because the call is issued again later if it cannot be sent now.
    if (watches() && !context.watches.expect(id(), watch_, *interest_)) {
      return refuse_watch(context);
    }
    const int code = outgoing.sent(call_c(watches() ? 1 : 0, outgoing.data()));
    if (code != ZOK && watches()) (void)context.watches.fail(id(), false);
    return code;
  }

  void settle(ServerWatch server_watch, const CallContext& context) {
    if (!watches()) return;
    WatchRegistry& registry = context.watches;
    std::optional<Watch> remove;
    switch (server_watch) {
      case ServerWatch::nothing: remove = registry.fail(id(), false); break;
      case ServerWatch::kept: remove = registry.fail(id(), true); break;
      case ServerWatch::armed: remove = registry.arm(id()); break;
      case ServerWatch::unreadable: remove = registry.arm(id(), EventDelivery::uncertain); break;
      case ServerWatch::refused: remove = registry.arm(id(), EventDelivery::none); break;
    }
    if (remove) context.follow_ups.removals.push_back(std::move(*remove));
  }

  /// If the completion is of an exists with a watch that was refused, completes the call and
  /// returns true. A server that requires READ permission for an exists refuses only an existing
  /// znode. So the client knows that it exists, and checks repeatedly whether it still does.
  bool complete_refused_exists(const Completion& completion, const CallContext& context) {
    if (!watches() || completion.code != ZNOAUTH) return false;
    set_status(context, ZOK);
    settle(ServerWatch::refused, context);
    context.follow_ups.poll_unreadable = true;
    context.reply.unreadable = true;
    return true;
  }

 private:
  const Watch watch_;
  Interest interest_;
};

class ExistsCall final : public ReadCall {
 public:
  ExistsCall(std::string path, Interest interest, CallHeader header)
      : ReadCall({std::move(path), WatchKind::data}, std::move(interest), std::move(header)) {}

  bool complete(std::size_t /*sub_request*/, const Completion& completion,
                const CallContext& context) override {
    if (complete_refused_exists(completion, context)) return true;
    set_status(context, completion.code, needed("READ"));
    const bool known =
        context.reply.status == Status::ok || context.reply.status == Status::no_node;
    settle(known ? ServerWatch::armed : ServerWatch::nothing, context);
    copy_stat(completion.stat, context.reply);
    return true;
  }

 private:
  int issue(const CallContext& context) override {
    return issue_read(context, [&](int watch, const void* data) {
      return zoo_aexists(context.handle, path(), watch, &CompletionSink::on_stat, data);
    });
  }
};

class ListCall final : public ReadCall {
 public:
  ListCall(std::string path, Interest interest, CallHeader header)
      : ReadCall({std::move(path), WatchKind::children}, std::move(interest), std::move(header)) {}

  bool complete(std::size_t /*sub_request*/, const Completion& completion,
                const CallContext& context) override {
    set_status(context, completion.code, needed("READ"));
    settle(context.reply.status == Status::ok ? ServerWatch::armed : ServerWatch::nothing, context);
    if (context.reply.status == Status::no_node) context.nodes.listed(path(), 0);
    if (context.reply.status != Status::ok || completion.strings == nullptr) return true;
    const String_vector& names = *completion.strings;
    context.nodes.listed(path(), static_cast<std::size_t>(names.count));
    context.reply.children.assign(names.data, names.data + names.count);
    copy_stat(completion.stat, context.reply);
    return true;
  }

 private:
  int issue(const CallContext& context) override {
    return issue_read(context, [&](int watch, const void* data) {
      return zoo_aget_children2(context.handle, path(), watch, &CompletionSink::on_strings, data);
    });
  }
};

class GetCall final : public ReadCall {
 public:
  GetCall(std::string path, Interest interest, CallHeader header)
      : ReadCall({std::move(path), WatchKind::data}, std::move(interest), std::move(header)) {}

  bool complete(std::size_t sub_request, const Completion& completion,
                const CallContext& context) override {
    // The client has no READ permission. Before ZooKeeper 3.8.4 and 3.9.2, exists requires none.
    if (watches() && sub_request == get && completion.code == ZNOAUTH) {
      begin_send();
      OutgoingRequest outgoing(*this, context, exists);
      const int code = outgoing.sent(watch_existence(context, path(), outgoing.data()));
      if (code == ZOK) return false;
      set_status(context, code);
      settle(ServerWatch::nothing, context);
      return true;
    }
    if (sub_request == exists && complete_refused_exists(completion, context)) return true;
    set_status(context, completion.code, needed("READ"));
    settle(server_watch(sub_request, context.reply.status), context);
    context.follow_ups.poll_unreadable = watches() && sub_request == exists;
    context.reply.unreadable = sub_request == exists;
    if (context.reply.status != Status::ok) return true;
    if (completion.value != nullptr && completion.length > 0) {
      context.reply.data.assign(completion.value, static_cast<std::size_t>(completion.length));
    }
    copy_stat(completion.stat, context.reply);
    return true;
  }

 private:
  enum SubRequest : std::size_t { get, exists };

  int issue(const CallContext& context) override {
    return issue_read(context, [&](int watch, const void* data) {
      return zoo_aget(context.handle, path(), watch, &CompletionSink::on_data, data);
    });
  }

  // If exists does not find the znode, the servers retain the watch nevertheless. If it finds the
  // znode, servers since 3.8.4 and 3.9.2 send events only to clients with READ permission
  // (CVE-2024-23944).
  static ServerWatch server_watch(std::size_t sub_request, Status status) {
    if (status == Status::ok)
      return sub_request == exists ? ServerWatch::unreadable : ServerWatch::armed;
    return sub_request == exists && status == Status::no_node ? ServerWatch::kept
                                                              : ServerWatch::nothing;
  }
};

class SyncCall final : public Call {
 public:
  SyncCall(std::string path, CallHeader header) : Call(std::move(header)), path_(std::move(path)) {}

  AnsweredBy answered_by(std::size_t /*sub_request*/) const noexcept override {
    return AnsweredBy::leader;
  }

  bool complete(std::size_t /*sub_request*/, const Completion& completion,
                const CallContext& context) override {
    set_status(context, completion.code);
    return true;
  }

 private:
  int issue(const CallContext& context) override {
    OutgoingRequest outgoing(*this, context);
    return outgoing.sent(
        zoo_async(context.handle, path_.c_str(), &CompletionSink::on_string, outgoing.data()));
  }

  const std::string path_;
};

class WatchRemovalCall final : public Call {
 public:
  WatchRemovalCall(Watch watch, CallHeader header)
      : Call(std::move(header)), watch_(std::move(watch)) {}

  bool complete(std::size_t sub_request, const Completion& completion,
                const CallContext& context) override {
    set_status(context, completion.code);
    // The servers have ended the watch without an event. The C client still has it, and would set
    // it again at the next server: it forgets only watches whose removal a server confirms. So the
    // call sets the watch again, to remove it then.
    if (completion.code == ZNOWATCHER && watch_.kind == WatchKind::data) {
      OutgoingRequest outgoing(*this, context, exists);
      const char* const path = watch_.path.c_str();
      return outgoing.sent(watch_existence(context, path, outgoing.data())) != ZOK;
    }
    // The removal must be repeated. Either its outcome is unknown, and the C client sets the watch
    // again at the next server; or the exists has set the watch again.
    const Status status = context.reply.status;
    const bool watched = status == Status::ok || status == Status::no_node;
    if (sub_request == removal ? status == Status::unknown : watched) {
      context.follow_ups.removals.push_back(watch_);
    }
    return true;
  }

 private:
  enum SubRequest : std::size_t { removal, exists };

  int issue(const CallContext& context) override {
    if (!context.watches.begin_removal(watch_)) return refuse(context, Status::ok, {});
    const auto kind = watch_.kind == WatchKind::data ? ZWATCHTYPE_DATA : ZWATCHTYPE_CHILD;
    // The parameter is declared with one star too many: it must be the function itself.
    auto* const on_void = reinterpret_cast<void_completion_t*>(&CompletionSink::on_void);
    OutgoingRequest outgoing(*this, context, removal);
    return outgoing.sent(zoo_aremove_all_watches(context.handle, watch_.path.c_str(), kind, 0,
                                                 on_void, outgoing.data()));
  }

  const Watch watch_;
};

}  // namespace

std::shared_ptr<Call> make(request::CountChildren operation, CallHeader header) {
  return std::make_shared<ExistsCall>(std::move(operation.path), std::nullopt, std::move(header));
}

std::shared_ptr<Call> make(request::ExistsAndWatch operation, CallHeader header) {
  return std::make_shared<ExistsCall>(std::move(operation.path), std::move(operation.on_event),
                                      std::move(header));
}

std::shared_ptr<Call> make(request::ListChildren operation, CallHeader header) {
  return std::make_shared<ListCall>(std::move(operation.path), std::nullopt, std::move(header));
}

std::shared_ptr<Call> make(request::ListAndWatch operation, CallHeader header) {
  return std::make_shared<ListCall>(std::move(operation.path), std::move(operation.on_event),
                                    std::move(header));
}

std::shared_ptr<Call> make(request::Get operation, CallHeader header) {
  return std::make_shared<GetCall>(std::move(operation.path), std::nullopt, std::move(header));
}

std::shared_ptr<Call> make(request::Sync operation, CallHeader header) {
  return std::make_shared<SyncCall>(std::move(operation.path), std::move(header));
}

std::shared_ptr<Call> make(request::GetAndWatch operation, CallHeader header) {
  return std::make_shared<GetCall>(std::move(operation.path), std::move(operation.on_event),
                                   std::move(header));
}

std::shared_ptr<Call> make_watch_removal(Watch watch, CallHeader header) {
  return std::make_shared<WatchRemovalCall>(std::move(watch), std::move(header));
}

}  // namespace zklock::client
