// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

namespace example {

// Prints the promise and whether it was kept. Throws if it was broken, which ends the example.
inline void promise(bool kept, const std::string& what) {
  std::cout << (kept ? "  kept:   " : "  BROKEN: ") << what << std::endl;
  if (!kept) throw std::runtime_error("broken promise: " + what);
}

// Runs an example on the servers in its first argument. Returns the exit status: 1 after a broken
// promise or another error.
template <class F>
int run(int argc, char** argv, F example) {
  try {
    example(std::string(argc > 1 ? argv[1] : "127.0.0.1:2181"));
    return 0;
  } catch (const std::exception& e) {
    std::cerr << argv[0] << ": " << e.what() << std::endl;
    return 1;
  }
}

}  // namespace example
