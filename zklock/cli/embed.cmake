# SPDX-License-Identifier: Apache-2.0
# Writes a page as a C++ source: cmake -DINPUT=page.html -DOUTPUT=page.cpp -P embed.cmake
#
# A line @NAME@ of the page is replaced by the file of this name in its folder.
file(READ ${INPUT} text)
get_filename_component(folder ${INPUT} DIRECTORY)
file(GLOB parts RELATIVE ${folder} ${folder}/*.css ${folder}/*.js)
foreach(part IN LISTS parts)
  file(READ ${folder}/${part} content)
  string(REPLACE "@${part}@\n" "${content}" text "${text}")
endforeach()
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
