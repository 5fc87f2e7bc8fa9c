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
    std::string path;  // of the slave, which isn't open yet
};

// Unlocked; nobody's controlling terminal.
Pty open_pty();

// A slave with O_NOCTTY and these flags.
int open_slave(const Pty& pty, int flags = O_RDWR);

// Line settings of a terminal.
termios settings_of(int fd);

// No echo, no lines, no translation in either direction.
void make_raw(int fd);

// All that can be read now, without waiting; in canonical mode the next line, with up to `limit` bytes.
std::string read_now(int fd, std::size_t limit = 65536);

void write_text(int fd, std::string_view text);

// Waits until that many bytes can be read (FIONREAD): the kernel passes them on in its own time.
void await_bytes(int fd, int count);

// Waits for the check; then a child, which is returned unfinished, and `me` find the end of the file at `reader`, and
// nothing can be written to `writer`.
pid_t check_hung_up(Task& me, int reader, int writer);

}  // namespace zdtm
