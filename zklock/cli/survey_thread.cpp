// SPDX-License-Identifier: Apache-2.0
#include "zklock/cli/survey_thread.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "zklock/cli/command_support.h"
#include "zklock/cli/survey_pass.h"
#include "zklock/error.h"

namespace zklock::cli {

SurveyThread::SurveyThread(Client& client, Plan plan, OnSnapshot on_snapshot, OnError on_error)
    : client_(client),
      plan_(std::move(plan)),
      on_snapshot_(std::move(on_snapshot)),
      on_error_(std::move(on_error)) {
  { const Survey checked(client_, plan_.root, plan_.limits); }  // throws if the root is no path
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

SurveyThread::~SurveyThread() {
  thread_.request_stop();
  client_.close();
}

void SurveyThread::hurry() {
  {
    const std::lock_guard guard(mutex_);
    hurries_ = true;
  }
  changed_.notify_all();
}

void SurveyThread::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto begin = std::chrono::steady_clock::now();
    try {
      auto snapshot = read_snapshot(client_, plan_.root, plan_.limits, stop);
      if (stop.stop_requested()) return;
      on_snapshot_(std::make_shared<const Snapshot>(std::move(snapshot)));
    } catch (const Error& error) {
      if (stop.stop_requested()) return;
      on_error_(without_api_names(error.what()));
    } catch (const std::exception& error) {  // for example, no memory
      on_error_(error.what());
    }
    const auto end = std::chrono::steady_clock::now();
    const auto next = std::max(begin + plan_.interval, end + (end - begin) / 2);
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, stop, next, [this] { return hurries_; });
    hurries_ = false;
  }
}

}  // namespace zklock::cli
