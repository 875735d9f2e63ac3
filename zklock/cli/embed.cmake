# SPDX-License-Identifier: Apache-2.0
# Writes the page as a C++ source: cmake -DFOLDER=page -DOUTPUT=page.cpp -P embed.cmake
#
# A line @NAME@ of page.js is replaced by the script of this name in the folder.
file(READ ${FOLDER}/page.html kPage)
file(READ ${FOLDER}/page.css kStyle)
file(READ ${FOLDER}/page.js kScript)
file(GLOB scripts RELATIVE ${FOLDER} ${FOLDER}/*.js)
foreach(script IN LISTS scripts)
  file(READ ${FOLDER}/${script} content)
  string(REPLACE "@${script}@\n" "${content}" kScript "${kScript}")
endforeach()
file(WRITE ${OUTPUT} "#include <string_view>\n\nnamespace zklock::cli {\n")
foreach(constant IN ITEMS kPage kScript kStyle)
  string(FIND "${${constant}}" ")zklock_page\"" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "${constant} contains the end mark of a raw string")
  endif()
  file(APPEND ${OUTPUT} "extern const std::string_view ${constant} = R\"zklock_page(")
  file(APPEND ${OUTPUT} "${${constant}}")
  file(APPEND ${OUTPUT} ")zklock_page\";\n")
endforeach()
file(APPEND ${OUTPUT} "}  // namespace zklock::cli\n")
