# SPDX-License-Identifier: Apache-2.0
# Fails unless README.md contains hello_lock.cpp, byte for byte.
file(READ ${CMAKE_CURRENT_LIST_DIR}/../README.md readme)
file(READ ${CMAKE_CURRENT_LIST_DIR}/hello_lock.cpp example)
string(FIND "${readme}" "```cpp\n${example}```\n" at)
if(at EQUAL -1)
  message(FATAL_ERROR "README.md does not show examples/hello_lock.cpp as it is")
endif()
