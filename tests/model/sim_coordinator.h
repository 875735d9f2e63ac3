// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/model/sim_clock.h"
#include "tests/model/sim_ensemble.h"
#include "zklock/client/coordinator.h"
#include "zklock/client/watch.h"

namespace zklock::model {

using client::Request;
using client::RequestId;
using client::Watch;
using client::WatchKind;

struct ClientOptions {
  Duration session_timeout = std::chrono::seconds(6);  ///< as negotiated at the next handshake
  Duration connection_timeout = std::chrono::seconds(10);
  /// How touches of the session reach the leader: 0: at once; else the client's server relays them
  /// at the next of the times relay_phase + n * relay_interval (half a tick on a real server).
  Duration relay_interval{};
  Duration relay_phase{};
  /// By up to how much later than that, now more, now less.
  Duration relay_jitter{};
  /// By how many millionths the client's clock is faster than the servers'.
  std::int32_t drift = 0;
};

/// What becomes of requests that are on their way when their connection breaks.
enum class OnTheWay {
  dropped,
  /// They may still arrive (step `late`), until the session has moved to another server.
  linger,
};

/// When a server that was cut off tells the leader what it has heard of its sessions meanwhile.
enum class Relay {
  at_its_time,
  /// The leader's questions stand in the stream before anything new, and so are answered first.
  at_once,
};

/// A client's connection, both ends of it: what its process does, and what its server does.
///
/// Requests and replies move only when the driver says so: serve() takes a request off the network
/// at the server, receive() takes a reply, watch event or session event at the client. All that the
/// client is told comes through one queue.
///
/// | link     | the client was told | submitted requests          |
/// |----------|---------------------|-----------------------------|
/// | down     | suspended, or soon  | held                        |
/// | opening  | as before           | held                        |
/// | up       | connected, or soon  | sent once it was told       |
/// | refused  | ended, soon         | held; of a bad credential:  |
/// |          |                     | answered so, for ever       |
/// | closed   | suspended, soon     | sent, and lost              |
///
/// A client that was told `suspended`, and not `connected` within the session timeout, ends its
/// session by itself, as the real coordinator does. The session stays alive on the servers until
/// their own timeout, and requests that linger may still be carried out on it. The network is then
/// down, until reconnect().
class SimCoordinator final : public client::Coordinator, private SimEnsemble::Server {
 public:
  SimCoordinator(SimClock& clock, SimEnsemble& ensemble, Process process, ClientOptions options);

  void start(client::SessionObserver& observer) override;
  RequestId submit(Request request, client::ReplyHandler handler) override;
  void soon(std::function<void()> task) override;
  bool abandon(RequestId request) noexcept override;
  void unwatch(RequestId request) noexcept override;
  void close() override;
  std::string trouble() const override;

  // Steps. Each says whether it can be taken; taking one that cannot does nothing.
  bool can_serve() const noexcept;
  void serve();
  bool can_receive() const noexcept { return !to_client_.empty() && !paused_; }
  void receive();
  bool can_arrive_late() const noexcept { return !late_.empty(); }
  void arrive_late();

  // Faults, at any moment; without effect where they make no sense.
  void disconnect(OnTheWay on_the_way = OnTheWay::dropped);
  void reconnect();
  void expire();
  /// The next reply (of this kind) breaks the connection instead of arriving.
  void lose_reply(std::optional<OperationKind> kind = {}) { lost_replies_.push_back(kind); }
  /// The next request (of this kind) breaks the connection instead of arriving.
  void lose_request(std::optional<OperationKind> kind = {}) { lost_requests_.push_back(kind); }
  /// The client's server loses the quorum: it answers reads from the tree as it is now, and nothing
  /// else, and its touches do not count. Until heal() or disconnect().
  void isolate();
  void heal(Relay relay = Relay::at_its_time);
  /// The client's server (and the next ones) stays behind: reads see the tree as it is now. Until
  /// catch_up(), or the next quorum operation of this client, which its server has to have seen.
  void lag();
  void catch_up();
  /// The server answers the next request of this kind with `status`, and carries it out or not.
  void fail_next(OperationKind kind, Status status, bool carried_out = false) {
    injected_.push_back({kind, status, carried_out});
  }
  void pause();
  void resume();
  bool is_paused() const noexcept { return paused_; }
  /// The servers refuse the client's credential, once it has connected the next time.
  void refuse_credential() { credential_is_bad_ = true; }
  bool is_refused() const noexcept { return refused_; }
  /// What comes to the server next is that.
  bool wants_new_session() const noexcept;
  /// The network carries nothing any more, in either direction, and tells nobody. Until mend(), when
  /// all arrives, or until the connection breaks.
  void cut_off();
  void mend();
  bool is_cut_off() const noexcept { return cut_off_; }
  /// A list that is watched is said to have changed, which it has not. False: none is.
  bool say_children_changed();
  /// What was to be lost, or refused, is not.
  void clear_faults();

