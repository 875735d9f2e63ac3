// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <string>

#include "tests/model/path_lock_fixture.h"
#include "zklock/guarded_transaction.h"

namespace zklock::model {

/// The first client has a write hold and, nested in it, a read hold.
class DowngradeTest : public PathLockTest {
 protected:
  static LockWorld::Request to_write() { return LockWorld::to_write(); }
  static LockWorld::Request to_read() { return LockWorld::to_read(); }

  World& world() { return lock_.world(); }

  void SetUp() override {
    PathLockTest::SetUp();
    writes_ = granted(0, LockWorld::to_write(owner_));
    reads_ = granted(0, LockWorld::to_read(owner_));
    writer_ = hold().node();
    reader_ = writer_;
    reader_.replace(reader_.find("__WRIT__"), 8, "__READ__");
    reset_counts();
  }
  const Hold& hold() { return lock_.call(reads_).hold; }
  bool there(const std::string& node) { return ensemble().find(node) != nullptr; }
  bool is_reader() { return hold().node() == reader_ && there(reader_) && !there(writer_); }
  bool is_writer() { return hold().node() == writer_ && !there(reader_) && there(writer_); }

  /// Sends the request. run() completes it.
  void downgrade() { lock_.release(writes_); }
  void downgraded() {
    downgrade();
    run();
    ASSERT_TRUE(is_reader());
  }
  void step(int count) {
    for (int i = 0; i < count; ++i) {
      const auto steps = world().steps();
      if (!steps.empty()) world().run(steps.front());
    }
  }
  void commit(Deadline deadline = Deadline::never()) {
    GuardedTransaction tx(hold());
    tx.set(kDataPath, "1");
    tx.async_commit(deadline, [this](const std::exception_ptr& error) {
      ++commits_;
      try {
        if (error) std::rethrow_exception(error);
      } catch (const Error& e) {
        code_ = e.errc();
      }
    });
  }
  const std::string& data() { return ensemble().find(kDataPath)->data; }

  static constexpr const char* kDataPath = "/data";
  const Owner owner_ = Owner::unique();
  std::size_t writes_ = 0;
  std::size_t reads_ = 0;
  std::string writer_;
  std::string reader_;
  int commits_ = 0;
  std::optional<Errc> code_;
};

}  // namespace zklock::model
