// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "conformance/lock_test.h"
#include "tls/stub_client.h"
#include "zklock/testing/servers/temp_dir.h"

namespace zklock::testing {

/// A folder with files that look like certificates and a key.
class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    write("ca.pem", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n");
    write("cert.pem", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n");
    write("key.pem", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n");
  }

  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name) << text;
  }
  ClientOptions options(const std::string& hosts = "127.0.0.1:1") const {
    ClientOptions options;
    options.hosts = hosts;
    options.session_timeout = 2s;
    options.log_sink = [](LogLevel /*level*/, std::string_view /*line*/) {};
    options.tls = TlsOptions{.ca_file = file("ca.pem"),
                             .certificate_file = file("cert.pem"),
                             .key_file = file("key.pem"),
                             .key_password = {}};
    return options;
  }

 private:
  const TempDir folder_;
};

}  // namespace zklock::testing
