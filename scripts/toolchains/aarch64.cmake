# SPDX-License-Identifier: GPL-2.0-only
# Cross build for aarch64 by Debian's cross compiler. CRIU_SYSROOT: folder with the libraries for aarch64, which
# scripts/sysroot-aarch64 makes (default: build-aarch64-sysroot in the source tree).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CRIU_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../../build-aarch64-sysroot" CACHE PATH "Root folder with libraries for aarch64")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CRIU_SYSROOT)
cmake_path(ABSOLUTE_PATH CRIU_SYSROOT NORMALIZE OUTPUT_VARIABLE CMAKE_SYSROOT)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
