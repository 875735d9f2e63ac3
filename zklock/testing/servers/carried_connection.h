// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "zklock/testing/fault_proxy.h"
#include "zklock/testing/request_kind.h"

namespace zklock::testing::detail {

// How a proxy treats the traffic.
struct TrafficFaults {
  bool cut = false;                           // no data pass; the ends are not notified
  bool replies_held = false;                  // no data pass to the client
  bool stutter = false;                       // frames are sent in small pieces
  bool events_dropped = false;                // watch events vanish
  std::chrono::milliseconds delay{0};         // of each frame, in each direction
  std::chrono::milliseconds events_delay{0};  // of each watch event; later frames stay behind it
};

// Breaks the connection at the next request of this kind.
//
// | lost    | effect                                             |
// |---------|----------------------------------------------------|
// | request | the server does not receive the request            |
// | reply   | the server executes the request, its reply is lost |
struct PlannedLoss {
  enum class Lost { request, reply };
  RequestKind kind;
  Lost lost;
};

// One connection of a client to a server, carried between two sockets. For one thread.
class CarriedConnection {
 public:
  using Clock = std::chrono::steady_clock;

  // Takes over both sockets, which must be non-blocking.
  CarriedConnection(int client, int server, std::size_t server_index,
                    FaultProxy::Protocol protocol);
  ~CarriedConnection();
  CarriedConnection(const CarriedConnection&) = delete;
  CarriedConnection& operator=(const CarriedConnection&) = delete;

  int client() const noexcept { return up_.from; }
  int server() const noexcept { return down_.from; }
  std::size_t server_index() const noexcept { return server_index_; }

  // Reads and writes without blocking. Resets `loss` when a request meets it. Returns false if the
  // connection has ended.
  bool carry(const TrafficFaults& faults, std::optional<PlannedLoss>& loss);
  // Returns when the next waiting frame is due; nullopt if none waits.
  std::optional<Clock::time_point> next_due() const;
  bool loss_happened() const noexcept { return loss_happened_; }  // it ended the connection
  // The reply to a request that has passed is no longer lost.
  void cancel_loss() noexcept { doomed_.reset(); }
  // Sends a TCP reset to both ends.
  void reset() const;

 private:
  struct Piece {
    Clock::time_point due;
    std::string bytes;
  };
  struct Stream {
    int from;
    int to;
    std::string unread = {};
    std::deque<Piece> waiting = {};
    bool opened = false;  // the first frame was seen
  };

  // Returns false if the peer has ended the connection.
  static bool read(Stream& stream);
  static void send_due(Stream& stream, Clock::time_point until);
  // Returns false if the connection breaks by the planned loss.
  bool take_bytes(Stream& stream, const TrafficFaults& faults, std::optional<PlannedLoss>& loss);
  bool take_frame(Stream& stream, std::string_view frame, const TrafficFaults& faults,
                  std::optional<PlannedLoss>& loss);
  bool passes(const Stream& stream, std::string_view frame, std::optional<PlannedLoss>& loss);
  static void queue(Stream& stream, std::string_view frame, const TrafficFaults& faults,
                    std::chrono::milliseconds delay);

  const std::size_t server_index_;
  const FaultProxy::Protocol protocol_;
  Stream up_;                           // requests
  Stream down_;                         // replies and events
  std::optional<std::int32_t> doomed_;  // xid of the request whose reply is lost
  bool loss_happened_ = false;
};

}  // namespace zklock::testing::detail
