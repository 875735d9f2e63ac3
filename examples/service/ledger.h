// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include <zklock/fencing_token.h>

namespace billing {

struct Posting {
  std::string account;
  std::int64_t amount = 0;
};

// The resource that the leader writes to. It must refuse a token that is lower than the highest one
// it has seen for the account. The check and the write must be one step.
//
// Thread-safety: all members, from any thread.
class Ledger {
 public:
  virtual ~Ledger() = default;
  // Adds the amount to the account. Returns false, and changes nothing, if a later leader has
  // written to the account. Throws if the outcome is unknown.
  virtual bool post(zklock::FencingToken token, const Posting& posting) = 0;
};

// Stands for a database. In PostgreSQL, the table and the write are
//
//   CREATE TABLE account (id text PRIMARY KEY, balance bigint NOT NULL,
//                         token_zxid bigint NOT NULL, token_index bigint NOT NULL);
//
//   UPDATE account
//      SET balance = balance + $1, token_zxid = $2, token_index = $3
//    WHERE id = $4 AND (token_zxid, token_index) <= ($2, $3);
//
// The row is locked during the UPDATE, so check and write are one step. If the account exists, the
// result "UPDATE 0" means that a later leader has written. Then this process no longer leads.
//
// If the ensemble is replaced, or restored from an older backup, its tokens start lower. Then set the
// stored tokens to 0.
//
// Thread-safety: all members, from any thread.
class MemoryLedger : public Ledger {
 public:
  bool post(zklock::FencingToken token, const Posting& posting) override {
    const std::lock_guard guard(mutex_);
    Row& row = rows_[posting.account];
    if (token < row.token) return false;
    row.token = token;
    row.balance += posting.amount;
    return true;
  }
  std::int64_t balance(const std::string& account) const {
    const std::lock_guard guard(mutex_);
    const auto found = rows_.find(account);
    return found != rows_.end() ? found->second.balance : 0;
  }

 private:
  struct Row {
    std::int64_t balance = 0;
    zklock::FencingToken token;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Row> rows_;  // guarded by mutex_
};

}  // namespace billing
