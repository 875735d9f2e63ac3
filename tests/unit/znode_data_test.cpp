// SPDX-License-Identifier: Apache-2.0
#include "zklock/core/znode_data.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "zklock/core/utf8.h"

namespace zklock::core {
namespace {

ZnodeData full() {
  ZnodeData data;
  data.attempt = "0123456789abcdef-17";
  data.owner = "0123456789abcdef-3";
  data.host = "db-1.example";
  data.thread = "worker 4";
  data.application = "billing";
  data.label = "invoices";
  data.note = "job 42, customer 7";
  data.pid = 4711;
  data.announces = true;
  data.bound = true;
  data.is_candidate = true;
  data.token = 4294967297;
  data.since_ms = 1700000000123;
  return data;
}

TEST(ZnodeData, Encoded_IsReadableText) {
  EXPECT_EQ(full().encode(),
            "zklock 1\nattempt=0123456789abcdef-17\nowner=0123456789abcdef-3\nhost=db-1.example\n"
            "pid=4711\nthread=worker 4\napplication=billing\nlabel=invoices\n"
            "note=job 42, customer 7\nannounces=1\nbound=1\nrole=candidate\n"
            "token=4294967297\nsince=1700000000123\n");
  EXPECT_EQ(ZnodeData().encode(), "zklock 1\n");
}

TEST(ZnodeData, OtherTexts_AreNotParsed) {
  for (const std::string_view text :
       {"", "\n", "zklock", "zklock ", "zklock 2\n", "zklock 10\nowner=a\n", "zklock 1 \n",
        "zklock 1\r\nowner=a\n", " zklock 1\n", "Zklock 1\n", "10.0.0.1", "owner=a\nzklock 1\n"}) {
    EXPECT_FALSE(ZnodeData::parse(text)) << text;
  }
  EXPECT_FALSE(ZnodeData::parse(std::string_view("zklock 1\0\nowner=a\n", 18)));
  EXPECT_FALSE(ZnodeData::parse(kReleasedData));
}

TEST(ZnodeData, UnknownLines_AreSkipped) {
  const auto data = ZnodeData::parse(
      "zklock 1\n\ncolour=blue\nno equals sign\n=x\nOwner=y\nowner=o\npriority=3\nhost=h");
  ASSERT_TRUE(data);
  EXPECT_EQ(data->owner, "o");
  EXPECT_EQ(data->host, "h") << "the last line needs no end";
  EXPECT_TRUE(ZnodeData::parse("zklock 1"));
}

TEST(ZnodeData, MalformedValue_IsTheDefault) {
  const auto parsed = [](const std::string& line) {
    return ZnodeData::parse("zklock 1\n" + line + "\n").value();
  };
  EXPECT_EQ(parsed("pid=-5").pid, -5);
  for (const std::string value : {"", "x", "12x", " 12", "+12", "0x12", "99999999999999999999"}) {
    EXPECT_EQ(parsed("pid=" + value).pid, 0) << value;
  }
  EXPECT_TRUE(parsed("announces=1").announces && parsed("bound=1").bound);
  for (const std::string value : {"", "0", "2", "true", "11", " 1"}) {
    EXPECT_FALSE(parsed("announces=" + value).announces) << value;
    EXPECT_FALSE(parsed("bound=" + value).bound) << value;
  }
  EXPECT_TRUE(parsed("role=candidate").is_candidate);
  for (const std::string value : {"", "1", "Candidate", " candidate", "candidate ", "candidates"}) {
    EXPECT_FALSE(parsed("role=" + value).is_candidate) << value;
  }
}

TEST(ZnodeData, LongValues_AreCappedOnBothSides) {
  ZnodeData data;
  const std::string long_text(100'000, 'x');
  data.attempt = data.owner = data.host = data.thread = data.application = long_text;
  data.label = data.note = long_text;
  const std::string text = data.encode();
  EXPECT_LT(text.size(), 900U);
  EXPECT_EQ(ZnodeData::parse(text)->thread, std::string(64, 'x'));
  EXPECT_EQ(ZnodeData::parse("zklock 1\nhost=" + std::string(1000, 'y'))->host,
            std::string(64, 'y'));
  // A znode of a megabyte is not parsed to its end.
  EXPECT_EQ(ZnodeData::parse("zklock 1\n" + std::string(1 << 20, 'z') + "\nhost=h\n")->host, "");
}

std::string random_bytes(std::mt19937& random, std::size_t longest) {
  std::string text(random() % (longest + 1), '\0');
  for (char& c : text) c = static_cast<char>(random() % 4 == 0 ? random() % 256 : random() % 128);
  return text;
}

TEST(ZnodeData, RandomBytes_AreReadBackPrintable) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    ZnodeData data;
    for (auto* member :
         {&data.attempt, &data.owner, &data.host, &data.thread, &data.application, &data.label}) {
      *member = random_bytes(random, 100);
    }
    data.note = random_bytes(random, 300);
    data.pid = static_cast<std::int64_t>(random()) << 31;
    data.announces = random() % 2 == 0;
    data.bound = random() % 2 == 0;
    data.is_candidate = random() % 2 == 0;
    const auto read = ZnodeData::parse(data.encode());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->note, printable(data.note, 200));
    EXPECT_EQ(read->label, printable(data.label, 64));
    EXPECT_EQ(read->encode(), data.encode()) << "seed " << seed;
  }
}

