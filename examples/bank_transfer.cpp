// SPDX-License-Identifier: Apache-2.0
// Several processes transfer money between accounts. Each transfer takes the locks of its two
// accounts, named in any order. The promise: they never deadlock, and never create or lose money.

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zklock/zklock.h>

#include "promise.h"

namespace {

using namespace std::chrono_literals;
using example::promise;

constexpr int kProcesses = 3;
constexpr int kTellers = 2;  // threads of a process, each with a client of its own
constexpr int kTransfers = 20;
constexpr std::int64_t kOpening = 1000;

// Shared by the processes in memory. It has no atomics: the locks protect it.
struct Bank {
  struct Account {
    std::int64_t balance = kOpening;
    std::int64_t bookings = 0;
  };
  std::array<Account, 4> accounts;
};

constexpr std::size_t kAccounts = std::tuple_size_v<decltype(Bank::accounts)>;

Bank& shared_bank() {
  void* const memory =
      ::mmap(nullptr, sizeof(Bank), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  return *new (memory) Bank;
}

std::string lock_of(std::size_t account) {
  return "/bank/account-" + std::to_string(account);
}

// Reads, waits, and writes. A transfer without the locks in between would lose a booking.
void book(Bank& bank, std::size_t from, std::size_t to, std::int64_t amount) {
  Bank::Account payer = bank.accounts[from];
  Bank::Account payee = bank.accounts[to];
  std::this_thread::sleep_for(1ms);
  payer.balance -= amount;
  payee.balance += amount;
  ++payer.bookings;
  ++payee.bookings;
  bank.accounts[from] = payer;
  bank.accounts[to] = payee;
}

void work_as_teller(const std::string& hosts, Bank& bank, unsigned seed) {
  zklock::Client client(hosts);
  std::minstd_rand random(seed);
  for (int i = 0; i < kTransfers; ++i) {
    const std::size_t from = random() % kAccounts;
    const std::size_t to = (from + 1 + random() % (kAccounts - 1)) % kAccounts;
    zklock::MultiMutex both(client, {lock_of(from), lock_of(to)});
    const zklock::MultiHold hold = both.acquire({.deadline = 60s});
    if (!hold) throw std::runtime_error("a deadlock: no grant within 60 s");
    book(bank, from, to, static_cast<std::int64_t>(random() % 100));
    if (!hold.is_valid()) throw std::runtime_error("the locks were lost");
  }
}

// Returns the exit status: 0 if all tellers of the process did their work.
int work_as_process(const std::string& hosts, Bank& bank, unsigned process) {
  std::array<bool, kTellers> done{};
  {
    std::vector<std::jthread> tellers;
    for (unsigned t = 0; t < kTellers; ++t) {
      tellers.emplace_back([&, t] {
        try {
          work_as_teller(hosts, bank, 1 + process * kTellers + t);
          done[t] = true;
        } catch (const std::exception& e) {
          std::cerr << "teller " << t << " of process " << process << ": " << e.what() << std::endl;
        }
      });
    }
  }
  return std::ranges::count(done, true) == kTellers ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, [](const std::string& hosts) {
    Bank& bank = shared_bank();
    std::vector<pid_t> children;
    for (unsigned process = 0; process < kProcesses; ++process) {
      const pid_t child = ::fork();  // while there is no client, and no other thread
      if (child == 0) ::_exit(work_as_process(hosts, bank, process));
      if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
      children.push_back(child);
    }
    bool all_done = true;
    for (const pid_t child : children) {
      int status = -1;
      all_done = ::waitpid(child, &status, 0) == child && status == 0 && all_done;
    }
    promise(all_done, "every transfer was made: no thread waited for ever");

    std::int64_t money = 0;
    std::int64_t bookings = 0;
    for (std::size_t i = 0; i < kAccounts; ++i) {
      std::cout << "  account " << i << ": " << bank.accounts[i].balance << ", after "
                << bank.accounts[i].bookings << " bookings\n";
      money += bank.accounts[i].balance;
      bookings += bank.accounts[i].bookings;
    }
    promise(money == static_cast<std::int64_t>(kAccounts) * kOpening,
            "there is as much money as before");
    promise(bookings == 2L * kProcesses * kTellers * kTransfers, "no booking was lost");
  });
}
