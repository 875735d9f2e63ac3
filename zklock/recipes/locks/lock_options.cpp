// SPDX-License-Identifier: Apache-2.0
#include "zklock/lock_options.h"

namespace zklock {

LockOptions::operator ExclusiveOptions() const {
  return {.on_node_lost = on_node_lost,
          .listener = listener,
          .executor = executor,
          .max_hold = max_hold,
          .expiry_notice = expiry_notice};
}

LockOptions::operator CohortOptions() const {
  return {.on_node_lost = on_node_lost,
          .listener = listener,
          .executor = executor,
          .max_hold = max_hold,
          .expiry_notice = expiry_notice};
}

ExclusiveOptions::operator CohortOptions() const {
  return {.on_node_lost = on_node_lost,
          .listener = listener,
          .executor = executor,
          .max_hold = max_hold,
          .expiry_notice = expiry_notice,
          .lock_delay = lock_delay};
}

}  // namespace zklock
