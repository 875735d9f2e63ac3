// SPDX-License-Identifier: Apache-2.0
#include "zklock/client/zookeeper/quirks/tls_files.h"

#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

// Declared here, because zklock does not need OpenSSL's headers. The symbols are weak: an address
// is null if this process has no OpenSSL. A weak symbol is better than dlsym(RTLD_DEFAULT): it is
// also found if a program loads a shared zklock with dlopen().
struct ssl_ctx_st;
struct ssl_method_st;
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
#define ZKLOCK_WEAK __attribute__((weak))
ZKLOCK_WEAK const ssl_method_st* TLS_client_method();
ZKLOCK_WEAK ssl_ctx_st* SSL_CTX_new(const ssl_method_st* method);
ZKLOCK_WEAK void SSL_CTX_free(ssl_ctx_st* context);
ZKLOCK_WEAK int SSL_CTX_load_verify_locations(ssl_ctx_st* context, const char* file,
                                              const char* directory);
ZKLOCK_WEAK int SSL_CTX_use_certificate_chain_file(ssl_ctx_st* context, const char* file);
ZKLOCK_WEAK void SSL_CTX_set_default_passwd_cb_userdata(ssl_ctx_st* context, void* password);
ZKLOCK_WEAK int SSL_CTX_use_PrivateKey_file(ssl_ctx_st* context, const char* file, int type);
ZKLOCK_WEAK int SSL_CTX_check_private_key(const ssl_ctx_st* context);
ZKLOCK_WEAK int ERR_set_mark();
ZKLOCK_WEAK int ERR_pop_to_mark();
#undef ZKLOCK_WEAK
}
// NOLINTEND(readability-identifier-naming)

namespace zklock::client {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::string& file)
      : number_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return number_; }

 private:
  const int number_;
};

// Returns the content, or nothing with the cause in errno. A longer file is cut.
std::optional<std::string> content_of(const std::string& file) {
  constexpr std::size_t kLongest = std::size_t{16} << 20;
  const Descriptor descriptor(file);
  struct stat status {};
  if (descriptor.get() < 0 || ::fstat(descriptor.get(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) {
    errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    return std::nullopt;
  }
  std::string content;
  char piece[16384];
  while (content.size() < kLongest) {
    const ssize_t count = ::read(descriptor.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    content.append(piece, static_cast<std::size_t>(count));
  }
  return content;
}

// `block`: the end of the name of the PEM block, such as "CERTIFICATE".
std::string problem_of(const std::string& file, std::string_view block) {
  const auto content = content_of(file);
  if (!content) {
    return "cannot read the TLS file " + file + ": " + std::generic_category().message(errno);
  }
  const auto begin = content->find("-----BEGIN ");
  if (begin != std::string::npos &&
      content->find(std::string(block) + "-----", begin) != std::string::npos) {
    return {};
  }
  return "the TLS file " + file + " contains no PEM block " + std::string(block);
}

// Keeps the error queue of OpenSSL, which belongs to this thread of the user's program.
class ErrorMark {
 public:
  ErrorMark() noexcept { ::ERR_set_mark(); }
  ~ErrorMark() { ::ERR_pop_to_mark(); }
  ErrorMark(const ErrorMark&) = delete;
  ErrorMark& operator=(const ErrorMark&) = delete;
};

// Calls what the C client will call. It loads the key first, so that a wrong password and a key of
// another certificate have different texts.
std::string openssl_problem(const TlsOptions& tls) {
  constexpr int kPem = 1;
  const ErrorMark mark;
  const auto release = [](ssl_ctx_st* context) { ::SSL_CTX_free(context); };
  const std::unique_ptr<ssl_ctx_st, decltype(release)> context(::SSL_CTX_new(::TLS_client_method()),
                                                               release);
  if (!context) return "OpenSSL cannot make a context";
  if (::SSL_CTX_load_verify_locations(context.get(), tls.ca_file.c_str(), nullptr) != 1) {
    return "OpenSSL finds no valid certificate in the TLS file " + tls.ca_file;
  }
  std::string password = tls.key_password;
  ::SSL_CTX_set_default_passwd_cb_userdata(context.get(), password.data());
  if (::SSL_CTX_use_PrivateKey_file(context.get(), tls.key_file.c_str(), kPem) != 1) {
    return "the TLS key " + tls.key_file + " cannot be opened with tls.key_password";
  }
  if (::SSL_CTX_use_certificate_chain_file(context.get(), tls.certificate_file.c_str()) != 1) {
    return "OpenSSL finds no valid certificate in the TLS file " + tls.certificate_file;
  }
  if (::SSL_CTX_check_private_key(context.get()) != 1) {
    return "the TLS key " + tls.key_file + " does not belong to the certificate " +
           tls.certificate_file;
  }
  return {};
}

}  // namespace

bool openssl_is_reachable() noexcept {
  return &::TLS_client_method != nullptr && &::SSL_CTX_new != nullptr &&
         &::SSL_CTX_free != nullptr && &::SSL_CTX_load_verify_locations != nullptr &&
         &::SSL_CTX_use_certificate_chain_file != nullptr &&
         &::SSL_CTX_set_default_passwd_cb_userdata != nullptr &&
         &::SSL_CTX_use_PrivateKey_file != nullptr && &::SSL_CTX_check_private_key != nullptr &&
         &::ERR_set_mark != nullptr && &::ERR_pop_to_mark != nullptr;
}

std::string tls_descriptor_problem() {
  // A new descriptor is below the soft limit, whatever descriptors are in use.
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= FD_SETSIZE) return {};
  const std::string most =
      limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur);
  return "the limit of open files is " + most +
         ", but the TLS of the ZooKeeper C client would crash with a descriptor of 1024 or more; "
         "lower it (ulimit -Sn 1024), or use a tunnel";
}

std::string tls_file_problem(const TlsOptions& tls) {
  for (const std::string& problem :
       {problem_of(tls.ca_file, "CERTIFICATE"), problem_of(tls.certificate_file, "CERTIFICATE"),
        problem_of(tls.key_file, "PRIVATE KEY")}) {
    if (!problem.empty()) return problem;
  }
  return openssl_is_reachable() ? openssl_problem(tls) : std::string();
}

}  // namespace zklock::client