TEST(Printable, Limit_CutsAtWholeCharacters) {
  EXPECT_EQ(printable("abc", 10), "abc");
  EXPECT_EQ(printable("abc", 2), "ab");
  EXPECT_EQ(printable("abc", 0), "");
  EXPECT_EQ(printable("", 5), "");
  EXPECT_EQ(printable("aä€😀", 100), "aä€😀");
  EXPECT_EQ(printable("aä", 2), "a");
  EXPECT_EQ(printable("a€", 3), "a");
  EXPECT_EQ(printable("a😀b", 4), "a") << "what follows the cut is cut as well";
  EXPECT_EQ(printable("a😀b", 5), "a😀");
}

TEST(Printable, Characters_AreShownOrReplaced) {
  struct Case {
    std::string_view text;
    std::string_view shown;
    const char* why;
  };
  for (const auto& [text, shown, why] : {
           Case{{"\0\x1f\n\r\t\x7f", 6}, "??????", "control characters"},
           Case{"\xC2\x80\xC2\x9F", "??", "C1"},
           Case{"\xC2\xA0\xDF\xBF", "\xC2\xA0\xDF\xBF", "first and last of two bytes"},
           Case{"\xE0\xA0\x80\xEF\xBF\xBF", "\xE0\xA0\x80\xEF\xBF\xBF", "of three bytes"},
           Case{"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", "of four"},
           Case{"\x80z", "?z", "continuation without a lead"},
           Case{"\xC3", "?", "cut short"},
           Case{"\xE2\x82", "??", "cut short"},
           Case{"\xC0\xAF", "??", "overlong"},
           Case{"\xE0\x80\xAF", "???", "overlong"},
           Case{"\xF0\x80\x80\xAF", "????", "overlong"},
           Case{"\xED\xA0\x80", "???", "surrogate"},
           Case{"\xF4\x90\x80\x80\xF5\xFF", "??????", "beyond U+10FFFF"},
           Case{"a\xE2\x80\xA8z\xE2\x80\xA9", "a?z?", "line and paragraph separators"},
           Case{"\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\x8F\xD8\x9C", "????", "marks of direction"},
           Case{"\xE2\x80\x90\xE2\x80\xA6", "\xE2\x80\x90\xE2\x80\xA6", "hyphen, ellipsis"},
       }) {
    EXPECT_EQ(printable(text, 64), shown) << why;
  }
}

TEST(Printable, RandomBytes_StableAndWithinTheLimit) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    const std::string text = random_bytes(random, 80);
    const std::size_t limit = random() % 90;
    const std::string shown = printable(text, limit);
    ASSERT_LE(shown.size(), limit);
    ASSERT_EQ(printable(shown, limit), shown);
    for (std::string_view rest = shown; !rest.empty();) {
      const auto c = first_character(rest);
      ASSERT_TRUE(c.valid && !is_control(c.code));
      rest.remove_prefix(c.length);
    }
  }
}

}  // namespace
}  // namespace zklock::core
