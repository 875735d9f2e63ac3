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

#include "zklock/client/port/coordinator.h"
#include "zklock/client/port/request.h"
#include "zklock/testing/simulation/sim_clock.h"
#include "zklock/testing/simulation/sim_ensemble.h"

namespace zklock::model {

using client::Request;
using client::RequestId;
using client::Watch;
using client::WatchKind;

struct ClientOptions {
  Duration session_timeout = std::chrono::seconds(6);  ///< as negotiated at the next handshake
  Duration connection_timeout = std::chrono::seconds(10);
  /// How the touches of the session reach the leader. A touch is a packet of the client: it
  /// restarts the session timeout. 0: at once. Otherwise the client's server relays touches at the
  /// next of the times relay_phase + n * relay_interval. A real server does so every half tick.
  Duration relay_interval{};
  Duration relay_phase{};
  /// The largest delay of a relay. The delay varies.
  Duration relay_jitter{};
  /// By how many millionths the client's clock is faster than the ensemble's clock.
  std::int32_t drift = 0;
  std::chrono::milliseconds loss_callback_limit{1'000};  ///< as in the public options
};

/// Selects the fate of requests in flight when their connection breaks.
enum class OnTheWay {
  dropped,
  /// arrive_late() can still deliver them, until the session has moved to another server.
  linger,
};

/// Selects when a healed server reports to the leader the touches that it received while it was
/// isolated.
enum class Relay {
  at_its_time,  ///< see ClientOptions::relay_interval
  /// At once. The leader requests the touches before it sends any other message to the healed
  /// server, so the server answers that request first.
  at_once,
};

/// Both ends of a client's connection: its process and its server.
///
/// Requests and replies move only when the driver calls. serve() delivers a request to the server.
/// receive() delivers a reply, watch event or session event to the client. All callbacks to the
/// client pass through one queue, with two exceptions. These are the callbacks of close(), and the
/// on_ended() of a session that the client ends itself.
///
/// | link     | last session event for the client          | submitted requests                   |
/// |----------|--------------------------------------------|--------------------------------------|
/// | down     | none; suspended (queued or received); or   | held                                 |
/// |          | ended (received)                           |                                      |
/// | opening  | as in `down`                               | held                                 |
/// | up       | connected, queued or received              | held until it is received; then sent |
/// | refused  | ended, queued: the session has expired     | held                                 |
/// |          | ended, received: the credential is refused | answered auth_failed                 |
/// | closed   | as in `up`; the server's close comes next  | as in `up`, but those sent are lost  |
///
/// After close(), the link is down, and submitted requests are answered `closed`.
///
/// A client ends its session itself if no `connected` follows a `suspended` within the session
/// timeout. The real coordinator does so, too. The session stays alive on the ensemble until its
/// timeout there. Lingering requests can still be executed in it. After it has ended its session,
/// the client has no link until reconnect().
class SimCoordinator final : public client::Coordinator, private SimEnsemble::Server {
 public:
  SimCoordinator(SimClock& clock, SimEnsemble& ensemble, Process process, ClientOptions options);

  void start(client::SessionObserver& observer) override;
  RequestId submit(Request request, client::ReplyHandler handler) override;
  bool cancel_unsent(RequestId request) noexcept override;
  void unwatch(RequestId request) noexcept override;
  void close() override;
  std::string connection_problem() const override;

  // Steps. Each has a query that returns whether it is enabled. A step that is not enabled does
  // nothing.
  bool can_serve() const noexcept;
  /// Returns how many messages are on their way to the server.
  std::size_t unserved() const noexcept { return to_server_.size(); }
  void serve();
  bool can_receive() const noexcept { return !to_client_.empty() && !paused_; }
  void receive();
  bool can_arrive_late() const noexcept { return !late_.empty() && !ensemble_.is_leader_paused(); }
  void arrive_late();

