# What every target of berth shares: language level, warnings, sanitizers, ccache, and the precompiled header that pays
# for CAF's templates once per kind of target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache asks for before it caches compilations that use a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 "${CCACHE_PROGRAM}")
endif()

add_library(berth_flags INTERFACE)
add_library(berth::flags ALIAS berth_flags)
target_compile_options(berth_flags INTERFACE $<BUILD_INTERFACE:-Wall;-Wextra;-Wpedantic;-Wnon-virtual-dtor>)
if(BERTH_WERROR)
  target_compile_options(berth_flags INTERFACE $<BUILD_INTERFACE:-Werror>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # ccache needs the precompiled header to be preprocessed the same way everywhere.
  target_compile_options(berth_flags INTERFACE $<BUILD_INTERFACE:-fpch-preprocess>)
endif()
if(BERTH_SANITIZE)
  add_compile_options(-fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BERTH_SANITIZE})
  if(BERTH_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # asio fences its completions, which ThreadSanitizer does not model; its queues' mutexes order them all the same.
    add_compile_options(-Wno-tsan)
  endif()
  if(BERTH_SANITIZE MATCHES "undefined")
    # CAF's headers bind null references, and its library carries no type information for vptr.
    add_compile_options(-fno-sanitize=null,vptr -fno-sanitize-recover=undefined)
  endif()
endif()

set(BERTH_PCH_HEADERS <algorithm> <chrono> <cstdint> <functional> <map> <memory> <string> <string_view>
    <unordered_map> <vector> <caf/all.hpp> <caf/io/all.hpp>)

# berth_library(NAME SOURCES... LINK LIBRARIES...): a static library `berth_NAME`, exported as berth::NAME.
function(berth_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;LINK_PRIVATE" ${ARGN})
  add_library(berth_${name} STATIC ${arg_SOURCES})
  add_library(berth::${name} ALIAS berth_${name})
  set_target_properties(berth_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(berth_${name} PUBLIC cxx_std_20)
  target_include_directories(berth_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/berth>)
  target_link_libraries(berth_${name} PUBLIC ${arg_LINK} PRIVATE ${arg_LINK_PRIVATE} $<BUILD_INTERFACE:berth_flags>)
  if(TARGET berth_messages AND NOT name STREQUAL "messages")
    target_precompile_headers(berth_${name} REUSE_FROM berth_messages)
  else()
    target_precompile_headers(berth_${name} PRIVATE ${BERTH_PCH_HEADERS})
  endif()
  install(TARGETS berth_${name} EXPORT berthTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# berth_program(NAME SOURCES... LINK LIBRARIES...): a program in build/<preset>/bin.
function(berth_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} berth_flags)
  # As the libraries are compiled, whose precompiled header is reused: -fPIE would not match it.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT BERTH_SANITIZE)
    target_precompile_headers(${name} REUSE_FROM berth_messages)
  endif()
endfunction()

# berth_test(NAME SOURCES... LINK LIBRARIES...): a Boost.Test program `test_NAME`. All share one main() and one
# precompiled header (tests/main.cpp).
function(berth_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(test_${name} ${arg_SOURCES})
  set_target_properties(test_${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(test_${name} PRIVATE -fPIC)
  target_link_libraries(test_${name} PRIVATE ${arg_LINK} berth_test_main)
  target_precompile_headers(test_${name} REUSE_FROM berth_test_main)
  add_test(NAME ${name} COMMAND test_${name} --log_level=test_suite --color_output=no)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
endfunction()
