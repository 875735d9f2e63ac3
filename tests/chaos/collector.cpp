// SPDX-License-Identifier: Apache-2.0
#include "chaos/collector.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <sstream>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace zklock::chaos {
namespace {

constexpr int kPollMs = 50;

int listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    throw std::system_error(ENAMETOOLONG, std::generic_category(), path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd, 128) != 0) {
    throw std::system_error(errno, std::generic_category(), "listen at " + path);
  }
  return fd;
}

}  // namespace

Collector::Collector(std::string socket_path)
    : socket_path_(std::move(socket_path)), listener_(listen_at(socket_path_)) {
  for (const Site& site : kWorkload) history_.capacities.push_back(site.capacity);
  resources_.resize(kWorkload.size());
  thread_ = std::thread([this] { serve(); });
}

Collector::~Collector() {
  ended_ = true;
  thread_.join();
  ::close(listener_);
}

void Collector::excuse(const Excuse& excuse) {
  const std::lock_guard guard(mutex_);
  history_.excuses.push_back(excuse);
}

void Collector::claim(const std::string& what) {
  const std::lock_guard guard(mutex_);
  history_.claims.push_back(what);
}

void Collector::grant(const Grant& grant) {
  const std::lock_guard guard(mutex_);
  history_.grants.push_back(grant);
}

bool Collector::write_to_resource(std::size_t lock, const FencingToken& token) {
  const std::lock_guard guard(mutex_);
  const bool accepted = resources_.at(lock).write(token);
  history_.visits.push_back({.lock = lock, .token = token, .accepted = accepted});
  return accepted;
}

void Collector::count(const std::string& name, std::uint64_t number) {
  const std::lock_guard guard(mutex_);
  tally_[name] += number;
}

std::int64_t Collector::session_of(unsigned client) const {
  const std::lock_guard guard(mutex_);
  const auto found = sessions_.find(client);
  return found == sessions_.end() ? 0 : found->second;
}

bool Collector::stays_long(unsigned client) const {
  const std::lock_guard guard(mutex_);
  const auto first = long_.lower_bound(grant_id(client, 0, 0, 0));
  return first != long_.end() && *first >> 56U == client;
}

bool Collector::has_met(unsigned client, unsigned life) const {
  const std::lock_guard guard(mutex_);
  return met_.contains(life_of(client, life));
}

Refusals Collector::refusals() const {
  const std::lock_guard guard(mutex_);
  return refusals_;
}

std::map<std::string, std::uint64_t> Collector::tally() const {
  const std::lock_guard guard(mutex_);
  return tally_;
}

History Collector::take_history() {
  const std::lock_guard guard(mutex_);
  open_.clear();
  return std::exchange(history_, {});
}

void Collector::serve() {
  std::list<Caller> callers;
  std::vector<pollfd> waiting;
  while (!ended_) {
    waiting.assign(1, {listener_, POLLIN, 0});
    for (const Caller& caller : callers) waiting.push_back({caller.fd, POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), kPollMs) <= 0) continue;
    std::size_t index = 1;
    for (auto caller = callers.begin(); caller != callers.end(); ++index) {
      if (waiting[index].revents == 0 || read_from(*caller)) {
        ++caller;
        continue;
      }
      ::close(caller->fd);
      caller = callers.erase(caller);
    }
    if (waiting[0].revents != 0) {
      const int accepted = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (accepted >= 0) callers.push_back({accepted, {}});
    }
  }
  for (const Caller& caller : callers) ::close(caller.fd);
}

// Returns false if the caller has closed its connection.
bool Collector::read_from(Caller& caller) {
  std::array<char, 16384> buffer{};
  const auto size = ::recv(caller.fd, buffer.data(), buffer.size(), 0);
  if (size <= 0) return false;
  caller.unread.append(buffer.data(), static_cast<std::size_t>(size));
  std::size_t begin = 0;
  for (auto end = caller.unread.find('\n'); end != std::string::npos;
       end = caller.unread.find('\n', begin)) {
    handle(caller, caller.unread.substr(begin, end - begin));
    begin = end + 1;
  }
  caller.unread.erase(0, begin);
  return true;
}

void Collector::handle(Caller& caller, const std::string& line) {
  if (line.size() < 2) return;
  const std::string rest = line.substr(2);
  std::istringstream in(rest);
  const std::lock_guard guard(mutex_);
  switch (line[0]) {
    case 'G': handle_grant(rest); return;
    case 'E': handle_end(rest); return;
    case 'W': {
      const char* answer = handle_visit(rest) ? "1\n" : "0\n";
      // Two bytes always fit into the buffer: the caller has received its last answer before it
      // sends again.
      static_cast<void>(::send(caller.fd, answer, 2, MSG_NOSIGNAL | MSG_DONTWAIT));
      return;
    }
    case 'L': {
      LossNotice notice;
      in >> notice.lock >> notice.owner >> notice.token.zxid >> notice.token.grant_index;
      history_.notices.push_back(notice);
      return;
    }
    case 'T': {
      std::string name;
      std::uint64_t number = 0;
      in >> name >> number;
      tally_[name] += number;
      return;
    }
    case 'I':
    case 'F': {
      unsigned client = 0;
      unsigned life = 0;
      in >> client >> life;
      (line[0] == 'I' ? met_ : history_.finished).insert(life_of(client, life));
      // Earlier lives of this client hold nothing any more.
      std::erase_if(long_, [&](GrantId id) { return id >> 56U == client; });
      return;
    }
    case 'V': history_.claims.push_back(rest); return;
    default: history_.claims.push_back("the collector does not understand: " + line);
  }
}

void Collector::handle_grant(const std::string& rest) {
  std::istringstream in(rest);
  Grant grant;
  bool is_long = false;
  in >> grant.id >> grant.lock >> grant.weight >> grant.owner >> grant.token.zxid >>
      grant.token.grant_index >> grant.call >> grant.first >> grant.session >> grant.listened >>
      is_long;
  if (is_long) long_.insert(grant.id);
  sessions_[static_cast<unsigned>(grant.id >> 56U)] = grant.session;
  open_[grant.id] = history_.grants.size();
  history_.grants.push_back(grant);
}

void Collector::handle_end(const std::string& rest) {
  std::istringstream in(rest);
  GrantId id = 0;
  Nanos last = 0;
  Nanos refused = 0;
  char end = '?';
  int notified = 0;
  in >> id >> last >> refused >> end >> notified;
  const auto found = open_.find(id);
  if (found == open_.end()) {
    history_.claims.push_back("the end of a grant that is not known: " + rest);
    return;
  }
  Grant& grant = history_.grants[found->second];
  open_.erase(found);
  long_.erase(id);
  grant.last = last;
  grant.refused = refused;
  grant.end = end == 'l' ? End::lost : End::released;
  grant.notified = notified;
}

bool Collector::handle_visit(const std::string& rest) {
  std::istringstream in(rest);
  GrantId id = 0;
  Visit visit;
  bool late = false;
  in >> id >> visit.lock >> visit.token.zxid >> visit.token.grant_index >> visit.reading >> late;
  Resource& resource = resources_.at(visit.lock);
  visit.accepted = visit.reading ? resource.read(visit.token) : resource.write(visit.token);
  if (!visit.accepted) ++(late ? refusals_.late : refusals_.unaware);
  history_.visits.push_back(visit);
  return visit.accepted;
}

}  // namespace zklock::chaos