  // Faults. They can be called at any time. A fault that does not apply has no effect.
  void disconnect(OnTheWay on_the_way = OnTheWay::dropped);
  void reconnect();
  void expire();
  /// The next reply (of this kind) breaks the connection instead of arriving.
  void lose_reply(std::optional<OperationKind> kind = {}) { lose_reply(kinds(kind)); }
  void lose_reply(KindSet of) { lost_replies_.push_back(of); }
  /// The next request (of this kind) breaks the connection instead of arriving.
  void lose_request(std::optional<OperationKind> kind = {}) { lose_request(kinds(kind)); }
  void lose_request(KindSet of) { lost_requests_.push_back(of); }
  /// Separates the client's server from the quorum until heal() or disconnect(). The server answers
  /// reads from a copy of the tree as it is now. It processes no handshake and no quorum operation,
  /// and nothing behind them. It processes a sync only if the old leader is on its side. Touches
  /// reach the new leader only after heal().
  void isolate(bool with_old_leader = false);
  void heal(Relay relay = Relay::at_its_time);
  /// From now on, the client's server and each later one answer reads from a copy of the tree as it
  /// is now. This ends at catch_up(), at the client's next sync or quorum operation, and at the
  /// handshake of a new session.
  void lag();
  void catch_up();
  /// The server answers the next request of this kind with `status`. If `carried_out` is true, it
  /// executes the request nevertheless.
  void fail_next(OperationKind kind, Status status, bool carried_out = false) {
    fail_next(kinds(kind), status, carried_out);
  }
  void fail_next(KindSet of, Status status, bool carried_out = false) {
    injected_.push_back({of, status, carried_out});
  }
  void pause();
  void resume();
  bool is_paused() const noexcept { return paused_; }
  /// The ensemble refuses the client's credential after its next handshake.
  void refuse_credential() { credential_is_bad_ = true; }
  bool is_refused() const noexcept { return refused_; }
  /// Returns whether the next message to the server is a handshake for a new session.
  bool wants_new_session() const noexcept;
  /// The network carries nothing in either direction, and neither end is notified. After mend() all
  /// messages arrive. A break of the connection drops them and ends this state.
  void cut_off();
  void mend();
  bool is_cut_off() const noexcept { return cut_off_; }
  /// Sends a false children event for a watched list. Returns false if no list is watched.
  bool say_children_changed();
  /// Cancels all pending lose_reply(), lose_request() and fail_next().
  void clear_faults();

