# SPDX-License-Identifier: Apache-2.0
# CMake includes this file at the end of project(), in the build of auto.py. Each source of the core and the engine
# is compiled alone. All other targets keep their unity builds.
cmake_language(DEFER CALL set_target_properties zklock_core zklock_engine PROPERTIES UNITY_BUILD OFF)

# A deferred call evaluates variables when it runs, at the end of the directory.
set(zklock_mutant_reach ${CMAKE_CURRENT_LIST_DIR}/mutant_reach.cpp)
function(zklock_add_mutant_reach)
  foreach(target IN ITEMS zklock_core_test zklock_unit_test zklock_model_test simulate)
    target_sources(${target} PRIVATE ${zklock_mutant_reach})
    set_property(SOURCE ${zklock_mutant_reach} TARGET_DIRECTORY ${target}
      PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
    set_property(SOURCE ${zklock_mutant_reach} TARGET_DIRECTORY ${target}
      PROPERTY SKIP_PRECOMPILE_HEADERS ON)
    if(NOT target STREQUAL "simulate")
      set_property(SOURCE ${zklock_mutant_reach} TARGET_DIRECTORY ${target}
        PROPERTY COMPILE_DEFINITIONS ZKLOCK_MUTANTS_IN_TEST)
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL zklock_add_mutant_reach)
