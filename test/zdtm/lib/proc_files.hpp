// SPDX-License-Identifier: GPL-2.0-only
// Open files in /proc.
#pragma once

#include <string>

#include "zdtm.hpp"

namespace zdtm {

// Reads a short file from its beginning.
inline std::string content_of(int file) {
    char text[64];
    const ssize_t length = SYS(pread(file, text, sizeof(text), 0));
    return {text, static_cast<std::size_t>(length)};
}

// Changes to the directory of an ended process in /proc. /proc may belong to another pid namespace.
inline void enter_ended_process() {
    int ready[2];
    SYS(pipe(ready));
    const pid_t child = SYS(fork());
    if (child == 0) {
        char number[32];
        const ssize_t length = SYS(readlink("/proc/self", number, sizeof(number)));
        SYS(write(ready[1], number, static_cast<std::size_t>(length)));
        pause();
    }
    char number[32];
    const ssize_t length = SYS(read(ready[0], number, sizeof(number)));
    SYS(close(ready[0]));
    SYS(close(ready[1]));
    SYS(chdir(("/proc/" + std::string(number, static_cast<std::size_t>(length))).c_str()));
    kill_and_reap(child);
}

}  // namespace zdtm
