// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "zklock/core/session.h"
#include "zklock/core/status.h"
#include "zklock/core/znode_name.h"
#include "zklock/fencing_token.h"

namespace zklock::client {

using core::Instant;
using core::SessionId;
using core::Status;

/// The reply to any request. The comment of the request says which members are set.
struct Reply {
  Status status = Status::server_error;
  SessionId session;  ///< on which it was sent; 0: never sent
  /// A lower bound of the time when the first byte left. If the request needed a second round trip,
  /// it is a bound for the second one. Meaningful only if the request was sent.
  Instant sent_at;
  std::string detail;  ///< cause of the status, in words
  std::string name;    ///< the created znode's name, without its parent
  FencingToken token;  ///< czxid of the znode
  std::int32_t child_count = 0;
  core::Zxid pzxid;  ///< zxid of the last child create or delete
  std::vector<std::string> children;
  core::Sequence next_sequence;  ///< of the next child
  std::string data;
  SessionId ephemeral_owner;
  std::int64_t created_ms = 0;   ///< ctime, milliseconds since 1970
  std::int32_t version = 0;      ///< data version
  std::int32_t data_length = 0;  ///< dataLength: bytes of the znode's data
  /// The index of the operation of a Transaction that failed. If there is a guard, its index is 0.
  /// -1: no operation is known to have failed.
  int failed_operation = -1;
  /// If true, the client has no READ permission on the znode of this watch, and the servers may
  /// withhold its events. The client then checks repeatedly whether the znode exists, so `deleted`
  /// comes late, or never if the znode is recreated between two checks. `changed` may never come.
  /// get_by_quorum() also sets it, without a watch: then only the stat is known. Some servers do
  /// not show even the stat: see is_without_stat().
  bool unreadable = false;
  /// If true, a CreateContender with `makes_path` created its znode but not the path, because the
  /// path existed.
  bool path_existed = false;
  /// The reply to the exists of the parent: of a CreateContender with `counts` whose create was
  /// sent, and of get_by_quorum() if is_without_stat(). Otherwise null. If only the exists of the
  /// CreateContender could not be sent, its status is server_error.
  std::shared_ptr<const Reply> parent;

  /// Returns whether only the existence of the znode is known: neither its data nor its stat.
  /// Servers with ZOOKEEPER-2590 refuse an exists without READ permission, but only if the znode
  /// exists.
  /// REQUIRES: the status is ok.
  bool is_without_stat() const noexcept { return unreadable && token == FencingToken{}; }
};

/// A function that takes a reply; it can be null. Unlike a std::function, it allocates no memory
/// for a function that captures one shared_ptr. Copies can share the captures of a larger function.
///
/// Thread-safety: a value.
class ReplyHandler {
 public:
  ReplyHandler() noexcept = default;
  template <class F>
  requires(!std::same_as<F, ReplyHandler> && std::invocable<F&, Reply>) ReplyHandler(F function) {
    if constexpr (sizeof(F) <= kMaxSize && alignof(F) <= alignof(void*) &&
                  std::is_nothrow_move_constructible_v<F>) {
      new (storage_) F(std::move(function));
      actions_ = &kActionsOf<F>;
    } else {
      *this = [shared = std::make_shared<F>(std::move(function))](Reply reply) {
        (*shared)(std::move(reply));
      };
    }
  }
  ReplyHandler(const ReplyHandler& other) : actions_(other.actions_) {
    if (actions_ != nullptr) actions_->copy(storage_, other.storage_);
  }
  ReplyHandler(ReplyHandler&& other) noexcept { take(other); }
  ReplyHandler& operator=(ReplyHandler other) noexcept {
    reset();
    take(other);
    return *this;
  }
  ~ReplyHandler() { reset(); }

  explicit operator bool() const noexcept { return actions_ != nullptr; }
  /// REQUIRES: it is not null.
  void operator()(Reply reply) const { actions_->call(storage_, std::move(reply)); }

 private:
  static constexpr std::size_t kMaxSize = 3 * sizeof(void*);

  struct Actions {
    void (*call)(void* function, Reply&& reply);
    void (*copy)(void* to, const void* from);
    void (*move)(void* to, void* from) noexcept;  ///< destroys the moved function
    void (*destroy)(void* function) noexcept;
  };
  template <class F>
  static constexpr Actions kActionsOf = {
      [](void* function, Reply&& reply) { (*static_cast<F*>(function))(std::move(reply)); },
      [](void* to, const void* from) { new (to) F(*static_cast<const F*>(from)); },
      [](void* to, void* from) noexcept {
        new (to) F(std::move(*static_cast<F*>(from)));
        static_cast<F*>(from)->~F();
      },
      [](void* function) noexcept { static_cast<F*>(function)->~F(); }};

  void take(ReplyHandler& other) noexcept {
    actions_ = std::exchange(other.actions_, nullptr);
    if (actions_ != nullptr) actions_->move(storage_, other.storage_);
  }
  void reset() noexcept {
    if (const auto* const actions = std::exchange(actions_, nullptr)) actions->destroy(storage_);
  }

  const Actions* actions_ = nullptr;  ///< null: no function
  alignas(void*) mutable std::byte storage_[kMaxSize];
};

}  // namespace zklock::client
