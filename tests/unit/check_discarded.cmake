# SPDX-License-Identifier: Apache-2.0
# Compiles discarded_results.cpp. Fails unless the compiler warns in exactly the lines with DISCARD.
# cmake -DCOMPILER=<C++ compiler> -DINCLUDES=<folder> -P check_discarded.cmake
set(source ${CMAKE_CURRENT_LIST_DIR}/discarded_results.cpp)
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -I${INCLUDES} -Wunused-result ${source}
                RESULT_VARIABLE result ERROR_VARIABLE messages)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "it does not compile:\n${messages}")
endif()
file(STRINGS ${source} lines)
set(number 0)
foreach(line IN LISTS lines)
  math(EXPR number "${number} + 1")
  if(line MATCHES "^  DISCARD" AND NOT messages MATCHES "discarded_results.cpp:${number}:[0-9]+: warning: ignoring")
    message(SEND_ERROR "the result may be ignored in line ${number}: ${line}")
  endif()
endforeach()
