// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "zklock/cli/core/duration.h"
#include "zklock/cli/core/snapshot.h"
#include "zklock/client.h"
#include "zklock/survey.h"

namespace zklock::cli {

/// Reads all locks below a path again and again, on a thread of its own. Between two passes it
/// pauses for at least half the duration of the last one. The destructor closes the client, which
/// ends a pass that waits for a reply, and joins the thread.
class SurveyThread {
 public:
  struct Plan {
    std::string root;
    SurveyOptions limits;
    Duration interval;  ///< between the begins of two passes
  };
  using OnSnapshot = std::function<void(std::shared_ptr<const Snapshot>)>;
  using OnError = std::function<void(std::string)>;

  /// The callbacks run on the thread. Throws: Error(invalid_path) for the root.
  SurveyThread(Client& client, Plan plan, OnSnapshot on_snapshot, OnError on_error);
  SurveyThread(const SurveyThread&) = delete;
  SurveyThread& operator=(const SurveyThread&) = delete;
  ~SurveyThread();

  /// Begins the next pass now, unless one runs.
  void hurry();

 private:
  void run(const std::stop_token& stop);

  Client& client_;
  const Plan plan_;
  const OnSnapshot on_snapshot_;
  const OnError on_error_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool hurries_ = false;
  std::jthread thread_;  ///< last: joined before the members are destroyed
};

}  // namespace zklock::cli
