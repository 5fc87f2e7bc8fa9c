// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/libraries.hpp"

#include <catch2/catch.hpp>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"

using namespace criu::cuda;

TEST_CASE("The driver's libraries are known by their names") {
    CHECK(isDriverLibrary("/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04"));
    CHECK(isDriverLibrary("/usr/lib/libnvidia-ptxjitcompiler.so.580.159.04"));
    CHECK_FALSE(isDriverLibrary("/usr/local/cuda/lib64/libcudart.so.12"));
    CHECK_FALSE(isDriverLibrary("/usr/lib/libnvidia-notes.txt"));
    CHECK_FALSE(isDriverLibrary("[heap]"));
    CHECK_FALSE(isDriverLibrary(""));
}

TEST_CASE("Only a library that processes find in criu's own files stops a restore") {
    criu::Log log;
    CHECK_NOTHROW(compareLibraries({}, log));
    CHECK_NOTHROW(compareLibraries({{"/nowhere/libcuda.so.1", "00ff", false}}, log));
    CHECK_THROWS_AS(compareLibraries({{"/nowhere/libcuda.so.1", "00ff", true}}, log), criu::Error);
    CHECK_THROWS_AS(compareLibraries({{"/proc/self/exe", "00ff", true}}, log), criu::Error);
}