  // Queries for tests.
  /// Returns whether there is neither a connection nor an attempt to connect.
  bool is_down() const noexcept { return link_ == Link::down; }
  /// Returns whether the client has called close().
  bool is_closed() const noexcept { return closed_; }
  /// Return how many replies or requests of that kind lose_reply() or lose_request() has lost.
  std::size_t lost_replies(OperationKind kind) const { return reply_losses_[index(kind)]; }
  std::size_t lost_requests(OperationKind kind) const { return request_losses_[index(kind)]; }
  /// Returns how many requests have arrived at a server.
  std::size_t served() const noexcept { return served_in_all_; }
  SessionId session() const noexcept { return session_; }  ///< that the client knows
  bool is_connected() const noexcept { return told_connected_; }
  std::size_t requests(OperationKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  std::size_t requests() const;  ///< submitted since reset_counts(), all kinds
  std::size_t watch_removals() const noexcept { return watch_removals_; }  ///< since reset_counts()
  void reset_counts() {
    counts_.fill(0);
    watch_removals_ = 0;
  }
  std::size_t server_watches() const noexcept { return watches_.size(); }
  std::size_t live_interests() const;  ///< can still call on_event
  std::size_t unanswered() const;      ///< requests without a reply
  ClientOptions& options() noexcept { return options_; }

 private:
  struct Pending {
    RequestId id{};
    Request request;
    client::ReplyHandler handler;
    SessionId session;
    Instant sent_at;
    TimerId timer{};          // while held; ends the wait
    bool unwatched = false;   // its watch has no receiver
    bool follows = false;     // the Exists sent after its CreateContender
    bool last_level = false;  // a CreateParents that creates only `path`
    /// Set on the exists that replaces a refused GetAndWatch. Set on an ExistsAndWatch when its
    /// reply shows that the READ permission is missing.
    bool unreadable = false;
  };
  struct Interest {
    RequestId id;
    Watch watch;
    bool absent;      // from the reply: the znode is absent
    bool unreadable;  // the client checks repeatedly whether the znode exists
    bool is_set;      // at the servers
    client::request::OnWatchEvent on_event;
  };
  struct Injected {
    KindSet kinds;
    Status status;
    bool carried_out;
  };

  // Messages to the server. The requests themselves are in in_flight_.
  struct Handshake {
    SessionId wanted;
    Instant began;
    std::int64_t last_zxid;  // the last one that the client has seen
  };
  struct NextRequest {};
  struct RemoveWatch {
    Watch watch;
  };
  /// The watches of a session. The value: the client believes that the znode is absent.
  using Armed = std::map<Watch, bool>;
  struct SetWatches {
    std::int64_t last_zxid;
    Armed watches;
  };
  using ToServer = std::variant<Handshake, NextRequest, RemoveWatch, SetWatches>;

  // Messages to the client. The server sends these, and a break of the connection drops them.
  struct Connected {
    client::SessionInfo info;
  };
  struct Refused {
    SessionId session;
  };
  struct AuthFailed {};
  struct ServerReply {
    Reply reply;
    AnsweredBy by = AnsweredBy::server;
    std::int64_t zxid = 0;
  };
  struct Event {
    std::string path;
    WatchEvent event;
  };
  struct ClosedByServer {};
  // The client's own side sends these.
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
  using KindFilters = std::vector<KindSet>;

  void on_node_event(const std::string& path, WatchEvent event, const NodeAcl& acl) override;
  void on_session_gone(SessionId session) override;
  void on_leader_resumed() override;

  // The server's end.
  void serve_one(const Handshake& handshake);
  void serve_one(NextRequest);
  void serve_one(const RemoveWatch& request);
  void serve_one(const SetWatches& request);
  ServerReply answer(const Pending& pending);
  Reply execute(const Pending& pending, SessionId session);
  const Tree& server_tree() const { return stale_ ? *stale_ : ensemble_.tree(); }
  std::int64_t server_zxid() const { return stale_ ? stale_zxid_ : ensemble_.last_zxid(); }
  void stay_behind();
  void fire(const std::string& path, WatchEvent event, const NodeAcl& acl);
  void touch();
  void relay_touch();
  void relay_touch_at(Instant when);
  /// Returns whether the client is connected to the leader, which learns of its packets at once.
  bool is_on_leader() const noexcept { return options_.relay_interval == Duration::zero(); }

  // The client's end.
  void receive_one(Connected& message);
  void receive_one(const Refused& message);
  void receive_one(AuthFailed);
  void receive_one(ServerReply& message);
  void receive_one(const Event& message);
  void receive_one(ClosedByServer);
  void receive_one(const Suspended& message);
  void receive_one(LocalReply& message);
  void submit_parts(Pending create);
  void accept(Pending pending);
  void send(Pending pending);
  void ask_existence(Pending pending);
  void check_presence_later();
  void check_presence();
  void on_absent(const std::string& path);
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
  /// Returns whether a fault of these kinds hits the request. A fault for create_contender does not
  /// hit the CreateParents that is sent with the create, because its failure changes no outcome.
  static bool is_hit(const KindSet& kinds, const Pending& pending);
  static bool take_matching(KindFilters& filters, const Pending& pending);
  static std::size_t index(OperationKind kind) noexcept { return static_cast<std::size_t>(kind); }
  void send_to_client(ToClient message);
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
  std::vector<ToClient> stuck_;  // sent by the server during cut_off()

  // The server's end.
  SessionId server_session_;
  std::size_t served_ = 0;  // how many of in_flight_ have arrived
  std::set<Watch> watches_;
  bool isolated_ = false;
  bool has_old_leader_ = false;  // while isolated
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
  bool gate_open_ = false;  // submitted requests are sent at once
  bool closed_ = false;
  bool credential_is_bad_ = false;
  bool refused_ = false;
  bool paused_ = false;
  std::uint64_t last_id_ = 0;
  std::deque<Pending> in_flight_;
  std::deque<Pending> held_;
  std::vector<Interest> interests_;
  Armed armed_;  // the server's watches, as the client knows
  std::int64_t last_zxid_ = 0;
  Instant last_send_;
  TimerId ping_timer_{};
  TimerId presence_timer_{};
  bool ping_overdue_ = false;

  KindFilters lost_replies_;
  KindFilters lost_requests_;
  std::vector<Injected> injected_;
  std::array<std::size_t, kOperationKinds> counts_{};
  std::array<std::size_t, kOperationKinds> reply_losses_{};
  std::array<std::size_t, kOperationKinds> request_losses_{};
  std::size_t served_in_all_ = 0;
  std::size_t watch_removals_ = 0;
};

}  // namespace zklock::model
