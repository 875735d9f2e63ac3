// SPDX-License-Identifier: Apache-2.0
// The calls that change no znode: reads, sync, the removal of a watch.
#include <string>
#include <utility>

#include "zklock/client/zookeeper/call.h"

namespace zklock::client {
namespace {

enum SubRequest : std::size_t { first, exists_with_watch };

/// Sends exists with a watch from within a completion. Sends nothing if the connection is lost,
/// even if the event of that loss is still to come.
int watch_existence(const CallContext& context, const std::string& path, const void* data) {
  if (context.handle == nullptr) return ZINVALIDSTATE;
  if (zoo_state(context.handle) != ZOO_CONNECTED_STATE) return ZCONNECTIONLOSS;
  return zoo_aexists(context.handle, path.c_str(), 1, &HandleCallbacks::on_stat, data);
}

/// An exists, getChildren2 or getData of one znode, with or without a watch.
class ReadCall final : public Call {
 public:
  ReadCall(ReadKind kind, std::string path, request::OnWatchEvent on_event, CallHeader header)
      : Call(std::move(header)),
        kind_(kind),
        watch_{std::move(path), kind == ReadKind::list ? WatchKind::children : WatchKind::data},
        on_event_(std::move(on_event)) {}

  void forget_watch() noexcept override { on_event_ = nullptr; }

  int issue(const CallContext& context) override {
    // on_event_ is copied, because the call is issued again later if it cannot be sent now.
    if (watches() && !context.watches.expect(id(), watch_, on_event_)) return refuse_watch(context);
    const void* const data = add_pending(context, RequestKind::read, first);
    const int code = drop_if_unsent(context, read(context.handle, data));
    if (code != ZOK) settle(ServerWatch::nothing, context);
    return code;
  }

  bool complete(std::size_t sub_request, const Completion& completion,
                const CallContext& context) override {
    const bool is_refused = watches() && completion.code == ZNOAUTH;
    if (is_refused && kind_ == ReadKind::get && sub_request == first) {
      return !send_exists_instead(context);
    }
    context.reply.unreadable = sub_request == exists_with_watch;
    if (is_refused && (kind_ == ReadKind::exists || sub_request == exists_with_watch)) {
      // A server that requires READ permission for an exists refuses only an existing znode. So the
      // client knows that it exists, and checks repeatedly whether it still does.
      set_status(context, ZOK);
      settle(ServerWatch::refused, context);
      context.reply.unreadable = true;
      return true;
    }
    set_status(context, completion.code, {"READ", watch_.path});
    settle(server_watch(sub_request, context.reply.status), context);
    copy_result(completion, context);
    return true;
  }

 private:
  bool watches() const noexcept { return on_event_ != nullptr; }

  int read(zhandle_t* handle, const void* data) const {
    const char* const path = watch_.path.c_str();
    const int watch = watches() ? 1 : 0;
    switch (kind_) {
      case ReadKind::exists:
        return zoo_aexists(handle, path, watch, &HandleCallbacks::on_stat, data);
      case ReadKind::list:
        return zoo_aget_children2(handle, path, watch, &HandleCallbacks::on_strings, data);
      case ReadKind::get: break;
    }
    return zoo_aget(handle, path, watch, &HandleCallbacks::on_data, data);
  }

  /// The client has no READ permission. Before ZooKeeper 3.8.4 and 3.9.2, exists requires none.
  /// Returns false if the reply is complete, because nothing was sent.
  bool send_exists_instead(const CallContext& context) {
    begin_send();
    const void* const data = add_pending(context, RequestKind::read, exists_with_watch);
    const int code = drop_if_unsent(context, watch_existence(context, watch_.path, data));
    if (code == ZOK) return true;
    set_status(context, code);
    settle(ServerWatch::nothing, context);
    return false;
  }

  /// Returns what the servers have after a reply with this status.
  ServerWatch server_watch(std::size_t sub_request, Status status) const noexcept {
    const bool is_missing = status == Status::no_node;
    if (sub_request == exists_with_watch) {
      // If exists does not find the znode, the servers retain the watch nevertheless. If it finds
      // the znode, servers since 3.8.4 and 3.9.2 send events only to clients with READ permission
      // (CVE-2024-23944).
      if (status == Status::ok) return ServerWatch::unreadable;
      return is_missing ? ServerWatch::kept : ServerWatch::nothing;
    }
    const bool is_armed = status == Status::ok || (is_missing && kind_ == ReadKind::exists);
    return is_armed ? ServerWatch::armed : ServerWatch::nothing;
  }

