# SPDX-License-Identifier: Apache-2.0
# Writes a file as a C++ source: cmake -DINPUT=page.html -DOUTPUT=page.cpp -P embed.cmake
file(READ ${INPUT} text)
string(FIND "${text}" ")zklock_page\"" at)
if(NOT at EQUAL -1)
  message(FATAL_ERROR "${INPUT} contains the end mark of a raw string")
endif()
file(WRITE ${OUTPUT} "#include <string_view>

namespace zklock::cli {
extern const std::string_view kPage = R\"zklock_page(")
file(APPEND ${OUTPUT} "${text}")
file(APPEND ${OUTPUT} ")zklock_page\";
}  // namespace zklock::cli
")
