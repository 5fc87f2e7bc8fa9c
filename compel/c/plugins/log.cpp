// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/plugins/std.h>

#include "compel/c/plugins/text.hpp"

namespace {

struct Log {
    int fd = -1;
    unsigned level = COMPEL_DEFAULT_LOGLEVEL;
    timeval start = {};
    gettimeofday_t clock = nullptr;
};

Log theLog;

void printf(compel::c::TextOutput& out, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    compel::c::print(out, format, &arguments);
    va_end(arguments);
}

void writeTime(compel::c::TextOutput& out) {
    timeval now;
    if (theLog.start.tv_sec == 0 || std_gettimeofday(&now, nullptr) != 0)
        return;
    long micros = (now.tv_sec - theLog.start.tv_sec) * 1000000 + now.tv_usec - theLog.start.tv_usec;
    if (micros < 0)
        micros = 0;
    printf(out, "(%02ld.%06ld) ", micros / 1000000, micros % 1000000);
}

}  // namespace

extern "C" {

void std_log_set_fd(int fd) {
    if (theLog.fd >= 0)
        sys_close(theLog.fd);
    theLog.fd = fd;
}

void std_log_set_loglevel(__compel_log_levels level) {
    theLog.level = level;
}

void std_log_set_start(timeval* start) {
    theLog.start = *start;
}

void std_log_set_gettimeofday(gettimeofday_t function) {
    theLog.clock = function;
}

int std_gettimeofday(timeval* tv, struct timezone* tz) {
    return theLog.clock != nullptr ? theLog.clock(tv, tz) : static_cast<int>(sys_gettimeofday(tv, tz));
}

void log_set_fd(int fd) {
    std_log_set_fd(fd);
}

void log_set_loglevel(unsigned int level) {
    std_log_set_loglevel(static_cast<__compel_log_levels>(level));
}

void print_on_level(unsigned int level, const char* format, ...) {
    if (theLog.fd < 0 || level > theLog.level)
        return;
    char buffer[256];
    compel::c::TextOutput out(theLog.fd, buffer, sizeof(buffer));
    if (level != COMPEL_LOG_MSG) {
        writeTime(out);
        printf(out, "pie: %ld: %s", sys_gettid(), level == COMPEL_LOG_ERROR ? "Error: " : "");
    }
    va_list arguments;
    va_start(arguments, format);
    compel::c::print(out, format, &arguments);
    va_end(arguments);
}
}
