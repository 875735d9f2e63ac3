// SPDX-License-Identifier: Apache-2.0
#include "zklock/recipes/observe/survey_reader.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>

#include "zklock/core/child_nodes.h"
#include "zklock/core/lock_path.h"
#include "zklock/core/znode_data.h"
#include "zklock/engine/blocking_requests.h"
#include "zklock/engine/session/process.h"
#include "zklock/error.h"

namespace zklock::detail {

namespace {

using core::Status;
namespace request = client::request;

constexpr const char* kSurvey = "survey";
constexpr std::size_t kMostNameBytes = 128;

std::string checked_root(std::string root) {
  core::check_path(kSurvey, root);
  return root;
}

std::string path_of_child(const std::string& path, std::string_view name) {
  std::string child;
  child.reserve(path.size() + 1 + name.size());
  if (path != "/") child += path;
  child += '/';
  return child.append(name);
}

/// A round has at most the requests of a tenth of a second, so that the rate is even.
std::size_t most_in_flight(std::size_t per_second) {
  if (per_second == 0) return SurveyReader::kMostInFlight;
  return std::clamp<std::size_t>(per_second / 10, 1, SurveyReader::kMostInFlight);
}

core::Duration time_per_request(std::size_t per_second) {
  constexpr std::size_t kNoLimit = 1'000'000'000;
  if (per_second == 0 || per_second >= kNoLimit) return {};
  return core::Duration(std::chrono::seconds(1)) / static_cast<core::Duration::rep>(per_second);
}

/// Frees the data that the survey does not read, so that a round of large znodes needs little
/// memory.
void drop_unread_data(client::Reply& reply) {
  if (reply.data.size() <= core::kMaxTextBytes) return;
  reply.data.resize(core::kMaxTextBytes);
  reply.data.shrink_to_fit();
}

/// Returns about how many bytes the connection has carried for this reply.
std::size_t size_of(const client::Reply& reply) noexcept {
  constexpr std::size_t kLengthField = 4;
  std::size_t bytes = reply.data.empty() ? 0 : static_cast<std::size_t>(reply.data_length);
  for (const std::string& child : reply.children) bytes += kLengthField + child.size();
  return bytes;
}

/// Returns those children that a survey enters, in ascending order. In a lock path, these are the
/// children that zklock does not know. All children of another znode may be directories of users,
/// whatever their names are.
std::vector<std::string> others_among(std::vector<std::string> children, const std::string& path,
                                      bool is_lock) {
  constexpr std::string_view kServersOwn = "zookeeper";
  std::erase_if(children, [&](const std::string& child) {
    if (path == "/" && child == kServersOwn) return true;
    return is_lock && core::kind_of(child) != core::ChildKind::other;
  });
  std::ranges::sort(children);
  return children;
}

/// Removes the first elements of `from`, at most `most`, and returns them.
template <class T>
std::vector<T> take_first(std::vector<T>& from, std::size_t most) {
  const auto last = from.begin() + static_cast<std::ptrdiff_t>(std::min(most, from.size()));
  std::vector<T> taken(std::move_iterator(from.begin()), std::move_iterator(last));
  from.erase(from.begin(), last);
  return taken;
}

}  // namespace

SurveyReader::SurveyReader(std::shared_ptr<ClientCore> core, std::string root,
                           const SurveyOptions& options)
    : core_(std::move(core)),
      root_(checked_root(std::move(root))),
      options_(options),
      most_in_flight_(most_in_flight(options.requests_per_second)),
      per_request_(time_per_request(options.requests_per_second)) {
  core_->check_usable(kSurvey, root_);
  visits_.push_back({.path = root_});
}

SurveyReader::~SurveyReader() {
  if (core_->forked()) keep_for_ever(std::move(core_));
}

// ---- the page -----------------------------------------------------------------------------------

SurveyPage SurveyReader::next(std::size_t entries, Deadline deadline) {
  core_->check_usable(kSurvey, root_);
  if (entries == 0) fail(Errc::invalid_option, "a page must have room for one entry");
  last_success_ = core_->scheduler().now();
  while (!is_full(entries) && !is_read()) {
    if (!run_round(deadline)) break;
  }
  return take_page(entries);
}

bool SurveyReader::is_complete() const noexcept {
  return is_read() && !is_full(1);
}

bool SurveyReader::is_full(std::size_t entries) const noexcept {
  return std::max({page_.locks.size(), page_.empty_znodes.size(), page_.unreadable.size(),
                   page_.too_deep.size()}) >= entries;
}

SurveyPage SurveyReader::take_page(std::size_t entries) {
  return {.locks = take_first(page_.locks, entries),
          .empty_znodes = take_first(page_.empty_znodes, entries),
          .unreadable = take_first(page_.unreadable, entries),
          .too_deep = take_first(page_.too_deep, entries),
          .visited = std::exchange(page_.visited, 0)};
}

void SurveyReader::finish() {
  while (!visits_.empty() && visits_.front().step == Step::done) {
    Visit& first = visits_.front();
    if (first.is_lock()) {
      const QueueView& view = first.view.view();
      first.lock.state = view.lock;
      first.lock.waiters = view.waiters;
      first.lock.is_delayed = view.lock.lock_delay.has_value();
      first.lock.permits = first.view.permits();
      page_.locks.push_back(std::move(first.lock));
    }
    visits_.pop_front();
  }
}

// ---- a round of requests ------------------------------------------------------------------------

bool SurveyReader::run_round(Deadline deadline) {
  std::vector<client::Operation> operations = next_round();
  if (!wait_for_turn(deadline)) return false;
  const core::Instant begin = core_->scheduler().now();
  const core::Duration longest = core_->settings().connection_timeout;
  const Deadline limit = std::min(deadline, Deadline::after(begin, longest));
  next_round_at_ = begin + per_request_ * static_cast<core::Duration::rep>(operations.size());
  auto replies = round_trip(*core_, limit, std::move(operations), drop_unread_data);
  if (!replies) {
    width_ = 1;
    if (limit == deadline) return false;
    fail_unreachable();
  }
  const bool failed = take(*std::move(replies));
  finish();
  const core::Instant end = core_->scheduler().now();
  if (!failed) {
    last_success_ = end;
  } else if (end - last_success_ >= longest) {
    fail_unreachable();
  } else {
    next_round_at_ = std::max(next_round_at_, end + BlockingRequests::kPauseBetweenAttempts);
  }
  return true;
}

std::vector<client::Operation> SurveyReader::next_round() {
  std::vector<client::Operation> operations;
  for (Visit& visit : visits_) visit.requests = 0;
  for (std::size_t i = 0; operations.size() < width_; ++i) {
    if (i == visits_.size() && !enter_next()) break;
    Visit& visit = visits_[i];
    const std::size_t before = operations.size();
    switch (visit.step) {
      case Step::list: operations.emplace_back(request::ListChildren{visit.path}); break;
      case Step::describe:
        for (const auto& read : visit.view.reads()) {
          if (operations.size() == width_) break;
          operations.emplace_back(request::Get{path_of_child(visit.path, read.child)});
        }
        break;
      case Step::done: break;
    }
    visit.requests = operations.size() - before;
  }
  return operations;
}

bool SurveyReader::enter_next() {
  if (unentered_.empty()) return false;
  Directory& directory = unentered_.back();
  visits_.push_back(
      {.path = path_of_child(directory.path, directory.names.back()), .depth = directory.depth});
  directory.names.pop_back();
  if (directory.names.empty()) unentered_.pop_back();
  return true;
}

bool SurveyReader::wait_for_turn(Deadline deadline) const {
  const core::Instant now = core_->scheduler().now();
  if (deadline.has_passed(now)) return false;
  const bool in_time = !deadline.has_passed(next_round_at_);
  const core::Instant until = in_time ? next_round_at_ : deadline.at();
  if (until > now) BlockingRequests::pause(until - now);
  return in_time;
}

// ---- the replies --------------------------------------------------------------------------------

bool SurveyReader::take(std::vector<client::Reply> replies) {
  const bool was_alone = replies.size() == 1;
  bool failed = false;
  std::size_t bytes = 0;
  auto reply = replies.begin();
  for (Visit& visit : visits_) {
    const Step step = visit.step;
    bool goes_on = true;
    for (std::size_t i = 0; i < visit.requests; ++i, ++reply) {
      bytes += size_of(*reply);
      if (goes_on && visit.step == step) goes_on = take(visit, *reply, was_alone);
    }
    failed = failed || !goes_on;
  }
  width_ = failed || bytes > kManyBytes ? 1 : std::min(2 * width_, most_in_flight_);
  return failed;
}

bool SurveyReader::take(Visit& visit, client::Reply& reply, bool was_alone) {
  if (core::is_temporary_failure(reply.status)) {
    const bool may_be_cause =
        was_alone && visit.step == Step::list && visit.depth > 0 && reply.status == Status::unknown;
    if (!may_be_cause || ++visit.breaks < kMostBreaks) return false;
  }
  if (reply.status == Status::not_connected) fail_unreachable();
  if (core::sort_of(reply.status) == core::StatusSort::client_ended) {
    fail(core::error_of(reply.status), reply.detail);
  }
  switch (visit.step) {
    case Step::list: take_list(visit, reply); break;
    case Step::describe: take_znode(visit, reply); break;
    case Step::done: break;
  }
  return true;
}

void SurveyReader::take_list(Visit& visit, client::Reply& list) {
  if (list.status != Status::ok) {
    if (list.status != Status::no_node) page_.unreadable.push_back(visit.path);
    visit.view = {};
    visit.step = Step::done;
    return;
  }
  visit.view = ViewBuilder(
      list, {.most_holders = options_.max_holders, .most_waiting = options_.max_waiting});
  visit.lock = {};
  visit.lock.path = visit.path;
  visit.lock.next_sequence = list.next_sequence.value;
  visit.step = visit.view.reads().empty() ? Step::done : Step::describe;
  take_children(visit, list);
  ++visit.lists;
}

void SurveyReader::take_children(Visit& visit, client::Reply& list) {
  const bool is_empty = list.children.empty();
  auto others = others_among(std::move(list.children), visit.path, visit.is_lock());
  visit.lock.other_children_count = others.size();
  for (const std::string& name : others) {
    if (visit.lock.other_children.size() == kMostOtherChildren) break;
    visit.lock.other_children.push_back(core::printable(name, kMostNameBytes));
  }
  if (visit.lists > 0) return;  // its children were entered after the first list
  if (!others.empty() && visit.depth >= options_.max_depth) {
    page_.too_deep.push_back(visit.path);
  } else if (!others.empty()) {
    std::ranges::reverse(others);
    unentered_.push_back({visit.path, visit.depth + 1, std::move(others)});
  } else if (is_empty && list.data_length == 0 && list.ephemeral_owner == SessionId{}) {
    page_.empty_znodes.push_back({visit.path, time_of(list.created_ms)});
  }
  ++page_.visited;
}

void SurveyReader::take_znode(Visit& visit, const client::Reply& reply) const {
  if (!visit.view.is_outdated_by(reply)) {
    visit.view.take(reply, OwnZnodes(core_->keeper().session()));
  } else if (visit.lists < kMostLists) {
    visit.step = Step::list;
    return;
  } else {
    visit.view.omit();
  }
  if (visit.view.reads().empty()) visit.step = Step::done;
}

// ---- errors -------------------------------------------------------------------------------------

void SurveyReader::fail(Errc code, const std::string& cause) const {
  throw Error(code, kSurvey, root_, cause);
}

void SurveyReader::fail_unreachable() const {
  fail(Errc::not_connected, no_reply_text(*core_, last_success_));
}

}  // namespace zklock::detail
