# Builds the C interface: libcompel.so.1, libcompel.a with the same functions, and the libraries for blobs in C. They
# depend only on the C library, so that C programs can link them.
set(compel_c_includes ${CMAKE_CURRENT_SOURCE_DIR}/c/include ${CMAKE_CURRENT_SOURCE_DIR}/c/arch/${CRIU_ARCH}/include)

add_library(compel_c OBJECT
  c/daemon.cpp
  c/fds.cpp
  c/infect.cpp
  c/log.cpp
  c/memory.cpp
  c/rpc.cpp
  c/run.cpp
  c/task.cpp
  c/arch/${CRIU_ARCH}/cpu.cpp
  c/arch/${CRIU_ARCH}/registers.cpp
  c/arch/${CRIU_ARCH}/sigframe.cpp)
target_compile_options(compel_c PRIVATE -fno-exceptions -fno-rtti)
target_include_directories(compel_c SYSTEM PRIVATE ${compel_c_includes})
target_link_libraries(compel_c PRIVATE project_options)
set_target_properties(compel_c PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_sources(compel PRIVATE $<TARGET_OBJECTS:compel_c>)

add_library(compel_shared SHARED $<TARGET_OBJECTS:compel_c>)
target_link_options(compel_shared PRIVATE
  -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/c/libcompel.map -Wl,-z,defs)
set_target_properties(compel_shared PROPERTIES
  OUTPUT_NAME compel VERSION 1.0 SOVERSION 1 LINKER_LANGUAGE C LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/c/libcompel.map)

# Flags for compiling and linking a blob in C by cc and ld. `compel cflags` and `compel ldflags` print the same flags.
set(COMPEL_PARASITE_CFLAGS -Wstrict-prototypes -ffreestanding -fno-stack-protector -nostdlib -fomit-frame-pointer -fpie
  -U_FORTIFY_SOURCE ${COMPEL_ARCH_BLOB_CFLAGS})
set(COMPEL_PARASITE_LDFLAGS -pie --no-dynamic-linker -z text -z defs -z norelro -z noexecstack --build-id=none --gc-sections)

add_library(compel_plugin_std STATIC
  c/plugins/log.cpp
  c/plugins/scm.cpp
  c/plugins/service.cpp
  c/plugins/text.cpp
  c/arch/${CRIU_ARCH}/plugins/head.S
  c/arch/${CRIU_ARCH}/plugins/syscalls.S
  src/arch/${CRIU_ARCH}/blob_memory.cpp)
add_library(compel_plugin_fds STATIC c/plugins/fds.cpp)
foreach(plugin std fds)
  target_compile_options(compel_plugin_${plugin} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${COMPEL_BLOB_CFLAGS} -fno-builtin>)
  target_include_directories(compel_plugin_${plugin} SYSTEM PRIVATE ${compel_c_includes})
  target_link_libraries(compel_plugin_${plugin} PRIVATE project_options)
  set_target_properties(compel_plugin_${plugin} PROPERTIES
    PREFIX "" OUTPUT_NAME ${plugin}.lib POSITION_INDEPENDENT_CODE OFF)
endforeach()
