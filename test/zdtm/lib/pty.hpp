// SPDX-License-Identifier: GPL-2.0-only
// Pseudoterminals for tests of terminals.
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <string>
#include <string_view>

#include "zdtm.hpp"

namespace zdtm {

struct Pty {
    int master;
    std::string path;  // path of the slave, which isn't open
};

// Makes an unlocked pseudoterminal that controls no session.
Pty open_pty();

// Opens the slave with O_NOCTTY and these flags.
int open_slave(const Pty& pty, int flags = O_RDWR);

// Returns the line settings of a terminal.
termios settings_of(int fd);

// Switches echo, canonical mode and all translation off.
void make_raw(int fd);

// Reads all available bytes without blocking. In canonical mode that is the next line, up to `limit` bytes.
std::string read_now(int fd, std::size_t limit = 65536);

void write_text(int fd, std::string_view text);

// Waits until that many bytes can be read (FIONREAD): the kernel passes them on asynchronously.
void await_bytes(int fd, int count);

// Waits for the check. Then requires end of file at `reader` and a failing write to `writer`, in a child and in `me`.
// Returns the child.
pid_t check_hung_up(Task& me, int reader, int writer);

}  // namespace zdtm
