// SPDX-License-Identifier: Apache-2.0
// Paths. The accepted paths are those that ZooKeeper's servers accept; the target has a second
// version of their rules, on UTF-16 as in the servers. A refused path causes a typed, printable
// error. Parents, names and chroots can be joined and split again.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tests/fuzz/target.h"
#include "zklock/client/port/znode_path.h"
#include "zklock/core/lock_path.h"
#include "zklock/core/utf8.h"
#include "zklock/error.h"

namespace zklock::fuzz {
namespace {

using namespace core;

/// Returns nullopt if the text is not UTF-8.
std::optional<std::u16string> utf16_of(std::string_view text) {
  std::u16string result;
  while (!text.empty()) {
    const auto character = first_character(text);
    if (!character.valid) return std::nullopt;
    if (character.code < 0x10000) {
      result += static_cast<char16_t>(character.code);
    } else {
      const char32_t above = character.code - 0x10000;
      result += static_cast<char16_t>(0xD800U + (above >> 10U));
      result += static_cast<char16_t>(0xDC00U + (above & 0x3FFU));
    }
    text.remove_prefix(character.length);
  }
  return result;
}

bool is_refused_by_servers(char16_t c) {
  return c <= 0x1F || (c >= 0x7F && c <= 0x9F) || (c >= 0xD800 && c <= 0xF8FF) || c >= 0xFFF0;
}

bool servers_take(std::string_view path) {
  if (path == "/") return true;
  if (path.empty() || path.front() != '/' || path.back() == '/') return false;
  const auto text = utf16_of(path);
  if (!text) return false;
  for (const char16_t c : *text) {
    if (is_refused_by_servers(c)) return false;
  }
  const std::string closed = std::string(path) + '/';
  for (const char* wrong : {"//", "/./", "/../"}) {
    if (closed.find(wrong) != std::string::npos) return false;
  }
  return true;
}

void check_refusal(const Error& error, std::string_view operation) {
  const std::string_view text = error.what();
  require(error.errc() == Errc::invalid_path, "a typed error");
  require(text.starts_with(operation), "it says what was wanted");
  require(is_fit_to_be_shown(text), "fit to be shown");
}

bool is_lock_path(const std::string& text) {
  try {
    const LockPath path(text);
    require(path.str() == text, "as it is");
    return true;
  } catch (const Error& error) {
    check_refusal(error, "lock");
    return false;
  }
}

bool is_path(std::string_view text) {
  try {
    check_path("read", text);
    return true;
  } catch (const Error& error) {
    check_refusal(error, "read");
    return false;
  }
}

void check_parts(const std::string& path) {
  using namespace client;
  if (path == "/") return;
  const std::string parent(parent_of(path));
  require(is_path(parent), "what a path is below is a path");
  require(join(parent, name_of(path)) == path, "put together again");
  require(name_of(path).find('/') == std::string_view::npos, "a name is one component");
}

void check_lock(const std::string& text) {
  const LockPath path(text);
  const std::string child = path.child("lock-0000000001");
  require(client::parent_of(child) == text, "its child is below it");
  require(client::name_of(child) == "lock-0000000001", "by that name");
  require(client::join(text, "lock-0000000001") == child, "however it is put together");
  // The path as a chroot of itself.
  const std::string full = client::full_path(text, text);
  require(full == text + text && client::is_valid_path(full), "below its chroot");
  require(client::full_path(text, "/") == text, "the root of a chroot");
  require(client::full_path("", text) == text, "without a chroot");
}

void check_any(std::string_view bytes) {
  const std::string text(bytes);
  const bool any = is_path(text);
  require(any == (servers_take(text) && text.size() <= 1024), "what servers take", text);
  const bool reserved = text == "/" || text == "/zookeeper" || text.starts_with("/zookeeper/");
  const bool lock = is_lock_path(text);
  require(lock == (any && !reserved), "a lock's path is not the servers'", text);
  require(!any || client::is_valid_path(text), "the C client takes it, too");
  if (any) check_parts(text);
  if (lock) check_lock(text);
}

}  // namespace
}  // namespace zklock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  zklock::fuzz::check_any(zklock::fuzz::as_text(data, size));
  return 0;
}
