# SPDX-License-Identifier: Apache-2.0
# Compiles each public header as C++17. Fails unless the compiler says that zklock needs C++20.
# cmake -DCOMPILER=<C++ compiler> -DINCLUDES=<folder> -P check_standard.cmake
file(GLOB headers RELATIVE ${INCLUDES} ${INCLUDES}/zklock/*.h)
if(NOT headers)
  message(FATAL_ERROR "there are no headers in ${INCLUDES}/zklock")
endif()
foreach(header IN LISTS headers)
  execute_process(COMMAND ${COMPILER} -std=c++17 -fsyntax-only -Wfatal-errors -I${INCLUDES} -x c++ ${INCLUDES}/${header}
                  RESULT_VARIABLE result ERROR_VARIABLE messages)
  if(result EQUAL 0 OR NOT messages MATCHES "zklock needs C\\+\\+20")
    message(SEND_ERROR "${header} must fail as C++17, first with a message that names C++20:\n${messages}")
  endif()
endforeach()
