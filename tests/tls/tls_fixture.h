// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "support/descriptor_limit.h"
#include "tls/stub_client.h"
#include "zklock/testing/servers/child_process.h"
#include "zklock/testing/servers/temp_dir.h"

namespace zklock::testing {

/// A folder with two certificates and their keys: one.pem and one.key, two.pem and two.key. The
/// password of two.key is "sesame"; one.key has none.
class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!make_certificate("one", "-nodes") || !make_certificate("two", "-passout pass:sesame")) {
      GTEST_SKIP() << "the program openssl is missing";
    }
  }

  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name) << text;
  }
  TlsOptions tls(const std::string& ca, const std::string& certificate, const std::string& key,
                 const std::string& password = {}) const {
    return {.ca_file = file(ca),
            .certificate_file = file(certificate),
            .key_file = file(key),
            .key_password = password};
  }
  ClientOptions options(const std::string& hosts = "127.0.0.1:1") const {
    ClientOptions options;
    options.hosts = hosts;
    options.session_timeout = 2s;
    options.log_sink = [](LogLevel /*level*/, std::string_view /*line*/) {};
    options.tls = tls("one.pem", "one.pem", "one.key");
    return options;
  }

 private:
  bool make_certificate(const std::string& name, const std::string& key_option) const {
    ChildOptions openssl;
    openssl.working_dir = folder_.path();
    openssl.argv = {
        "sh", "-c",
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 2 -subj /CN=" + name +
            " " + key_option + " -keyout " + name + ".key -out " + name + ".pem"};
    const auto ended = ChildProcess(openssl).wait(kTestTimeout);
    return ended && ended->exit_code == 0;
  }

  const DescriptorLimit limit_{1024};
  const TempDir folder_;
};

}  // namespace zklock::testing
