// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "chaos/frame.h"

namespace zklock::chaos {

using Clock = std::chrono::steady_clock;

// How a proxy treats the traffic.
struct Weather {
  bool silent = false;                        // no data pass; the ends are not notified
  bool replies_held = false;                  // no data pass to the client
  bool stutter = false;                       // frames are sent in small pieces
  std::chrono::milliseconds delay{0};         // of each frame, in each direction
  std::chrono::milliseconds events_delay{0};  // of each watch event; later frames stay behind it
};

// Cuts the connection at the next request of this kind.
//
// | when   | effect                                             |
// |--------|----------------------------------------------------|
// | before | the server does not receive the request            |
// | after  | the server executes the request, its reply is lost |
struct Trap {
  enum class When { before, after };
  Request request;
  When when;
};

// One connection of a client to a server, carried between two sockets. For one thread.
class Carried {
 public:
  // Takes over both sockets, which must be non-blocking.
  Carried(int client, int server, std::size_t server_index);
  ~Carried();
  Carried(const Carried&) = delete;
  Carried& operator=(const Carried&) = delete;

  int client() const noexcept { return up_.from; }
  int server() const noexcept { return down_.from; }
  std::size_t server_index() const noexcept { return server_index_; }

  // Reads and writes without blocking. Resets `trap` when a request springs it. Returns false if
  // the connection has ended.
  bool turn(const Weather& weather, std::optional<Trap>& trap);
  // Returns when the next waiting frame is due; nullopt if none waits.
  std::optional<Clock::time_point> next_due() const;
  bool sprung() const noexcept { return sprung_; }  // a trap ended the connection
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
    std::string unread;
    std::deque<Piece> waiting;
    bool opened = false;  // the first frame was seen
  };

  // Returns false if the peer has ended the connection.
  static bool read(Stream& stream);
  static void send_due(Stream& stream, Clock::time_point until);
  // Returns false if a trap was sprung.
  bool take_frames(Stream& stream, const Weather& weather, std::optional<Trap>& trap);
  bool passes(const Stream& stream, std::string_view frame, std::optional<Trap>& trap);
  static void queue(Stream& stream, std::string_view frame, const Weather& weather,
                    std::chrono::milliseconds delay);

  const std::size_t server_index_;
  Stream up_;                           // requests
  Stream down_;                         // replies and events
  std::optional<std::int32_t> doomed_;  // xid of the request whose answer gets lost
  bool sprung_ = false;
};

}  // namespace zklock::chaos
