// SPDX-License-Identifier: Apache-2.0
#include "chaos/carried.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace zklock::chaos {
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

Carried::Carried(int client, int server, std::size_t server_index)
    : server_index_(server_index), up_{client, server, {}, {}}, down_{server, client, {}, {}} {}

Carried::~Carried() {
  ::close(up_.from);
  ::close(down_.from);
}

void Carried::reset() const {
  reset_on_close(up_.from);
  reset_on_close(down_.from);
}

bool Carried::turn(const Weather& weather, std::optional<Trap>& trap) {
  if (weather.silent) return true;
  const bool open = read(up_) && read(down_);
  if (!take_frames(up_, weather, trap) || !take_frames(down_, weather, trap)) {
    sprung_ = true;
    send_due(up_, Clock::now());  // frames before the cut are still sent
    reset();
    return false;
  }
  // When the connection ends, all frames that arrived before are sent at once.
  const auto until = open ? Clock::now() : Clock::time_point::max();
  send_due(up_, until);
  if (!weather.replies_held) send_due(down_, until);
  return open;
}

std::optional<Clock::time_point> Carried::next_due() const {
  std::optional<Clock::time_point> due;
  for (const Stream* stream : {&up_, &down_}) {
    if (stream->waiting.empty()) continue;
    due = std::min(due.value_or(Clock::time_point::max()), stream->waiting.front().due);
  }
  return due;
}

bool Carried::read(Stream& stream) {
  std::array<char, 65536> buffer;
  const auto size = ::recv(stream.from, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
  if (size == 0) return false;
  stream.unread.append(buffer.data(), static_cast<std::size_t>(size));
  return true;
}

bool Carried::take_frames(Stream& stream, const Weather& weather, std::optional<Trap>& trap) {
  std::string_view rest = stream.unread;
  bool goes_on = true;
  while (const auto size = frame_size(rest)) {
    const std::string_view frame = rest.substr(0, *size);
    rest.remove_prefix(*size);
    auto delay = weather.delay;
    if (std::exchange(stream.opened, true)) {
      goes_on = passes(stream, frame, trap);
      if (!goes_on) break;
      if (&stream == &down_ && xid_of(frame) == kEventXid) delay += weather.events_delay;
    }
    queue(stream, frame, weather, delay);
  }
  stream.unread.erase(0, stream.unread.size() - rest.size());
  return goes_on;
}

bool Carried::passes(const Stream& stream, std::string_view frame, std::optional<Trap>& trap) {
  if (&stream == &down_) return doomed_ != xid_of(frame);
  if (!trap || doomed_ || request_of(frame) != trap->request) return true;
  const auto when = trap->when;
  trap.reset();
  if (when == Trap::When::before) return false;
  doomed_ = xid_of(frame);
  return true;
}

void Carried::queue(Stream& stream, std::string_view frame, const Weather& weather,
                    milliseconds delay) {
  auto due = Clock::now() + delay;
  // Frames keep their order, even if a later one has a shorter delay.
  if (!stream.waiting.empty()) due = std::max(due, stream.waiting.back().due);
  if (!weather.stutter) {
    stream.waiting.push_back({due, std::string(frame)});
    return;
  }
  const std::size_t size = std::max(kSmallestPiece, frame.size() / kMostPieces);
  for (; !frame.empty(); frame.remove_prefix(std::min(size, frame.size()))) {
    stream.waiting.push_back({due, std::string(frame.substr(0, size))});
    due += kBetweenPieces;
  }
}

void Carried::send_due(Stream& stream, Clock::time_point until) {
  while (!stream.waiting.empty() && stream.waiting.front().due <= until) {
    std::string& bytes = stream.waiting.front().bytes;
    const auto sent = ::send(stream.to, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0) return;  // retried at the next turn(); read() reports errors
    bytes.erase(0, static_cast<std::size_t>(sent));
    if (!bytes.empty()) return;
    stream.waiting.pop_front();
  }
}

}  // namespace zklock::chaos
