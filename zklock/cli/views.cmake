# SPDX-License-Identifier: Apache-2.0
# The views of the command zklock: ls, watch, top, permits, release, check, doctor and serve. Included
# by CMakeLists.txt after its targets.

# Pure code, and the JSON texts.
add_library(zklock_cli_views_core STATIC
  core/columns.cpp
  core/findings.cpp
  core/json_text.cpp
  core/live_feed.cpp
  core/lock_facts.cpp
  core/lock_rows.cpp
  core/lock_tables.cpp
  core/observed_metrics.cpp
  core/server_facts.cpp
  core/snapshot.cpp
  core/top_view.cpp)
target_link_libraries(zklock_cli_views_core
  PUBLIC zklock_cli_core zklock::zklock
  PRIVATE nlohmann_json::nlohmann_json zklock_build_flags)

# The HTTP server, and the terminal. Boost.Beast and Boost.Asio have headers only.
add_library(zklock_cli_views_io STATIC
  io/gzip.cpp
  io/http_rules.cpp
  io/http_server.cpp
  io/terminal.cpp)
target_compile_definitions(zklock_cli_views_io PUBLIC BOOST_BEAST_USE_STD_STRING_VIEW)
target_link_libraries(zklock_cli_views_io
  PUBLIC zklock_cli_views_core zklock_cli_io Boost::headers Threads::Threads
  PRIVATE zklock_build_flags)

set(page ${CMAKE_CURRENT_BINARY_DIR}/page.cpp)
add_custom_command(
  OUTPUT ${page}
  COMMAND ${CMAKE_COMMAND} -DINPUT=${CMAKE_CURRENT_SOURCE_DIR}/page.html -DOUTPUT=${page}
          -P ${CMAKE_CURRENT_SOURCE_DIR}/embed.cmake
  DEPENDS page.html embed.cmake)
target_sources(zklock_cli_commands PRIVATE
  ${page}
  check.cpp
  doctor.cpp
  list.cpp
  permits.cpp
  release.cpp
  serve.cpp
  survey_pass.cpp
  top.cpp
  watch.cpp)
set_source_files_properties(${page} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_link_libraries(zklock_cli_commands PRIVATE zklock_cli_views_core zklock_cli_views_io)
