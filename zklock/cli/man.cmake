# SPDX-License-Identifier: Apache-2.0
# Writes the man pages of zklock and of its commands. The text of each page is a file in the folder
# man. The name, the synopsis and the options come from the help of zklock.
#   cmake -DZKLOCK=PROGRAM -DSCDOC=PROGRAM -DOUTPUT=DIRECTORY -P man.cmake
cmake_minimum_required(VERSION 3.22)

# Marks the letters that scdoc interprets.
function(escape text result)
  string(REGEX REPLACE "([_*\\#])" "\\\\\\1" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

file(GLOB texts ${CMAKE_CURRENT_LIST_DIR}/man/*.scd)
foreach(text IN LISTS texts)
  get_filename_component(page ${text} NAME_WE)
  set(command ${page})
  set(see_also)
  if(page STREQUAL "zklock")
    set(command)
  else()
    set(page zklock-${page})
    set(see_also "\n# SEE ALSO\n\n*zklock*(1), with the options of all commands\n")
  endif()
  execute_process(COMMAND ${ZKLOCK} ${command} --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
  escape("${help}" help)
  # The description of a long option is on a line of its own.
  string(REGEX REPLACE "\n             +" "  " help "${help}")
  string(REGEX MATCH "^([^\n]+)\n[^\n]*: ([^\n]+)\n" head "${help}")
  set(summary ${CMAKE_MATCH_1})
  set(synopsis ${CMAKE_MATCH_2})
  string(REGEX REPLACE " (Excludes|Needs):( (-[-a-z]+|[A-Z]+))+ +" "  " help "${help}")
  string(REGEX MATCH "\nOptions:\n(  -[^\n]*\n)+" options "${help}")
  string(REGEX REPLACE "\n  (-[^ ]*)( [^ \n]+( [^ \n]+)*)  +([^\n]+)" "\n*\\1*\\2\n\t\\4\n" options "\n${options}")
  string(REGEX REPLACE "\n  (-[^ ]*)  +([^\n]+)" "\n*\\1*\n\t\\2\n" options "${options}")
  string(REGEX REPLACE "^.*Options:\n" "" options "${options}")
  string(REPLACE ",-" ", -" options "${options}")
  string(REGEX MATCH "\nSubcommands:\n(  [a-z][^\n]*\n)+" commands "${help}")
  string(REGEX REPLACE "\n  ([a-z]+) +([^\n]+)" "\n*zklock-\\1*(1)\n\t\\2\n" commands "${commands}")
  string(REGEX REPLACE "^.*Subcommands:\n" "" commands "${commands}")
  file(READ ${text} body)
  string(REPLACE "@OPTIONS@" "${options}" body "${body}")
  string(REPLACE "@COMMANDS@" "${commands}" body "${body}")
  string(SUBSTRING "${summary}" 0 1 initial)
  string(TOLOWER "${initial}" initial)
  string(SUBSTRING "${summary}" 1 -1 summary)
  file(WRITE ${OUTPUT}/${page}.scd
    "${page}(1)\n\n# NAME\n\n${page} - ${initial}${summary}\n\n# SYNOPSIS\n\n${synopsis}\n\n${body}${see_also}")
  execute_process(COMMAND ${SCDOC} INPUT_FILE ${OUTPUT}/${page}.scd OUTPUT_FILE ${OUTPUT}/${page}.1
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
