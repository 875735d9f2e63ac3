// SPDX-License-Identifier: Apache-2.0
#include "service.h"

#include <exception>
#include <utility>

namespace billing {

// Accepts postings during one leadership. Its destructor answers `false` for each posting that was
// not written.
class Service::OpenInbox {
 public:
  explicit OpenInbox(Service& service) : service_(service) {
    const std::lock_guard guard(service_.mutex_);
    service_.open_ = true;
  }
  ~OpenInbox() {
    const std::lock_guard guard(service_.mutex_);
    service_.open_ = false;
    service_.writing_ = false;
    for (Request& request : service_.inbox_) request.written.set_value(false);
    service_.inbox_.clear();
    service_.changed_.notify_all();
  }
  OpenInbox(const OpenInbox&) = delete;
  OpenInbox& operator=(const OpenInbox&) = delete;

 private:
  Service& service_;
};

Service::Service(zklock::Client& client, Ledger& ledger, const ServiceOptions& options)
    : client_(client),
      ledger_(ledger),
      options_(options),
      election_(client, options.path, {.label = "billing"},
                [this](const zklock::Leadership& leadership) { lead(leadership); }) {}

void Service::start() {
  election_.start();
}

std::future<bool> Service::post(Posting posting) {
  Request request{std::move(posting), {}};
  auto written = request.written.get_future();
  const std::lock_guard guard(mutex_);
  if (!open_ || stopping_ || !election_.has_leadership()) {
    request.written.set_value(false);
  } else {
    inbox_.push_back(std::move(request));
    changed_.notify_all();
  }
  return written;
}

void Service::lead(const zklock::Leadership& leadership) {
  if (!ledger_.begin(leadership.token())) return;  // a later leader has begun
  const OpenInbox inbox(*this);
  write(leadership);
}

void Service::write(const zklock::Leadership& leadership) {
  const std::stop_token ended = leadership.end_token();
  while (auto request = next(ended)) {
    try {
      const bool written = ledger_.post(leadership.token(), request->posting);
      request->written.set_value(written);
      if (!written) return;  // a later leader has begun
    } catch (...) {
      request->written.set_exception(std::current_exception());
      throw;  // the election logs it, and contends again after a pause
    }
  }
}

// Blocks until there is a request. Returns nullopt when the leadership has ended.
std::optional<Service::Request> Service::next(const std::stop_token& ended) {
  std::unique_lock lock(mutex_);
  writing_ = false;
  changed_.notify_all();
  changed_.wait(lock, ended, [this] { return !inbox_.empty(); });
  if (ended.stop_requested()) return std::nullopt;
  writing_ = true;
  Request request = std::move(inbox_.front());
  inbox_.pop_front();
  return request;
}

bool Service::stop() {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.wait_for(lock, options_.stop_limit, [this] { return inbox_.empty() && !writing_; });
  }
  election_.close();
  return client_.flush(options_.stop_limit);
}

bool Service::is_live() const {
  if (client_.health().state == zklock::HealthState::failed) return false;
  const std::lock_guard guard(mutex_);
  return stopping_ || !election_.error();
}

bool Service::is_ready() const {
  const std::lock_guard guard(mutex_);
  return open_ && !stopping_ && election_.has_leadership();
}

Reply Service::reply_to(std::string_view path) const {
  if (path == "/metrics") {
    const auto families = zklock::metric_families(client_.metrics());
    return {200, std::string(zklock::kMetricsContentType), zklock::metrics_text(families)};
  }
  const bool asks_readiness = path == "/readyz";
  if (!asks_readiness && path != "/livez") return {404, "text/plain", "not found\n"};
  const bool good = asks_readiness ? is_ready() : is_live();
  std::string text = good ? "ok\n" : (asks_readiness ? "not the leader\n" : "failed\n");
  for (const auto& problem : client_.health().problems) text += problem.text + '\n';
  if (const auto error = election_.error()) text += std::string(error->what()) + '\n';
  return {good ? 200 : 503, "text/plain", std::move(text)};
}

}  // namespace billing
