// SPDX-License-Identifier: Apache-2.0
#include "tests/differential/script.h"

#include <array>
#include <optional>
#include <random>
#include <utility>

#include "zklock/client_options.h"

namespace zklock::differential {
namespace {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) { script_.seed = seed; }

  Script make() {
    if (one_in(6)) script_.left_to_end = below(3);
    add_fixed_start();
    const std::size_t steps = 6 + pick(24);
    while (script_.steps.size() < steps) add_step();
    if (offline_) add(ScriptStep::Kind::reconnect, *offline_);
    offline_.reset();
    add_reads();
    return std::move(script_);
  }

 private:
  std::size_t pick(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  std::int32_t below(std::int32_t end) {
    return static_cast<std::int32_t>(pick(static_cast<std::size_t>(end)));
  }
  bool one_in(std::size_t count) { return pick(count) == 0; }
  template <std::size_t n>
  std::string one_of(const std::array<const char*, n>& texts) {
    return texts.at(pick(n));
  }

  ScriptStep& add(ScriptStep::Kind kind, std::size_t client = 0) {
    ScriptStep step;
    step.id = next_id_++;
    step.kind = kind;
    step.client = client;
    return script_.steps.emplace_back(std::move(step));
  }

  void add_fixed_start() {
    for (const char* path : {"/a", "/a/x", "/b"}) {
      if (std::string(path) != "/a" && one_in(4)) continue;
      RequestStep parents;
      parents.kind = OperationKind::create_parents;
      parents.path = {{}, path};
      add(ScriptStep::Kind::submit, pick(kClients)).requests.push_back(std::move(parents));
    }
  }

  // At the end the script reads the znodes that it may have changed.
  void add_reads() {
    for (const char* path : {"", "/a", "/a/x", "/b", "/end"}) {
      if (std::string(path) == "/end" && !script_.left_to_end) continue;
      ScriptStep& step = add(ScriptStep::Kind::submit, pick(kClients));
      for (const OperationKind kind : {OperationKind::list_children, OperationKind::get}) {
        RequestStep read;
        read.kind = kind;
        read.path = {{}, path};
        step.requests.push_back(std::move(read));
      }
    }
  }

  PathRef parent() {
    if (script_.left_to_end && one_in(2)) return {{}, "/end"};
    if (one_in(16)) return node();
    static constexpr std::array kPaths{"/a", "/a", "/a", "/a", "/b", "/a/x", "", "/none"};
    return {{}, one_of(kPaths)};
  }

  PathRef node() {
    if (!created_.empty() && !one_in(3)) {
      // A recent znode is more likely to exist.
      const std::size_t back = pick(std::min<std::size_t>(created_.size(), 6));
      return {created_[created_.size() - 1 - back], one_in(12) ? "/kid" : ""};
    }
    if (one_in(12)) return {{}, "/a/lock-000000000" + std::to_string(pick(8))};
    if (script_.left_to_end && one_in(4)) {
      static constexpr std::array kEnds{"/end", "/end/lock-2147483647", "/end/lock--2147483648"};
      return {{}, one_of(kEnds)};
    }
    static constexpr std::array kPaths{"/a", "/a",   "/a/x",    "/a/x", "/a/x/y",  "/b",
                                       "/b", "/b/z", "/none/x", "",     "/a/x/y/z"};
    return {{}, one_of(kPaths)};
  }

  std::string data() {
    static constexpr std::array kTexts{"", "x", "released", "some more data"};
    return one_of(kTexts);
  }

  std::int32_t version() { return one_in(2) ? -1 : below(3); }

  std::int32_t permissions() {
    using zklock::AclEntry;
    if (one_in(4)) return AclEntry::all;
    static constexpr std::array kKinds{AclEntry::read, AclEntry::write, AclEntry::create,
                                       AclEntry::remove};
    std::int32_t mask = 0;
    for (const auto kind : kKinds) mask |= one_in(2) ? kind : 0;
    return mask;
  }

  void add_step() {
    const std::size_t client = pick(kClients);
    if (offline_ && one_in(4)) {
      add(ScriptStep::Kind::reconnect, *std::exchange(offline_, std::nullopt));
      return;
    }
    const std::size_t drawn = pick(100);
    if (drawn < 66) return add_requests(client);
    if (drawn < 72) return add_unwatch(client);
    if (drawn < 83) {
      ScriptStep& step = add(ScriptStep::Kind::create);
      step.path = node();
      step.data = data();
      step.everyone = permissions();
      return;
    }
    if (drawn < 88) {
      ScriptStep& step = add(ScriptStep::Kind::set_data);
      step.path = node();
      step.data = data();
      return;
    }
    if (drawn < 92) {
      ScriptStep& step = add(ScriptStep::Kind::set_acl);
      step.path = one_in(2) ? parent() : node();
      step.everyone = permissions();
      return;
    }
    if (drawn < 95) {
      add(ScriptStep::Kind::remove).path = node();
      return;
    }
    if (drawn < 98) {
      add(ScriptStep::Kind::remove_subtree).path = one_in(2) ? parent() : node();
      return;
    }
    // On a real server an expiry takes a second, and a reconnect a third: the C client waits.
    if (offline_ == client) return;
    if (drawn < 99) {
      add(one_in(4) ? ScriptStep::Kind::expire : ScriptStep::Kind::close, client);
    } else if (!offline_ && !script_.left_to_end) {
      begin_outage(client);
    }
  }

  // The client misses a change of what it watches.
  void begin_outage(std::size_t client) {
    const PathRef watched = one_in(2) ? node() : parent();
    ScriptStep& watches = add(ScriptStep::Kind::submit, client);
    for (const auto kind : {OperationKind::exists_and_watch, OperationKind::list_and_watch}) {
      RequestStep watch;
      watch.kind = kind;
      watch.path = watched;
      watches.requests.push_back(std::move(watch));
    }
    add(ScriptStep::Kind::disconnect, client);
    offline_ = client;
    if (one_in(3)) {
      add(ScriptStep::Kind::create).path = {watched.made_by, watched.text + "/missed"};
    } else {
      add(one_in(2) ? ScriptStep::Kind::set_data : ScriptStep::Kind::remove_subtree).path = watched;
    }
  }

  void add_unwatch(std::size_t client) {
    if (watches_.empty()) return add_requests(client);
    const auto& [watch, owner] = watches_[pick(watches_.size())];
    add(ScriptStep::Kind::unwatch, owner).watch = watch;
  }

  void add_requests(std::size_t client) {
    ScriptStep& step = add(ScriptStep::Kind::submit, client);
    // At a counter's end, the sequence numbers of a batch depend on timing.
    const std::size_t count = !script_.left_to_end && one_in(5) ? 2 + pick(3) : 1;
    const bool in_batch = count > 1 || offline_ == client;
    std::vector<OperationRef> created;
    for (std::size_t i = 0; i < count; ++i) {
      const OperationRef self{step.id, i};
      RequestStep request = make_request(in_batch);
      // The coordinator makes a second round trip for a znode that it may not read. Whether the
      // server handles the next request of the batch before it depends on timing.
      if (request.kind == OperationKind::get_and_watch && (i + 1 < count || offline_ == client)) {
        request.kind = OperationKind::exists_and_watch;
      }
      const bool names = request.kind == OperationKind::create_contender;
      bool writes_name = false;
      for (const WriteOperation& write : request.writes) writes_name |= write.sequential;
      if (names || writes_name) created.push_back(self);
      if (request.kind == OperationKind::get_and_watch ||
          request.kind == OperationKind::list_and_watch ||
          request.kind == OperationKind::exists_and_watch) {
        watches_.emplace_back(self, client);
      }
      step.requests.push_back(std::move(request));
    }
    created_.insert(created_.end(), created.begin(), created.end());
  }

  RequestStep make_request(bool in_batch) {
    static constexpr std::array kKinds{OperationKind::create_contender,
                                       OperationKind::create_contender,
                                       OperationKind::create_contender,
                                       OperationKind::count_children,
                                       OperationKind::create_parents,
                                       OperationKind::list_children,
                                       OperationKind::get,
                                       OperationKind::get_and_watch,
                                       OperationKind::get_and_watch,
                                       OperationKind::check,
                                       OperationKind::remove,
                                       OperationKind::announce_and_delete,
                                       OperationKind::list_and_watch,
                                       OperationKind::exists_and_watch,
                                       OperationKind::sync,
                                       OperationKind::transaction,
                                       OperationKind::transaction,
                                       OperationKind::transaction};
    RequestStep request;
    request.kind = kKinds.at(pick(kKinds.size()));
    // Requests that are refused at once are answered out of order.
    if (!in_batch && one_in(8)) {
      request.session = one_in(2) ? RequestStep::Session::current : RequestStep::Session::first;
    }
    switch (request.kind) {
      case OperationKind::create_contender: {
        static constexpr std::array kPrefixes{"lock-", "lock-", "read-", "write-", ""};
        request.path = parent();
        request.text = one_of(kPrefixes);
        request.data = data();
        request.makes_path = one_in(2);
        break;
      }
      case OperationKind::create_parents:
      case OperationKind::list_children:
      case OperationKind::count_children:
      case OperationKind::list_and_watch: request.path = one_in(3) ? node() : parent(); break;
      case OperationKind::transaction: fill(request, in_batch); break;
      default: request.path = node(); break;
    }
    if (!in_batch && one_in(150)) request.path = {{}, "/a//x"};  // refused by the client
    if (request.kind == OperationKind::create_parents && request.path.text == "/a//x") {
      request.path.text = "/a";
    }
    return request;
  }

  void fill(RequestStep& request, bool in_batch) {
    request.guarded = one_in(2);
    if (request.guarded) request.path = node();
    const std::size_t count = one_in(2) ? pick(3) : pick(5);
    bool named = false;
    for (std::size_t i = 0; i < count; ++i) {
      WriteOperation write;
      write.kind = static_cast<WriteOperation::Kind>(pick(4));
      write.path = node();
      write.data = data();
      write.version = version();
      if (write.kind == WriteOperation::Kind::create) {
        write.ephemeral = one_in(2);
        write.contender = one_in(2);
        write.sequential = !named && one_in(2);
        named |= write.sequential;
        if (write.sequential || one_in(2)) {
          write.path = parent();
          write.path.text += write.sequential ? "/lock-" : "/new";
        }
      }
      request.writes.push_back(std::move(write));
    }
    // The client refuses an empty transaction at once, out of order.
    if (in_batch && request.writes.empty() && !request.guarded) {
      request.guarded = true;
      request.path = node();
    }
  }

  std::mt19937_64 random_;
  Script script_;
  std::size_t next_id_ = 0;
  std::optional<std::size_t> offline_;  ///< the client that is disconnected
  std::vector<OperationRef> created_;
  std::vector<std::pair<OperationRef, std::size_t>> watches_;
};

std::string to_text(const PathRef& path) {
  if (!path.made_by) return path.text.empty() ? "/" : path.text;
  return "<node of " + std::to_string(path.made_by->step) + "." +
         std::to_string(path.made_by->index) + ">" + path.text;
}

std::string to_text(const WriteOperation& write) {
  static constexpr std::array kKinds{"create ", "set ", "remove ", "check "};
  std::string text = kKinds.at(static_cast<std::size_t>(write.kind)) + to_text(write.path);
  if (write.kind == WriteOperation::Kind::create) {
    if (write.ephemeral) text += " ephemeral";
    if (write.contender) text += " contender";
    if (write.sequential) text += " sequential";
  } else {
    text += " version " + std::to_string(write.version);
  }
  return text;
}

std::string to_text(const RequestStep& request) {
  std::string text = differential::to_text(request.kind);
  if (request.kind != OperationKind::transaction) text += " " + to_text(request.path);
  if (request.kind == OperationKind::create_contender) text += " \"" + request.text + "\"";
  if (request.makes_path) text += " with its path";
  if (request.guarded) text += " guard " + to_text(request.path);
  for (const WriteOperation& write : request.writes) text += "; " + to_text(write);
  if (request.session == RequestStep::Session::current) text += " (current session)";
  if (request.session == RequestStep::Session::first) text += " (first session)";
  return text;
}

}  // namespace

