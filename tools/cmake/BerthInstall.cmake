# `find_package(berth)`: the libraries (installed by berth_library), their headers, and the package's description.
include(CMakePackageConfigHelpers)

set(berth_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/berth")
install(DIRECTORY messages store backends actors runtime DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/berth"
        FILES_MATCHING PATTERN "*.hpp")
install(EXPORT berthTargets NAMESPACE berth:: DESTINATION "${berth_package_dir}")

set(berth_guest "${CMAKE_INSTALL_LIBEXECDIR}/berth/berth-guest")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/berthConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/berthConfig.cmake"
                              INSTALL_DESTINATION "${berth_package_dir}" PATH_VARS berth_guest)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/berthConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
# FindCAF.cmake beside them: Debian's CAF has no package description of its own, so a consumer needs ours.
install(FILES "${PROJECT_BINARY_DIR}/berthConfig.cmake" "${PROJECT_BINARY_DIR}/berthConfigVersion.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/FindCAF.cmake"
        DESTINATION "${berth_package_dir}")
