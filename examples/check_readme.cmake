# SPDX-License-Identifier: Apache-2.0
# Fails unless each page contains its programs, byte for byte.
set(root ${CMAKE_CURRENT_LIST_DIR}/..)
function(check page)
  file(READ ${root}/${page} text)
  foreach(program IN LISTS ARGN)
    file(READ ${root}/examples/${program} code)
    string(FIND "${text}" "```cpp\n${code}```\n" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "${page} does not show examples/${program} as it is")
    endif()
  endforeach()
endfunction()

check(README.md hello_lock.cpp)
check(zklock/guides/testing.md testing/lost_while_working_test.cpp testing/failover_test.cpp)
