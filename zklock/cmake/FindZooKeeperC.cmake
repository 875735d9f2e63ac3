# Finds the multi-threaded ZooKeeper C client and creates the target ZooKeeper::mt. The C client
# ships no package file of its own.
find_path(ZooKeeperC_INCLUDE_DIR zookeeper/zookeeper.h)
find_library(ZooKeeperC_LIBRARY zookeeper_mt)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZooKeeperC REQUIRED_VARS ZooKeeperC_LIBRARY ZooKeeperC_INCLUDE_DIR)

if(ZooKeeperC_FOUND)
  if(NOT TARGET ZooKeeper::mt)
    add_library(ZooKeeper::mt UNKNOWN IMPORTED)
    set_target_properties(ZooKeeper::mt PROPERTIES
      IMPORTED_LOCATION ${ZooKeeperC_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${ZooKeeperC_INCLUDE_DIR}
      INTERFACE_COMPILE_DEFINITIONS THREADED)
  endif()
endif()
mark_as_advanced(ZooKeeperC_INCLUDE_DIR ZooKeeperC_LIBRARY)
