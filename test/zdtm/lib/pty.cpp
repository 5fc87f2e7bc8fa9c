// SPDX-License-Identifier: GPL-2.0-only
#include "pty.hpp"

#include <poll.h>

#include <array>

#include "patience.hpp"

namespace zdtm {

Pty open_pty() {
    const int master = SYS(open("/dev/ptmx", O_RDWR | O_NOCTTY));
    const int unlocked = 0;
    SYS(ioctl(master, TIOCSPTLCK, &unlocked));
    int number = -1;
    SYS(ioctl(master, TIOCGPTN, &number));
    return {master, "/dev/pts/" + std::to_string(number)};
}

int open_slave(const Pty& pty, int flags) {
    return SYS(open(pty.path.c_str(), flags | O_NOCTTY));
}

termios settings_of(int fd) {
    termios settings{};
    SYS(tcgetattr(fd, &settings));
    return settings;
}

void make_raw(int fd) {
    termios settings = settings_of(fd);
    cfmakeraw(&settings);
    SYS(tcsetattr(fd, TCSANOW, &settings));
}

std::string read_now(int fd, std::size_t limit) {
    std::string text;
    pollfd readable{fd, POLLIN, 0};
    while (text.size() < limit && poll(&readable, 1, 0) == 1 && (readable.revents & POLLIN) != 0) {
        std::array<char, 4096> block{};
        const ssize_t got = SYS(read(fd, block.data(), std::min(block.size(), limit - text.size())));
        text.append(block.data(), static_cast<std::size_t>(got));
        if (got == 0 || (settings_of(fd).c_lflag & ICANON) != 0) {
            break;
        }
    }
    return text;
}

void write_text(int fd, std::string_view text) {
    const ssize_t written = SYS(write(fd, text.data(), text.size()));
    CHECK(written == static_cast<ssize_t>(text.size()), "wrote %zd of %zu bytes", written, text.size());
}

void await_bytes(int fd, int count) {
    int waiting = -1;
    for (int tries = 0; tries < kPatience && waiting != count; ++tries) {
        SYS(ioctl(fd, FIONREAD, &waiting));
        if (waiting != count) {
            usleep(1000);
        }
    }
    CHECK(waiting == count, "%d bytes can be read, not %d", waiting, count);
}

pid_t check_hung_up(Task& me, int reader, int writer) {
    const auto at_end = [reader] {
        char byte = 0;
        CHECK(SYS(read(reader, &byte, 1)) == 0, "no end of file");
    };
    const pid_t child = me.start_child([at_end](Task& task) {
        task.wait_for_check();
        at_end();
    });
    me.wait_for_check();
    at_end();
    CHECK(write(writer, "x", 1) == -1 && errno == EIO, "write: %s", strerror(errno));
    return child;
}

}  // namespace zdtm
