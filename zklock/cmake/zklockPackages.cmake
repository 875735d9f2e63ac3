# SPDX-License-Identifier: Apache-2.0
# The Debian packages, by CPack. tests/packages/build.sh makes them; it configures the build with the
# preset `packages`.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME zklock)
set(CPACK_ZKLOCK_SOURCE_DIR ${PROJECT_SOURCE_DIR})
set(CPACK_PACKAGE_VENDOR zklock)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # the first line of each package's description is its own
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL runtime dev testing cli)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_PACKAGE_MAINTAINER "zklock maintainers <maintainers@zklock.invalid>")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(zklock_deb_version "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
get_target_property(zklock_so_version zklock SOVERSION)
set(zklock_runtime libzklock${zklock_so_version})

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${zklock_runtime})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "distributed locks on Apache ZooKeeper: library
Fair, reentrant and fenced locks, semaphores and leader elections for
C++20 services. A holder is notified of a loss in time. This package has
the shared library.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libzklock-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  "${zklock_runtime} (= ${zklock_deb_version}), libzookeeper-mt-dev, libboost-thread-dev, libspdlog-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "distributed locks on Apache ZooKeeper: development files
Headers and the static library of zklock, its files for CMake and
pkg-config, suppressions for ThreadSanitizer, and printers for gdb.")

set(CPACK_DEBIAN_TESTING_PACKAGE_NAME libzklock-testing-dev)
set(CPACK_DEBIAN_TESTING_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TESTING_PACKAGE_DEPENDS "libzklock-dev (= ${zklock_deb_version})")
set(CPACK_DEBIAN_TESTING_PACKAGE_SUGGESTS
  "libgtest-dev, libzookeeper-java, libslf4j-java, default-jre-headless")
set(CPACK_COMPONENT_TESTING_DESCRIPTION "distributed locks on Apache ZooKeeper: test kit
Tests programs that use zklock: an ensemble with virtual time that needs
no server, real servers for tests, network faults, and matchers for
GoogleMock.")

set(CPACK_DEBIAN_CLI_PACKAGE_NAME zklock)
set(CPACK_DEBIAN_CLI_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_CLI_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_CURRENT_BINARY_DIR}/zklock)
set(CPACK_DEBIAN_CLI_PACKAGE_DEPENDS "${zklock_runtime} (= ${zklock_deb_version})")
set(CPACK_COMPONENT_CLI_DESCRIPTION "distributed locks on Apache ZooKeeper: command
Runs a program while it holds a lock or leads an election, and ends it
after a loss before another host can hold. Shows the locks of a running
system with their holders, as lists, as a live page and as metrics. Locks
of Apache Curator and Kazoo are shown too.")

# The changelog and the copyright of each package, one modification time for all files, and no run
# path in the program.
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/packageFiles.cmake)
set(zklock_control ${CMAKE_CURRENT_BINARY_DIR}/control)
file(WRITE ${zklock_control}/shlibs "libzklock ${zklock_so_version} ${zklock_runtime} (>= ${PROJECT_VERSION})\n")
file(WRITE ${zklock_control}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${zklock_control}/shlibs ${zklock_control}/triggers)
include(CPack)
