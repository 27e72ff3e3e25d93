# Installs BUILD below SCRATCH, builds the consumer beside this file against that, and runs it.
file(REMOVE_RECURSE "${SCRATCH}")
file(MAKE_DIRECTORY "${SCRATCH}/data")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${SCRATCH}/prefix" OUTPUT_QUIET
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${SCRATCH}/build" -G Ninja
                        "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix" "-DCMAKE_CXX_COMPILER=${COMPILER}"
                        "-DCMAKE_CXX_FLAGS=${FLAGS}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${SCRATCH}/build" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${SCRATCH}/build/consumer" "${SCRATCH}/data" OUTPUT_VARIABLE said TIMEOUT 60
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT said MATCHES "acquired [0-9a-f]+")
  message(FATAL_ERROR "the consumer acquired nothing; it said: ${said}")
endif()
file(REMOVE_RECURSE "${SCRATCH}")
