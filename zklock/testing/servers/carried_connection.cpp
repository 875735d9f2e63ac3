// SPDX-License-Identifier: Apache-2.0
#include "zklock/testing/servers/carried_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "zklock/testing/servers/frame.h"

namespace zklock::testing::detail {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostPieces = 40;
constexpr std::size_t kSmallestPiece = 5;
constexpr milliseconds kBetweenPieces{2};

void reset_on_close(int fd) {
  const linger hard{1, 0};
  static_cast<void>(::setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard));
}

}  // namespace

CarriedConnection::CarriedConnection(int client, int server, std::size_t server_index,
                                     FaultProxy::Protocol protocol)
    : server_index_(server_index),
      protocol_(protocol),
      up_{.from = client, .to = server},
      down_{.from = server, .to = client} {}

CarriedConnection::~CarriedConnection() {
  ::close(up_.from);
  ::close(down_.from);
}

void CarriedConnection::reset() const {
  reset_on_close(up_.from);
  reset_on_close(down_.from);
}

bool CarriedConnection::carry(const TrafficFaults& faults, std::optional<PlannedLoss>& loss) {
  if (faults.cut) return true;
  const bool open = read(up_) && read(down_);
  if (!take_bytes(up_, faults, loss) || !take_bytes(down_, faults, loss)) {
    loss_happened_ = true;
    send_due(up_, Clock::now());  // frames before the lost one are still sent
    reset();
    return false;
  }
  // When the connection ends, all frames that arrived before are sent at once.
  const auto until = open ? Clock::now() : Clock::time_point::max();
  send_due(up_, until);
  if (!faults.replies_held) send_due(down_, until);
  return open;
}

std::optional<CarriedConnection::Clock::time_point> CarriedConnection::next_due() const {
  std::optional<Clock::time_point> due;
  for (const Stream* stream : {&up_, &down_}) {
    if (stream->waiting.empty()) continue;
    due = std::min(due.value_or(Clock::time_point::max()), stream->waiting.front().due);
  }
  return due;
}

bool CarriedConnection::read(Stream& stream) {
  std::array<char, 65536> buffer;
  const auto size = ::recv(stream.from, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
  if (size == 0) return false;
  stream.unread.append(buffer.data(), static_cast<std::size_t>(size));
  return true;
}

bool CarriedConnection::take_bytes(Stream& stream, const TrafficFaults& faults,
                                   std::optional<PlannedLoss>& loss) {
  std::string_view rest = stream.unread;
  if (protocol_ == FaultProxy::Protocol::bytes) {
    if (!rest.empty()) queue(stream, rest, faults, faults.delay);
    stream.unread.clear();
    return true;
  }
  bool goes_on = true;
  while (goes_on) {
    const auto size = frame_size(rest);
    if (!size) break;
    goes_on = take_frame(stream, rest.substr(0, *size), faults, loss);
    rest.remove_prefix(*size);
  }
  stream.unread.erase(0, stream.unread.size() - rest.size());
  return goes_on;
}

bool CarriedConnection::take_frame(Stream& stream, std::string_view frame,
                                   const TrafficFaults& faults, std::optional<PlannedLoss>& loss) {
  auto delay = faults.delay;
  if (std::exchange(stream.opened, true)) {
    if (!passes(stream, frame, loss)) return false;
    if (&stream == &down_ && xid_of(frame) == kEventXid) {
      if (faults.events_dropped) return true;
      delay += faults.events_delay;
    }
  }
  queue(stream, frame, faults, delay);
  return true;
}

bool CarriedConnection::passes(const Stream& stream, std::string_view frame,
                               std::optional<PlannedLoss>& loss) {
  if (&stream == &down_) return doomed_ != xid_of(frame);
  if (!loss || doomed_) return true;
  const auto kind = kind_of(frame);
  if (!kind || (loss->kind != RequestKind::any && loss->kind != *kind)) return true;
  const auto lost = loss->lost;
  loss.reset();
  if (lost == PlannedLoss::Lost::request) return false;
  doomed_ = xid_of(frame);
  return true;
}

void CarriedConnection::queue(Stream& stream, std::string_view frame, const TrafficFaults& faults,
                              milliseconds delay) {
  auto due = Clock::now() + delay;
  // Frames keep their order, even if a later one has a shorter delay.
  if (!stream.waiting.empty()) due = std::max(due, stream.waiting.back().due);
  if (!faults.stutter) {
    stream.waiting.push_back({due, std::string(frame)});
    return;
  }
  const std::size_t size = std::max(kSmallestPiece, frame.size() / kMostPieces);
  for (; !frame.empty(); frame.remove_prefix(std::min(size, frame.size()))) {
    stream.waiting.push_back({due, std::string(frame.substr(0, size))});
    due += kBetweenPieces;
  }
}

void CarriedConnection::send_due(Stream& stream, Clock::time_point until) {
  while (!stream.waiting.empty() && stream.waiting.front().due <= until) {
    std::string& bytes = stream.waiting.front().bytes;
    const auto sent = ::send(stream.to, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0) return;  // retried at the next carry(); read() reports errors
    bytes.erase(0, static_cast<std::size_t>(sent));
    if (!bytes.empty()) return;
    stream.waiting.pop_front();
  }
}

}  // namespace zklock::testing::detail
