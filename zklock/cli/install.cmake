# SPDX-License-Identifier: Apache-2.0
# Installs the command zklock with its man pages, completions and systemd units. The man pages need
# scdoc, and are left out without it. A sanitizer can refuse to run the command during the build.
install(TARGETS zklock_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cli)

find_program(SCDOC scdoc)
if(SCDOC AND NOT ZKLOCK_SANITIZE)
  set(man_pages ${CMAKE_CURRENT_BINARY_DIR}/man)
  file(GLOB man_texts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/man/*.scd)
  add_custom_command(
    OUTPUT ${man_pages}/zklock.1
    COMMAND ${CMAKE_COMMAND} -DZKLOCK=$<TARGET_FILE:zklock_cli> -DSCDOC=${SCDOC} -DOUTPUT=${man_pages}
            -P ${CMAKE_CURRENT_SOURCE_DIR}/man.cmake
    DEPENDS zklock_cli man.cmake ${man_texts})
  add_custom_target(zklock_man ALL DEPENDS ${man_pages}/zklock.1)
  install(DIRECTORY ${man_pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT cli
    FILES_MATCHING PATTERN "*.1")
endif()

# The zsh of Debian reads the completions of packages in a folder of its own.
set(zsh_folder site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND EXISTS /etc/debian_version)
  set(zsh_folder vendor-completions)
endif()
install(FILES completion/zklock.bash RENAME zklock
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT cli)
install(FILES completion/_zklock DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${zsh_folder} COMPONENT cli)

foreach(unit IN ITEMS run elect hold)
  configure_file(systemd/zklock-${unit}@.service.in zklock-${unit}@.service @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/zklock-${unit}@.service
    DESTINATION lib/systemd/system COMPONENT cli)
endforeach()