  // What a test may ask.
  /// Nothing is left of a connection, or of an attempt.
  bool is_down() const noexcept { return link_ == Link::down; }
  bool is_closed() const noexcept { return closed_; }
  /// How often a reply, or a request, of that kind was lost by lose_reply() or lose_request().
  std::size_t lost_replies(OperationKind kind) const { return reply_losses_[index(kind)]; }
  std::size_t lost_requests(OperationKind kind) const { return request_losses_[index(kind)]; }
  /// How many requests have arrived at a server.
  std::size_t served() const noexcept { return served_in_all_; }
  SessionId session() const noexcept { return session_; }  ///< that the client knows of
  bool is_connected() const noexcept { return told_connected_; }
  std::size_t requests(OperationKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  std::size_t requests() const;  ///< submitted since the last reset, of all kinds
  std::size_t watch_removals() const noexcept { return watch_removals_; }  ///< the same
  void reset_counts() {
    counts_.fill(0);
    watch_removals_ = 0;
  }
  std::size_t server_watches() const noexcept { return watches_.size(); }
  std::size_t live_interests() const;  ///< that may still call on_event
  std::size_t unanswered() const;      ///< requests without a reply
  ClientOptions& options() noexcept { return options_; }

 private:
  struct Pending {
    RequestId id{};
    Request request;
    client::ReplyHandler handler;
    SessionId session;
    Instant sent_at;
    TimerId timer{};         // while held: gives up
    bool unwatched = false;  // it has a watch that nobody waits for
    /// A GetAndWatch of a node that the client may not read: the coordinator asks whether the node
    /// exists instead, in a second round trip.
    bool mute = false;
  };
  struct Interest {
    RequestId id;
    Watch watch;
    bool absent;  // the node, by the reply
    client::request::OnWatchEvent on_event;
  };
  struct Injected {
    OperationKind kind;
    Status status;
    bool carried_out;
  };

  // To the server. The request itself is in in_flight_.
  struct Handshake {
    SessionId wanted;
    Instant began;
    std::int64_t last_zxid;  // that the client has seen
  };
  struct NextRequest {};
  struct RemoveWatch {
    Watch watch;
  };
  /// The watches of a session, with whether the client believes the node to be absent.
  using Armed = std::map<Watch, bool>;
  struct SetWatches {
    std::int64_t last_zxid;
    Armed watches;
  };
  using ToServer = std::variant<Handshake, NextRequest, RemoveWatch, SetWatches>;

  // To the client: from its server, which a break of the connection takes along ...
  struct Connected {
    client::SessionInfo info;
  };
  struct Refused {
    SessionId session;
  };
  struct AuthFailed {};
  struct ServerReply {
    Reply reply;
    bool by_quorum = false;
    std::int64_t zxid = 0;
  };
  struct Event {
    std::string path;
    WatchEvent event;
  };
  struct ClosedByServer {};
  // ... and from its own side.
  struct Suspended {
    SessionId session;
  };
  struct LocalReply {
    Pending pending;
    Status status;
    const char* detail;
  };
  using ToClient = std::variant<Connected, Refused, AuthFailed, ServerReply, Event, ClosedByServer,
                                Suspended, LocalReply>;

  enum class Link { down, opening, up, refused, closed };
  using KindFilters = std::vector<std::optional<OperationKind>>;

  void on_node_event(const std::string& path, WatchEvent event, const NodeAcl& acl) override;
  void on_session_gone(SessionId session) override;

  // The server's end.
  void serve_one(const Handshake& handshake);
  void serve_one(NextRequest);
  void serve_one(const RemoveWatch& request);
  void serve_one(const SetWatches& request);
  ServerReply answer(const Pending& pending);
  const Tree& server_tree() const { return stale_ ? *stale_ : ensemble_.tree(); }
  std::int64_t server_zxid() const { return stale_ ? stale_zxid_ : ensemble_.last_zxid(); }
  void stay_behind();
  void fire(const std::string& path, WatchEvent event, const NodeAcl& acl);
  void touch();
  void relay_touch();

  // The client's end.
  void receive_one(Connected& message);
  void receive_one(const Refused& message);
  void receive_one(AuthFailed);
  void receive_one(ServerReply& message);
  void receive_one(const Event& message);
  void receive_one(ClosedByServer);
  void receive_one(const Suspended& message);
  void receive_one(LocalReply& message);
  void send(Pending pending);
  void ask_existence(Pending pending);
  void hold(Pending pending);
  void flush_held();
  void answer_locally(Pending pending, Status status, const char* detail = "");
  void begin_attempt();
  void end_overdue_session();
  void end_session(SessionId session);
  void break_link(OnTheWay on_the_way);
  void drop_network(OnTheWay on_the_way);
  void drop_watch_if_unused(const Watch& watch);
  void ping_at(Instant when);
  void ping_when_idle();
  static std::optional<Watch> watch_of(const Request& request);
  static client::request::OnWatchEvent take_on_event(Request& request);
  static bool arms(const Request& request, Status status);
  static std::optional<WatchEvent> missed_event(const Node* node, const Watch& watch, bool absent,
                                                std::int64_t last_zxid);
  static bool take_matching(KindFilters& filters, OperationKind kind);
  static std::size_t index(OperationKind kind) noexcept { return static_cast<std::size_t>(kind); }
  void tell_client(ToClient message);
  Duration next_jitter();

  SimClock& clock_;
  SimEnsemble& ensemble_;
  const Process process_;
  const Credential credential_;
  ClientOptions options_;
  ProcessClock own_clock_;
  client::SessionObserver* observer_ = nullptr;

  Link link_ = Link::down;
  std::deque<ToServer> to_server_;
  std::deque<ToClient> to_client_;
  bool cut_off_ = false;
  bool ping_is_stuck_ = false;
  std::vector<ToClient> stuck_;  // what the server sent while the network was cut

  // The server's end.
  SessionId server_session_;
  std::size_t served_ = 0;  // how many of in_flight_ have arrived
  std::set<Watch> watches_;
  bool isolated_ = false;
  std::optional<Tree> stale_;
  std::int64_t stale_zxid_ = 0;
  struct MissedEvent {
    std::string path;
    WatchEvent event;
    NodeAcl acl;
  };
  std::vector<MissedEvent> missed_;  // since stale_ was taken
  bool touch_waits_ = false;
  TimerId relay_timer_{};
  std::uint64_t jitter_;
  std::deque<Pending> late_;

  // The client's end.
  SessionId session_;
  bool told_connected_ = false;
  Instant disconnected_since_{};
  Duration timeout_{};  // of the session, as negotiated last
  TimerId end_timer_{};
  bool gate_open_ = false;
  bool closed_ = false;
  bool credential_is_bad_ = false;
  bool refused_ = false;
  bool paused_ = false;
  std::uint64_t last_id_ = 0;
  std::deque<Pending> in_flight_;
  std::deque<Pending> held_;
  std::vector<Interest> interests_;
  Armed armed_;  // what the server watches, as far as it told
  std::int64_t last_zxid_ = 0;
  Instant last_send_;
  TimerId ping_timer_{};
  bool ping_overdue_ = false;

  KindFilters lost_replies_;
  KindFilters lost_requests_;
  std::vector<Injected> injected_;
  std::array<std::size_t, operation_kinds> counts_{};
  std::array<std::size_t, operation_kinds> reply_losses_{};
  std::array<std::size_t, operation_kinds> request_losses_{};
  std::size_t served_in_all_ = 0;
  std::size_t watch_removals_ = 0;
};

}  // namespace zklock::model
