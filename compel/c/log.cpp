// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/log.h>

#include <cerrno>
#include <cstring>

#include "compel/c/control.hpp"

namespace {

struct Log {
    compel_log_fn function = nullptr;
    unsigned int level = COMPEL_DEFAULT_LOGLEVEL;
};

// The log of the C interface, which the whole program shares.
Log theLog;

}  // namespace

extern "C" {

void compel_log_init(compel_log_fn function, unsigned int level) {
    theLog = {function, level};
}

unsigned int compel_log_get_loglevel() {
    return theLog.level;
}

void compel_print_on_level(unsigned int level, const char* format, ...) {
    if (theLog.function == nullptr || level > theLog.level)
        return;
    va_list arguments;
    va_start(arguments, format);
    theLog.function(level, format, arguments);
    va_end(arguments);
}
}

namespace compel::c {

int failErrno(int pid, const char* what) {
    compel_print_on_level(COMPEL_LOG_ERROR, "process %d: %s: %s\n", pid, what, strerror(errno));
    return -1;
}

int fail(int pid, const char* what) {
    compel_print_on_level(COMPEL_LOG_ERROR, "process %d: %s\n", pid, what);
    return -1;
}

}  // namespace compel::c
