// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "zklock/engine/ticked_watch.h"

namespace zklock::detail {

/// A holder's watch for the request znode by which another client requests or forces the release;
/// see core/release_request_data.h.
///
/// | state (set) | reply or event                          | next                               |
/// |-------------|-----------------------------------------|------------------------------------|
/// | looking     | the znode does not exist                | looking                            |
/// |             | the znode exists, or is created         | reading                            |
/// | reading     | the data request or force a release     | reading; the lock node is notified |
/// |             | the data changed                        | reading                            |
/// |             | the znode does not exist, or is deleted | looking                            |
/// | both        | a request failed                        | due                                |
///
/// A request znode that requests a release notifies the lock node once, even if its data change.
/// Data that force a release always notify it.
///
/// Thread-safety: none. REQUIRES: within a Section of the path lock. Part of its lock node.
class ReleaseRequestWatch final : public TickedWatch {
 public:
  using TickedWatch::TickedWatch;

 private:
  void begin() override { look(); }
  void look();
  void read(bool anew);
};

}  // namespace zklock::detail