Script make_script(std::uint64_t seed) {
  return Generator(seed).make();
}

std::string to_text(OperationKind kind) {
  switch (kind) {
    case OperationKind::create_contender: return "CreateContender";
    case OperationKind::count_children: return "Exists";
    case OperationKind::create_parents: return "CreateParents";
    case OperationKind::list_children: return "ListChildren";
    case OperationKind::get: return "Get";
    case OperationKind::get_and_watch: return "GetAndWatch";
    case OperationKind::check: return "Check";
    case OperationKind::remove: return "Delete";
    case OperationKind::announce_and_delete: return "AnnounceAndDelete";
    case OperationKind::list_and_watch: return "ListAndWatch";
    case OperationKind::exists_and_watch: return "ExistsAndWatch";
    case OperationKind::transaction: return "Transaction";
    case OperationKind::sync: return "Sync";
  }
  return "?";
}

std::string to_text(const ScriptStep& step) {
  std::string text = std::to_string(step.id) + ": ";
  const std::string client = "client " + std::to_string(step.client);
  switch (step.kind) {
    case ScriptStep::Kind::submit:
      text += client;
      for (const RequestStep& request : step.requests) text += " | " + to_text(request);
      return text;
    case ScriptStep::Kind::unwatch:
      return text + client + " unwatch " + std::to_string(step.watch.step) + "." +
             std::to_string(step.watch.index);
    case ScriptStep::Kind::close: return text + client + " closes";
    case ScriptStep::Kind::expire: return text + client + " expires";
    case ScriptStep::Kind::disconnect: return text + client + " loses its connection";
    case ScriptStep::Kind::reconnect: return text + client + " reconnects";
    case ScriptStep::Kind::create:
      return text + "operator creates " + to_text(step.path) + " for everyone " +
             std::to_string(step.everyone);
    case ScriptStep::Kind::set_data: return text + "operator sets " + to_text(step.path);
    case ScriptStep::Kind::set_acl:
      return text + "operator sets the list of " + to_text(step.path) + " to " +
             std::to_string(step.everyone);
    case ScriptStep::Kind::remove: return text + "operator deletes " + to_text(step.path);
    case ScriptStep::Kind::remove_subtree:
      return text + "operator deletes all of " + to_text(step.path);
  }
  return text;
}

}  // namespace zklock::differential
