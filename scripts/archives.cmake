# Archives instead of shared libraries in criu. A restored process begins as a copy of criu by fork(2), and unmaps what it
# has inherited. For each shared library, the kernel copies and removes five mappings for each process, and the processes
# wait for one another's changes to these mappings. Without an archive, criu uses the shared library.
option(CRIU_ARCHIVES "Link archives of libraries into criu where they are installed" ON)

# Makes the target `name` of the archives libX.a of all further arguments X; else of `shared`, a target of pkg-config.
function(prefer_archives name shared)
  set(archives)
  foreach(library IN LISTS ARGN)
    find_library(CRIU_ARCHIVE_${library} NAMES lib${library}.a)
    mark_as_advanced(CRIU_ARCHIVE_${library})
    list(APPEND archives ${CRIU_ARCHIVE_${library}})
  endforeach()
  add_library(${name} INTERFACE)
  if(CRIU_ARCHIVES AND NOT "${archives}" MATCHES "NOTFOUND")
    target_include_directories(${name} SYSTEM INTERFACE $<TARGET_PROPERTY:${shared},INTERFACE_INCLUDE_DIRECTORIES>)
    target_compile_options(${name} INTERFACE $<TARGET_PROPERTY:${shared},INTERFACE_COMPILE_OPTIONS>)
    target_link_libraries(${name} INTERFACE ${archives})
  else()
    target_link_libraries(${name} INTERFACE ${shared})
  endif()
endfunction()

prefer_archives(linked_protobuf_c PkgConfig::PROTOBUF_C protobuf-c)
prefer_archives(linked_netlink PkgConfig::NETLINK nl-3)
prefer_archives(linked_cap PkgConfig::CAP cap)
prefer_archives(linked_bsd PkgConfig::BSD bsd md)

# fmt's code from its headers, because Debian has no archive of it; and the C++ library. Both or none: an
# exception of a shared fmt needs the shared C++ library. Sanitizers need them, too. libgcc_s stays shared:
# the C library loads it for frames of its own, and an exception that passes both copies, as in std::call_once, aborts.
add_library(linked_fmt INTERFACE)
set(CRIU_STATIC_RUNTIME)
if(CRIU_ARCHIVES AND NOT CRIU_SANITIZE)
  get_target_property(fmt_headers fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  try_compile(CRIU_HAS_STATIC_RUNTIME ${CMAKE_BINARY_DIR}/static_runtime
    SOURCES ${CMAKE_SOURCE_DIR}/criu/base/fmt/code.cpp ${CMAKE_SOURCE_DIR}/scripts/fmt-sample.cpp
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${fmt_headers}"
    LINK_OPTIONS -static-libstdc++
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
endif()
if(CRIU_HAS_STATIC_RUNTIME)
  set(CRIU_STATIC_RUNTIME -static-libstdc++)
  add_library(fmt_code STATIC ${CMAKE_SOURCE_DIR}/criu/base/fmt/code.cpp)
  foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS)
    set_property(TARGET fmt_code linked_fmt PROPERTY INTERFACE_${property} $<TARGET_PROPERTY:fmt::fmt,INTERFACE_${property}>)
    set_property(TARGET fmt_code PROPERTY ${property} $<TARGET_PROPERTY:fmt::fmt,INTERFACE_${property}>)
  endforeach()
  target_link_libraries(linked_fmt INTERFACE fmt_code)
else()
  target_link_libraries(linked_fmt INTERFACE fmt::fmt)
endif()
