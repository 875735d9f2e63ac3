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

// What becomes of all that a proxy carries.
struct Weather {
  bool silent = false;                        // nothing comes through, and nobody is told
  bool replies_held = false;                  // so in the direction of the client only
  bool stutter = false;                       // frames come in small pieces
  std::chrono::milliseconds delay{0};         // of each frame, in each direction
  std::chrono::milliseconds events_delay{0};  // of each watch event, and what is behind it
};

// Cuts the connection that carries the next such request: before the server has it, or after it has
// been answered, with the answer lost.
struct Trap {
  enum class When { before, after };
  Request request;
  When when;
};

// One connection of a client to a server, seen from between them. For one thread.
class Carried {
 public:
  // Owns both sockets, which must not block.
  Carried(int client, int server, std::size_t server_index);
  ~Carried();
  Carried(const Carried&) = delete;
  Carried& operator=(const Carried&) = delete;

  int client() const noexcept { return up_.from; }
  int server() const noexcept { return down_.from; }
  std::size_t server_index() const noexcept { return server_index_; }

  // Reads and writes what can be, without blocking. `trap` is emptied when it is taken. False when
  // the connection is over.
  bool turn(const Weather& weather, std::optional<Trap>& trap);
  // When the next frame is to go out, as far as that is known.
  std::optional<Clock::time_point> next_due() const;
  bool sprung() const noexcept { return sprung_; }  // it was a trap that ended it
  // Both ends are told at once.
  void reset();

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
    bool opened = false;  // the first frame has come
  };

  // False: the other side has ended it.
  static bool read(Stream& stream);
  static void send_due(Stream& stream, Clock::time_point until);
  // False: a trap was sprung.
  bool take_frames(Stream& stream, const Weather& weather, std::optional<Trap>& trap);
  bool passes(const Stream& stream, std::string_view frame, std::optional<Trap>& trap);
  static void queue(Stream& stream, std::string_view frame, const Weather& weather,
                    std::chrono::milliseconds delay);

  const std::size_t server_index_;
  Stream up_;                           // requests
  Stream down_;                         // replies and events
  std::optional<std::int32_t> doomed_;  // the request whose answer gets lost
  bool sprung_ = false;
};

}  // namespace zklock::chaos
