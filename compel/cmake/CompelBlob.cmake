# compel_add_blob(TARGET name NAMESPACE ns SOURCES file... [INCLUDES dir...] [DEFINITIONS macro...])
#
# Builds a blob: code that runs inside other processes. The sources are C++20 without libc, and define the entry `extern
# "C" std::int64_t blob_entry(void*)`. Creates a library `name`, whose header <name>.hpp declares `ns::blob`. The build
# fails if the blob has writable globals, undefined symbols or relocations.

function(compel_add_blob)
  cmake_parse_arguments(ARG "" "TARGET;NAMESPACE" "SOURCES;INCLUDES;DEFINITIONS" ${ARGN})
  foreach(needed TARGET NAMESPACE SOURCES)
    if(NOT ARG_${needed})
      message(FATAL_ERROR "compel_add_blob: ${needed} is missing")
    endif()
  endforeach()
  cmake_path(GET CMAKE_CURRENT_FUNCTION_LIST_DIR PARENT_PATH compel_dir)
  set(image ${ARG_TARGET}_image)
  add_executable(${image} ${ARG_SOURCES})
  target_link_libraries(${image} PRIVATE project_options compel_blob_options compel_std)
  target_include_directories(${image} PRIVATE ${ARG_INCLUDES})
  target_compile_definitions(${image} PRIVATE ${ARG_DEFINITIONS})
  set_target_properties(${image} PROPERTIES
    LINK_DEPENDS ${compel_dir}/src/blob/blob.lds
    POSITION_INDEPENDENT_CODE OFF)

  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${ARG_TARGET}_blob)
  file(MAKE_DIRECTORY ${generated})
  add_custom_command(
    OUTPUT ${generated}/${ARG_TARGET}.hpp ${generated}/${ARG_TARGET}.cpp
    COMMAND ${COMPEL_HGEN} hgen -f $<TARGET_FILE:${image}> -o ${generated}/${ARG_TARGET}.hpp
            --source ${generated}/${ARG_TARGET}.cpp -p ${ARG_NAMESPACE}
    DEPENDS ${image} ${COMPEL_HGEN_TARGET}
    COMMENT "Making ${ARG_TARGET}.hpp"
    VERBATIM)
  add_library(${ARG_TARGET} STATIC ${generated}/${ARG_TARGET}.cpp ${generated}/${ARG_TARGET}.hpp)
  target_include_directories(${ARG_TARGET} PUBLIC ${generated} ${compel_dir}/include)
endfunction()