  void settle(ServerWatch server_watch, const CallContext& context) const {
    if (watches()) context.unused_watch = context.watches.settle(id(), server_watch);
  }

  void copy_result(const Completion& completion, const CallContext& context) const {
    Reply& reply = context.reply;
    if (kind_ == ReadKind::list && reply.status == Status::no_node) {
      context.nodes.listed(watch_.path, 0);
    }
    if (reply.status != Status::ok) return;
    if (completion.strings != nullptr) {
      const String_vector& names = *completion.strings;
      context.nodes.listed(watch_.path, static_cast<std::size_t>(names.count));
      reply.children.assign(names.data, names.data + names.count);
    }
    if (completion.value != nullptr && completion.length > 0) {
      reply.data.assign(completion.value, static_cast<std::size_t>(completion.length));
    }
    copy_stat(completion.stat, reply);
  }

  const ReadKind kind_;
  const Watch watch_;  ///< its path is that of the read
  request::OnWatchEvent on_event_;
};

class SyncCall final : public Call {
 public:
  SyncCall(std::string path, CallHeader header) : Call(std::move(header)), path_(std::move(path)) {}

  int issue(const CallContext& context) override {
    const void* const data = add_pending(context, RequestKind::sync);
    return drop_if_unsent(
        context, zoo_async(context.handle, path_.c_str(), &HandleCallbacks::on_string, data));
  }

  bool complete(std::size_t /*sub_request*/, const Completion& completion,
                const CallContext& context) override {
    set_status(context, completion.code);
    return true;
  }

 private:
  const std::string path_;
};

class WatchRemovalCall final : public Call {
 public:
  WatchRemovalCall(Watch watch, CallHeader header)
      : Call(std::move(header)), watch_(std::move(watch)) {}

  int issue(const CallContext& context) override {
    if (!context.watches.begin_removal(watch_)) return refuse(context, Status::ok, {});
    const auto kind = watch_.kind == WatchKind::data ? ZWATCHTYPE_DATA : ZWATCHTYPE_CHILD;
    // The parameter is declared with one star too many: it must be the function itself.
    auto* const on_void = reinterpret_cast<void_completion_t*>(&HandleCallbacks::on_void);
    const void* const data = add_pending(context, RequestKind::read, first);
    return drop_if_unsent(context, zoo_aremove_all_watches(context.handle, watch_.path.c_str(),
                                                           kind, 0, on_void, data));
  }

  bool complete(std::size_t sub_request, const Completion& completion,
                const CallContext& context) override {
    set_status(context, completion.code);
    // The servers have ended the watch without an event. The C client still has it, and would set
    // it again at the next server: it forgets only watches whose removal a server confirms. So the
    // call sets the watch again, to remove it then.
    if (completion.code == ZNOWATCHER && watch_.kind == WatchKind::data) {
      const void* const data = add_pending(context, RequestKind::read, exists_with_watch);
      return drop_if_unsent(context, watch_existence(context, watch_.path, data)) != ZOK;
    }
    // The removal must be repeated. Either its outcome is unknown, and the C client sets the watch
    // again at the next server; or the exists has set the watch again.
    const Status status = context.reply.status;
    const bool watched = status == Status::ok || status == Status::no_node;
    if (sub_request == first ? status == Status::unknown : watched) context.unused_watch = watch_;
    return true;
  }

 private:
  const Watch watch_;
};

}  // namespace

std::shared_ptr<Call> make_read(ReadKind kind, std::string path, request::OnWatchEvent on_event,
                                CallHeader header) {
  return std::make_shared<ReadCall>(kind, std::move(path), std::move(on_event), std::move(header));
}

std::shared_ptr<Call> make_sync(std::string path, CallHeader header) {
  return std::make_shared<SyncCall>(std::move(path), std::move(header));
}

std::shared_ptr<Call> make_watch_removal(Watch watch, CallHeader header) {
  return std::make_shared<WatchRemovalCall>(std::move(watch), std::move(header));
}

}  // namespace zklock::client
