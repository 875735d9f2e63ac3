// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "zklock/client.h"
#include "zklock/client/dispatcher.h"

namespace zklock::recipes {

/// Tells connection states to the user's listeners: each in order, one call at a time.
///
/// Thread-safety: all members, from any thread.
class ConnectionListeners {
 public:
  explicit ConnectionListeners(std::shared_ptr<client::Dispatcher> dispatcher);

  Subscription add(std::function<void(ConnectionState)> listener);
  void tell(ConnectionState state);

 private:
  struct List;
  std::shared_ptr<client::Dispatcher> dispatcher_;
  std::shared_ptr<List> list_;
};

}  // namespace zklock::recipes
