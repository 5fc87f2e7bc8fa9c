// SPDX-License-Identifier: GPL-2.0-only
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include "criu/base/process_title.hpp"

/// LeakSanitizer asks for this: libarchive 3.6 doesn't free the state of a compression that was given up
/// (archive_write_fail), as a dump does that is stopped. The process ends soon after.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libarchive.so\nleak:libz.so\n";
}

int main(int argc, char* argv[]) {
    // What is tested names its helpers in ps, as criu does: without this libbsd says that it can't.
    criu::reserveProcessTitle(argc, argv);
    return Catch::Session().run(argc, argv);
}
