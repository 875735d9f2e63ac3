// SPDX-License-Identifier: Apache-2.0
#include "support/snapshot.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace zklock::testing {
namespace {

namespace fs = std::filesystem;

// ZooKeeper's file format. All integers are big-endian; a string is its length and its bytes. A
// znode has its path, its data, the index of its ACL (8 bytes), and its stat. The stat begins with
// czxid, mzxid, ctime, mtime (8 bytes each), version, cversion. The file ends with the Adler-32 of
// all bytes before it (8 bytes) and the string "/".
constexpr std::size_t kAcl = 8;
constexpr std::size_t kBeforeCounter = 4 * 8 + 4;
constexpr std::size_t kSeal = 8 + 4 + 1;

std::string big_endian(std::uint64_t value, std::size_t bytes) {
  std::string text;
  while (bytes-- > 0) text += static_cast<char>(value >> (8 * bytes) & 0xff);
  return text;
}

std::int32_t int_at(const std::string& content, std::size_t at) {
  std::uint32_t value = 0;
  for (const char c : content.substr(at, 4)) value = value << 8 | static_cast<unsigned char>(c);
  return static_cast<std::int32_t>(value);
}

std::uint32_t adler32(std::string_view content) {
  constexpr std::uint32_t kPrime = 65521;
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  for (const char c : content) {
    a = (a + static_cast<unsigned char>(c)) % kPrime;
    b = (b + a) % kPrime;
  }
  return b << 16 | a;
}

// Parses "snapshot.<zxid>" with a hexadecimal zxid.
std::optional<std::uint64_t> zxid_of(const fs::path& file) {
  const std::string digits = file.extension().string();
  std::uint64_t zxid = 0;
  if (file.stem() != "snapshot" || digits.empty()) return std::nullopt;
  const auto end = digits.data() + digits.size();
  if (std::from_chars(digits.data() + 1, end, zxid, 16).ptr != end) return std::nullopt;
  return zxid;
}

fs::path newest_snapshot(const fs::path& server_directory) {
  std::optional<std::uint64_t> newest;
  fs::path found;
  for (const auto& entry : fs::directory_iterator(server_directory / "data" / "version-2")) {
    const auto zxid = zxid_of(entry.path());
    if (!zxid || (newest && *newest > *zxid)) continue;
    newest = zxid;
    found = entry.path();
  }
  if (!newest) throw std::runtime_error("no snapshot in " + server_directory.string());
  return found;
}

}  // namespace

std::vector<std::string> plain_snapshot_flags() {
  return {"-Dzookeeper.digest.enabled=false",
          "-Dzookeeper.serializeLastProcessedZxid.enabled=false"};
}

void set_sequence_counter(const fs::path& server_directory, const std::string& path,
                          std::int32_t counter) {
  const fs::path file = newest_snapshot(server_directory);
  std::ifstream in(file, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(in), {}};

  const std::string key = big_endian(path.size(), 4) + path;
  const auto node = content.find(key);
  if (node == std::string::npos) throw std::runtime_error("no " + path + " in " + file.string());
  const std::size_t data = node + key.size();
  const auto length = static_cast<std::size_t>(std::max(0, int_at(content, data)));
  const std::size_t at = data + 4 + length + kAcl + kBeforeCounter;
  if (at + 4 + kSeal > content.size()) throw std::runtime_error("not understood: " + file.string());
  content.replace(at, 4, big_endian(static_cast<std::uint32_t>(counter), 4));

  content.resize(content.size() - kSeal);
  const std::uint32_t seal = adler32(content);
  content += big_endian(seal, 8) + big_endian(1, 4) + "/";
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << content;
  out.flush();
  if (!out) throw std::runtime_error("cannot write " + file.string());
}

}  // namespace zklock::testing
