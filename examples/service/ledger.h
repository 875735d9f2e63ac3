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

// The resource that the leader writes to. It has one token for all accounts: that of the last
// leader that has begun. It must refuse a lower token, and the check and the write must be one
// step.
//
// Thread-safety: all members, from any thread.
class Ledger {
 public:
  virtual ~Ledger() = default;
  // Raises the token of the ledger, at the start of a leadership. From then on, writes of earlier
  // leaders are refused, to any account. Returns false if a later leader has begun. Throws if the
  // outcome is unknown.
  virtual bool begin(zklock::FencingToken token) = 0;
  // Adds the amount to the account. Returns false, and changes nothing, if a later leader has
  // begun.
  // Throws if the outcome is unknown.
  virtual bool post(zklock::FencingToken token, const Posting& posting) = 0;
};

// Stands for a database. In PostgreSQL, the tables are
//
//   CREATE TABLE account (id text PRIMARY KEY, balance bigint NOT NULL);
//
//   CREATE TABLE leader (token_zxid bigint NOT NULL, token_index bigint NOT NULL);
//   INSERT INTO leader VALUES (0, 0);  -- the only row
//
// begin() and post() are one statement each:
//
//   UPDATE leader SET token_zxid = $1, token_index = $2
//    WHERE (token_zxid, token_index) <= ($1, $2);
//
//   UPDATE account SET balance = balance + $1 WHERE id = $2 AND EXISTS
//     (SELECT FROM leader WHERE (token_zxid, token_index) <= ($3, $4) FOR SHARE);
//
// FOR SHARE locks the row of the leader until the write is committed. So begin() waits for a write
// that has passed the check, and check and write are one step. If the account exists, the result
// "UPDATE 0" means that a later leader has begun. Then this process no longer leads.
//
// If the ensemble is replaced, or restored from an older backup, its tokens start lower. Then set
// the stored token to 0.
//
// Thread-safety: all members, from any thread.
class MemoryLedger : public Ledger {
 public:
  bool begin(zklock::FencingToken token) override {
    const std::lock_guard guard(mutex_);
    if (token < token_) return false;
    token_ = token;
    return true;
  }
  bool post(zklock::FencingToken token, const Posting& posting) override {
    const std::lock_guard guard(mutex_);
    if (token < token_) return false;
    balances_[posting.account] += posting.amount;
    return true;
  }
  std::int64_t balance(const std::string& account) const {
    const std::lock_guard guard(mutex_);
    const auto found = balances_.find(account);
    return found != balances_.end() ? found->second : 0;
  }

 private:
  mutable std::mutex mutex_;    // guards the following members
  zklock::FencingToken token_;  // of the last leader that has begun
  std::map<std::string, std::int64_t> balances_;
};

}  // namespace billing
