# SPDX-License-Identifier: Apache-2.0
# CPack includes this file before it packs the staged files. Adds the copyright and the changelogs to
# each package. Removes the run path of the program, because packages install to the folders of the
# system. Sets the time of each file to SOURCE_DATE_EPOCH, so that two builds are equal.
if("$ENV{SOURCE_DATE_EPOCH}" STREQUAL "")
  message(FATAL_ERROR "SOURCE_DATE_EPOCH is not set: make packages with tests/packages/build.sh")
endif()
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(stage ${CPACK_TEMPORARY_DIRECTORY}/${component})
  set(doc ${stage}/usr/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  file(WRITE ${doc}/changelog.Debian
    "zklock (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
    "  * Package of zklock ${CPACK_PACKAGE_VERSION}.\n\n"
    " -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}\n")
  file(COPY_FILE ${CPACK_ZKLOCK_SOURCE_DIR}/CHANGELOG.md ${doc}/changelog)
  file(COPY_FILE ${CPACK_ZKLOCK_SOURCE_DIR}/zklock/cmake/copyright ${doc}/copyright)
  file(GLOB_RECURSE compressed ${stage}/usr/share/man/*.1)
  execute_process(COMMAND gzip -9nf ${doc}/changelog ${doc}/changelog.Debian ${compressed}
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND chmod -R u=rwX,go=rX ${stage} COMMAND_ERROR_IS_FATAL ANY)
  if(EXISTS ${stage}/usr/bin/zklock)
    file(RPATH_REMOVE FILE ${stage}/usr/bin/zklock)
  endif()
  execute_process(COMMAND find ${stage} -exec touch -h -d "@$ENV{SOURCE_DATE_EPOCH}" {} +
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
