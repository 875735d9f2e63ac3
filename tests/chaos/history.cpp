// SPDX-License-Identifier: Apache-2.0
#include "chaos/history.h"

#include <sstream>

namespace zklock::chaos {
namespace {

const char* word(End end) {
  switch (end) {
    case End::open: return "open";
    case End::released: return "released";
    case End::lost: return "lost";
  }
  return "?";
}

}  // namespace

std::string describe(const Grant& grant) {
  std::ostringstream out;
  out << "lock " << grant.lock << " token " << grant.token << " weight " << grant.weight
      << " client " << (grant.id >> 56U) << '.' << (grant.id >> 40U & 0xFFFFU) << '.'
      << (grant.id >> 32U & 0xFFU) << '.' << (grant.id & 0xFFFFFFFFU) << " owner " << std::hex
      << grant.owner << " session " << grant.session << std::dec << " call " << grant.call
      << " first " << grant.first << " last " << grant.last << " refused " << grant.refused << ' '
      << word(grant.end) << " notified " << grant.notified;
  return out.str();
}

void write(std::ostream& out, const History& history) {
  for (const std::string& claim : history.claims) out << "claim " << claim << '\n';
  for (const Excuse& excuse : history.excuses) {
    out << "excuse session " << std::hex << excuse.session << std::dec << " lock " << excuse.lock
        << " zxid " << excuse.zxid_from << " to " << excuse.zxid_to << " from " << excuse.from
        << '\n';
  }
  for (const Grant& grant : history.grants) out << "grant " << describe(grant) << '\n';
  for (const LossNotice& notice : history.notices) {
    out << "notice lock " << notice.lock << " token " << notice.token << " owner " << std::hex
        << notice.owner << std::dec << '\n';
  }
  for (const Visit& visit : history.visits) {
    out << (visit.reading ? "read" : "write") << " lock " << visit.lock << " token " << visit.token
        << (visit.accepted ? "" : " refused") << '\n';
  }
}

}  // namespace zklock::chaos
