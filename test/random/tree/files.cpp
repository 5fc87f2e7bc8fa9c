// SPDX-License-Identifier: GPL-2.0-only
// Steps that open files, pipes and terminals, and steps that change descriptors.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>

#include "builder.hpp"

namespace random_tree {

namespace {

void write_all(int fd, const std::string& text) {
    if (require(write(fd, text.data(), text.size()), "write") != static_cast<ssize_t>(text.size())) {
        throw std::runtime_error("write: short");
    }
}

int access_mode(const Step& step) {
    const std::string mode = step.text("mode", "rw");
    return mode == "r" ? O_RDONLY : mode == "w" ? O_WRONLY : O_RDWR;
}

int further_flags(const Step& step) {
    return (step.has("append") ? O_APPEND : 0) | (step.has("nonblock") ? O_NONBLOCK : 0) |
           (step.has("cloexec") ? O_CLOEXEC : 0) | (step.has("noatime") ? O_NOATIME : 0) |
           (step.has("sync") ? O_SYNC : 0);
}

void create_file(const std::string& path, const Step& step) {
    const int fd = require(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), "create a file");
    write_all(fd, content(static_cast<std::size_t>(step.number("size", 100)), step.number("seed")));
    close(fd);
}

void file(Builder& builder, const Step& step) {
    const std::string& name = step.word(1);
    const std::string path = builder.path(name);
    create_file(path, step);
    const int fd = require(open(path.c_str(), access_mode(step) | further_flags(step)), "open a file");
    require(lseek(fd, step.number("position"), SEEK_SET), "lseek");
    if (step.has("linked")) {
        require(link(path.c_str(), (path + ".link").c_str()), "link");
    }
    if (step.has("deleted")) {
        require(unlink(path.c_str()), "unlink");
    }
    if (step.has("renamed")) {
        require(rename(path.c_str(), (path + ".new").c_str()), "rename");
    }
    builder.keep(name, fd);
}

void unnamed_file(Builder& builder, const Step& step) {
    const int fd =
        require(open(builder.path(".").c_str(), O_TMPFILE | O_RDWR | further_flags(step), 0600), "O_TMPFILE");
    write_all(fd, content(static_cast<std::size_t>(step.number("size", 100)), step.number("seed")));
    require(lseek(fd, step.number("position"), SEEK_SET), "lseek");
    builder.keep(step.word(1), fd);
}

void directory(Builder& builder, const Step& step) {
    const std::string path = builder.path(step.word(1));
    require(mkdir(path.c_str(), 0755), "mkdir");
    builder.keep(step.word(1), require(open(path.c_str(), O_RDONLY | O_DIRECTORY), "open a directory"));
    if (step.has("deleted")) {
        require(rmdir(path.c_str()), "rmdir");
    }
}

void path_only(Builder& builder, const Step& step) {
    const std::string path = builder.path(step.word(1));
    create_file(path, step);
    builder.keep(step.word(1), require(open(path.c_str(), O_PATH), "open with O_PATH"));
}

void device(Builder& builder, const Step& step) {
    const std::string path = "/dev/" + step.text("which", "null");
    builder.keep(step.word(1), require(open(path.c_str(), access_mode(step) | further_flags(step)), "open a device"));
}

void proc_file(Builder& builder, const Step& step) {
    const std::string path = "/proc/" + step.text("which", "self/status");
    builder.keep(step.word(1), require(open(path.c_str(), O_RDONLY), "open a file of /proc"));
}

void make_pipe(Builder& builder, const Step& step) {
    int ends[2];
    const int flags = (step.has("packets") ? O_DIRECT : 0) | (step.has("nonblock") ? O_NONBLOCK : 0);
    require(pipe2(ends, flags), "pipe2");
    if (step.number("capacity") > 0) {
        require(fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(step.number("capacity"))), "F_SETPIPE_SZ");
    }
    const std::string text = content(static_cast<std::size_t>(step.number("bytes")), step.number("seed"));
    const std::size_t part = static_cast<std::size_t>(step.number("part", 1000));
    for (std::size_t at = 0; at < text.size(); at += part) {
        write_all(ends[1], text.substr(at, std::min(part, text.size() - at)));
    }
    builder.keep(step.word(1) + ".r", ends[0]);
    builder.keep(step.word(1) + ".w", ends[1]);
}

void fifo(Builder& builder, const Step& step) {
    const std::string& name = step.word(1);
    const std::string path = builder.path(name);
    require(mkfifo(path.c_str(), 0644), "mkfifo");
    const int both = require(open(path.c_str(), O_RDWR | O_CLOEXEC), "open a fifo");
    builder.keep(name + ".r", require(open(path.c_str(), O_RDONLY | O_NONBLOCK), "open a fifo to read"));
    builder.keep(name + ".w", require(open(path.c_str(), O_WRONLY), "open a fifo to write"));
    write_all(both, content(static_cast<std::size_t>(step.number("bytes")), step.number("seed")));
    close(both);
    if (step.has("deleted")) {
        require(unlink(path.c_str()), "unlink");
    }
}

