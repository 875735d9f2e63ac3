// SPDX-License-Identifier: Apache-2.0
#include "soak/figures.h"

#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <malloc.h>
#include <unistd.h>

#include "support/raw_client.h"
#include "zklock/testing/servers/four_letter_word.h"

namespace zklock::soak {
namespace {

std::size_t entries(const char* directory) {
  const std::filesystem::directory_iterator all(directory);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

double resident_now() {
  std::size_t size = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024;
}

// Adds all znodes without children, except the `count` znodes of semaphores, which stay.
void add_nodes(testing::RawClient& raw, const std::string& path, std::vector<std::string>& nodes) {
  const auto below = raw.children(path);
  if (below.rc == ZOK && below.names.empty() && !path.ends_with("/count")) nodes.push_back(path);
  for (const std::string& name : below.names) add_nodes(raw, path + "/" + name, nodes);
}

// Counts the connections with a session: "cons" has a line with "sid=0x" for each.
std::size_t count_sessions(const std::string& connections) {
  std::size_t count = 0;
  for (auto at = connections.find("sid=0x"); at != std::string::npos;
       at = connections.find("sid=0x", at + 1)) {
    ++count;
  }
  return count;
}

std::size_t number_after(const std::string& text, const std::string& word) {
  const auto at = text.find(word);
  if (at == std::string::npos) throw std::runtime_error("no \"" + word + "\" in: " + text);
  return std::stoul(text.substr(at + word.size()));
}

}  // namespace

ProcessFigures ProcessFigures::now() {
  ProcessFigures now;
  now.descriptors = entries("/proc/self/fd");
  now.threads = entries("/proc/self/task");
  ::malloc_trim(0);
  const struct mallinfo2 info = ::mallinfo2();  // of all arenas
  now.heap_kb = static_cast<double>(info.uordblks + info.hblkhd) / 1024;
  now.resident_kb = resident_now();
  return now;
}

std::optional<ServerFigures> ServerFigures::of(const testing::TestServer& server) {
  try {
    ServerFigures now;
    {
      testing::RawClient raw(server.hosts());
      add_nodes(raw, "/soak", now.nodes);
    }
    const auto mntr = server.four_letter_word("mntr");
    const auto cons = server.four_letter_word("cons");
    const auto wchs = server.four_letter_word("wchs");
    if (!mntr || !cons || !wchs) return std::nullopt;
    const auto sessions = testing::mntr_value(*mntr, "zk_global_sessions");
    if (!sessions) return std::nullopt;
    now.sessions = std::stoul(*sessions);
    now.connections = count_sessions(*cons);
    now.watches = number_after(*wchs, "Total watches:");
    return now;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace zklock::soak
