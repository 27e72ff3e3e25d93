# Debian ships CAF 0.17.6 without a config or pkg-config file. Defines CAF::core, CAF::io, CAF::openssl and CAF_VERSION.
find_path(CAF_INCLUDE_DIR caf/all.hpp)
mark_as_advanced(CAF_INCLUDE_DIR)

if(CAF_INCLUDE_DIR)
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" caf_number REGEX "#define CAF_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+" caf_number "${caf_number}")
  math(EXPR caf_major "${caf_number} / 10000")
  math(EXPR caf_minor "(${caf_number} / 100) % 100")
  math(EXPR caf_patch "${caf_number} % 100")
  set(CAF_VERSION "${caf_major}.${caf_minor}.${caf_patch}")
endif()

set(caf_libraries "")
foreach(part core io openssl)
  find_library(CAF_LIBRARY_${part} caf_${part})
  mark_as_advanced(CAF_LIBRARY_${part})
  list(APPEND caf_libraries CAF_LIBRARY_${part})
  if(CAF_LIBRARY_${part})
    set(CAF_${part}_FOUND TRUE)
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CAF REQUIRED_VARS CAF_INCLUDE_DIR ${caf_libraries} VERSION_VAR CAF_VERSION
                                  HANDLE_COMPONENTS)

if(CAF_FOUND AND NOT TARGET CAF::core)
  find_package(Threads REQUIRED)
  find_package(OpenSSL REQUIRED)
  foreach(part core io openssl)
    add_library(CAF::${part} SHARED IMPORTED)
    set_target_properties(CAF::${part} PROPERTIES IMPORTED_LOCATION "${CAF_LIBRARY_${part}}"
                          INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}")
  endforeach()
  set_property(TARGET CAF::core PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads)
  set_property(TARGET CAF::io PROPERTY INTERFACE_LINK_LIBRARIES CAF::core)
  set_property(TARGET CAF::openssl PROPERTY INTERFACE_LINK_LIBRARIES CAF::io OpenSSL::SSL)
endif()