void memory_file(Builder& builder, const Step& step) {
    const unsigned flags = MFD_ALLOW_SEALING | (step.has("cloexec") ? MFD_CLOEXEC : 0U);
    const int fd = require(memfd_create(step.word(1).c_str(), flags), "memfd_create");
    write_all(fd, content(static_cast<std::size_t>(step.number("size", 5000)), step.number("seed")));
    require(lseek(fd, step.number("position"), SEEK_SET), "lseek");
    if (step.number("seals") != 0) {
        require(fcntl(fd, F_ADD_SEALS, static_cast<int>(step.number("seals"))), "F_ADD_SEALS");
    }
    builder.keep(step.word(1), fd);
}

void terminal(Builder& builder, const Step& step) {
    const std::string& name = step.word(1);
    const int master =
        require(posix_openpt(O_RDWR | O_NOCTTY | (step.has("nonblock") ? O_NONBLOCK : 0)), "posix_openpt");
    require(grantpt(master), "grantpt");
    require(unlockpt(master), "unlockpt");
    char path[64];
    if (ptsname_r(master, path, sizeof path) != 0) {
        fail_call("ptsname");
    }
    const int slave = require(open(path, O_RDWR | (step.has("controlling") ? 0 : O_NOCTTY)), "open a terminal");
    if (step.has("raw")) {
        termios settings{};
        require(tcgetattr(slave, &settings), "tcgetattr");
        cfmakeraw(&settings);
        require(tcsetattr(slave, TCSANOW, &settings), "tcsetattr");
    }
    winsize size{};
    size.ws_row = static_cast<unsigned short>(step.number("rows", 24));
    size.ws_col = static_cast<unsigned short>(step.number("columns", 80));
    require(ioctl(master, TIOCSWINSZ, &size), "TIOCSWINSZ");
    if (step.number("input") > 0) {
        write_all(master, content(static_cast<std::size_t>(step.number("input")), step.number("seed")) + "\n");
    }
    if (step.number("output") > 0) {
        write_all(slave, content(static_cast<std::size_t>(step.number("output")), step.number("seed") + 1));
    }
    builder.keep(name + ".master", master);
    if (step.has("hung")) {
        close(slave);
    } else {
        builder.keep(name + ".slave", slave);
    }
}

void duplicate(Builder& builder, const Step& step) {
    const int fd = builder.fd(step.word(2));
    const int least = static_cast<int>(step.number("least", 3));
    builder.keep(step.word(1), require(fcntl(fd, step.has("cloexec") ? F_DUPFD_CLOEXEC : F_DUPFD, least), "F_DUPFD"));
}

void close_one(Builder& builder, const Step& step) {
    require(close(builder.fd(step.word(1))), "close");
    builder.forget(step.word(1));
}

void status_flags(Builder& builder, const Step& step) {
    const int fd = builder.fd(step.word(1));
    const int old = require(fcntl(fd, F_GETFL), "F_GETFL");
    require(fcntl(fd, F_SETFL, old | further_flags(step)), "F_SETFL");
    if (step.has("cloexec")) {
        require(fcntl(fd, F_SETFD, FD_CLOEXEC), "F_SETFD");
    }
}

void owner(Builder& builder, const Step& step) {
    const int fd = builder.fd(step.word(1));
    require(fcntl(fd, F_SETOWN, step.has("group") ? -getpgrp() : getpid()), "F_SETOWN");
    require(fcntl(fd, F_SETSIG, static_cast<int>(step.number("signal"))), "F_SETSIG");
}

void lock(Builder& builder, const Step& step) {
    const int fd = builder.fd(step.word(1));
    const bool exclusive = step.has("exclusive");
    if (step.has("flock")) {
        require(flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB), "flock");
        return;
    }
    struct flock range {};
    range.l_type = static_cast<short>(exclusive ? F_WRLCK : F_RDLCK);
    range.l_whence = SEEK_SET;
    range.l_start = step.number("start");
    range.l_len = step.number("length");
    require(fcntl(fd, step.has("ofd") ? F_OFD_SETLK : F_SETLK, &range), "set a lock");
}

}  // namespace

void add_file_kinds(Kinds& kinds) {
    kinds["file"] = file;
    kinds["unnamed"] = unnamed_file;
    kinds["directory"] = directory;
    kinds["path"] = path_only;
    kinds["device"] = device;
    kinds["proc"] = proc_file;
    kinds["pipe"] = make_pipe;
    kinds["fifo"] = fifo;
    kinds["memfd"] = memory_file;
    kinds["terminal"] = terminal;
    kinds["dup"] = duplicate;
    kinds["close"] = close_one;
    kinds["flags"] = status_flags;
    kinds["owner"] = owner;
    kinds["lock"] = lock;
}

}  // namespace random_tree
