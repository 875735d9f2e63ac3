# Makes the builds of this project's own tests fast: with a compiler cache, a fast linker, and precompiled
# headers. Included if ZKLOCK_FAST_BUILD is on. Precompiled headers hide a missing #include, so the
# other builds do not use them, and tests/compilers.sh --alone compiles each source alone.

if(BUILD_SHARED_LIBS OR NOT ZKLOCK_BUILD_TESTS OR NOT PROJECT_IS_TOP_LEVEL)
  message(FATAL_ERROR "ZKLOCK_FAST_BUILD is for the tests of zklock itself, with a static library")
endif()

# By default, ccache does not store a compilation that uses a precompiled header. Paths are relative to the
# sources, so that two checkouts share their objects.
find_program(ZKLOCK_CCACHE ccache)
if(ZKLOCK_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 CCACHE_INODECACHE=1 ${ZKLOCK_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()

# lld is as fast as mold here. mold 1.10 makes an undefined weak symbol null, zookeeper_init_ssl for example.
find_program(ZKLOCK_LLD ld.lld)
if(ZKLOCK_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# A precompiled header serves only sources with the same options. CMake would add -fPIC for libraries and -fPIE
# for programs, so all have -fPIC.
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
add_compile_options(-fPIC)
string(APPEND CMAKE_EXE_LINKER_FLAGS " -pie")

# zklock_add_precompiled(<name> HEADERS <headers...> LIBRARIES <libraries...>).
# Adds the targets zklock_precompiled_<name>_build and zklock_precompiled_<name>_test, which own one precompiled
# header each: with the options of the library, and with those of the tests.
function(zklock_add_precompiled name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBRARIES" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "namespace {}\n")
  foreach(flags IN ITEMS build test)
    set(target zklock_precompiled_${name}_${flags})
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${source})
    target_include_directories(${target} PRIVATE
      ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(${target} PRIVATE ZKLOCK_STATIC)
    target_link_libraries(${target} PRIVATE zklock_${flags}_flags Threads::Threads ${ARG_LIBRARIES})
    target_precompile_headers(${target} PRIVATE ${ARG_HEADERS})
  endforeach()
endfunction()

find_package(GTest REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS chrono thread)

set(standard
  <algorithm> <array> <atomic> <cassert> <charconv> <chrono> <compare> <concepts> <condition_variable>
  <coroutine> <cstdint> <deque> <exception> <filesystem> <fstream> <functional> <future> <iostream>
  <latch> <list> <map> <memory> <mutex> <optional> <random> <set> <shared_mutex> <span> <sstream>
  <stop_token> <string> <string_view> <system_error> <thread> <tuple> <unordered_map> <utility>
  <variant> <vector>
  <boost/container/small_vector.hpp> <boost/intrusive/list.hpp> <gtest/gtest.h>)
zklock_add_precompiled(standard HEADERS ${standard} LIBRARIES Boost::headers GTest::gtest)

# The public headers, and Boost.Thread: its guards lock the mutexes of zklock in tests.
set(public ${standard}
  <boost/thread/lock_types.hpp> <boost/thread/thread.hpp>
  <zklock/zklock.h>)
zklock_add_precompiled(public HEADERS ${public} LIBRARIES Boost::thread GTest::gtest)

# The engine, and the simulated servers of its tests.
set(engine ${public}
  <zklock/engine/client_core.h> <zklock/engine/contender.h> <zklock/engine/path_lock.h>
  <zklock/engine/pending_acquire.h> <zklock/testing/simulation/sim_coordinator.h>
  <zklock/testing/simulation/world.h>)
zklock_add_precompiled(engine HEADERS ${engine} LIBRARIES Boost::thread GTest::gtest)

# zklock_precompile(<target> standard | public | engine).
# Compiles the target with this precompiled header. Boost.Thread in it needs Boost.Chrono.
function(zklock_precompile target name)
  set(flags test)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  if("zklock_build_flags" IN_LIST libraries)
    set(flags build)
  endif()
  target_precompile_headers(${target} REUSE_FROM zklock_precompiled_${name}_${flags})
  target_link_libraries(${target} PRIVATE Boost::chrono)
endfunction()
