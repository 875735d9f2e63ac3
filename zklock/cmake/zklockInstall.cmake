# SPDX-License-Identifier: Apache-2.0
# Installs the library, its public headers, and the package files for CMake and pkg-config. The
# components are the packages of zklockPackages.cmake: runtime, dev, testing and cli.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)

set(zklock_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/zklock)

install(TARGETS zklock EXPORT zklockTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/zklock
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "testing" EXCLUDE)
install(EXPORT zklockTargets NAMESPACE zklock:: DESTINATION ${zklock_cmake_dir})
if(TARGET zklock_static)
  install(TARGETS zklock_static EXPORT zklockStaticTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT zklockStaticTargets NAMESPACE zklock:: DESTINATION ${zklock_cmake_dir})
endif()
# Packages have a file of their own for the copyright.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)
install(FILES ${PROJECT_SOURCE_DIR}/tests/support/tsan.supp ${PROJECT_SOURCE_DIR}/zklock/gdb/zklock_gdb.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zklock)
install(FILES ${PROJECT_SOURCE_DIR}/zklock/monitoring/alerts.yml
              ${PROJECT_SOURCE_DIR}/zklock/monitoring/dashboard.json
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zklock/monitoring COMPONENT cli)

get_target_property(zklock_library_type zklock TYPE)
if(zklock_library_type STREQUAL "STATIC_LIBRARY")
  set(ZKLOCK_IS_STATIC ON)
else()
  set(ZKLOCK_IS_STATIC OFF)
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/zklockConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/zklockConfig.cmake INSTALL_DESTINATION ${zklock_cmake_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/zklockConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/zklockConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/zklockConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindZooKeeperC.cmake
  DESTINATION ${zklock_cmake_dir})

# The prefix is known only at installation (cmake --install --prefix). So zklock.pc names its
# directories relative to its own location.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(ZKLOCK_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
  set(ZKLOCK_PC_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
  set(ZKLOCK_PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH zklock_up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" zklock_up "${zklock_up}")
  set(ZKLOCK_PC_PREFIX "\${pcfiledir}/${zklock_up}")
  set(ZKLOCK_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(ZKLOCK_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()

# The linker options of the libraries that a static zklock needs: their directories, unless the
# linker searches them anyway, and their names.
set(zklock_pc_dependencies)
foreach(library IN ITEMS ${ZooKeeperC_LIBRARY})
  get_filename_component(directory ${library} DIRECTORY)
  if(NOT directory IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    list(APPEND zklock_pc_dependencies -L${directory})
  endif()
endforeach()
if(Boost_LIBRARY_DIRS)
  foreach(directory IN LISTS Boost_LIBRARY_DIRS)
    if(NOT directory IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
      list(APPEND zklock_pc_dependencies -L${directory})
    endif()
  endforeach()
endif()
list(APPEND zklock_pc_dependencies -lzookeeper_mt -lboost_thread -lspdlog)
get_target_property(zklock_spdlog_needs spdlog::spdlog INTERFACE_LINK_LIBRARIES)
if(zklock_spdlog_needs MATCHES "fmt::fmt")
  list(APPEND zklock_pc_dependencies -lfmt)  # spdlog uses an external fmt
endif()
list(APPEND zklock_pc_dependencies -pthread)
string(REPLACE ";" " " ZKLOCK_PC_DEPENDENCIES "${zklock_pc_dependencies}")

# With a static zklock, `pkg-config --libs zklock` must be enough, without --static. With a shared
# one, zklock-static.pc has the archive.
set(ZKLOCK_PC_NAME zklock)
if(ZKLOCK_IS_STATIC)
  set(ZKLOCK_PC_CFLAGS -DZKLOCK_STATIC)
  set(ZKLOCK_PC_LIBS "-lzklock ${ZKLOCK_PC_DEPENDENCIES}")
  set(ZKLOCK_PC_LIBS_PRIVATE "")
else()
  set(ZKLOCK_PC_CFLAGS "")
  set(ZKLOCK_PC_LIBS "-lzklock")
  set(ZKLOCK_PC_LIBS_PRIVATE "${ZKLOCK_PC_DEPENDENCIES}")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/zklock.pc.in ${CMAKE_CURRENT_BINARY_DIR}/zklock.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/zklock.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET zklock_static)
  set(ZKLOCK_PC_NAME zklock-static)
  set(ZKLOCK_PC_CFLAGS -DZKLOCK_STATIC)
  set(ZKLOCK_PC_LIBS "-l:libzklock.a -Wl,--exclude-libs,libzklock.a ${ZKLOCK_PC_DEPENDENCIES}")
  set(ZKLOCK_PC_LIBS_PRIVATE "")
  configure_file(${CMAKE_CURRENT_LIST_DIR}/zklock.pc.in
    ${CMAKE_CURRENT_BINARY_DIR}/zklock-static.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/zklock-static.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# The test kit is a component of the package: find_package(zklock COMPONENTS testing).
if(TARGET zklock_testing)
  install(TARGETS zklock_testing EXPORT zklockTestingTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT testing)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/zklock/testing
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/zklock COMPONENT testing FILES_MATCHING PATTERN "*.h")
  install(EXPORT zklockTestingTargets NAMESPACE zklock::
    DESTINATION ${zklock_cmake_dir} COMPONENT testing)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/zklock-testing.pc.in
    ${CMAKE_CURRENT_BINARY_DIR}/zklock-testing.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/zklock-testing.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT testing)
endif()
