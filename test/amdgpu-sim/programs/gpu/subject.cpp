// SPDX-License-Identifier: GPL-2.0-only
#include "gpu/subject.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace gpu {

void fail_errno(const std::string& what) {
    const int error = errno;
    throw Failure(what + ": " + std::strerror(error));
}

void expect(bool condition, const std::string& what) {
    if (!condition) {
        throw Failure(what);
    }
}

namespace {

sigset_t runner_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    return set;
}

std::uint64_t value_at(std::uint64_t seed, std::size_t place) {
    std::uint64_t value = (seed << 32) + place;
    value = (value ^ (value >> 31)) * 0x7fb5d329728ea185u;
    value = (value ^ (value >> 27)) * 0x81dadef4bc2dd44du;
    return value ^ (value >> 33);
}

}  // namespace

void Subject::put(const char* name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    const std::string temporary = path + ".new";
    const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()) || close(fd) != 0 ||
        rename(temporary.c_str(), path.c_str()) != 0) {
        std::perror(path.c_str());
        _exit(3);
    }
}

void Subject::wait(const std::function<void()>& works) {
    const sigset_t set = runner_signals();
    put("ready", "");
    for (;;) {
        int signal = 0;
        if (sigwait(&set, &signal) != 0) {
            continue;
        }
        if (signal == SIGTERM) {
            return;
        }
        works();
        put("alive", "");
    }
}

void Subject::report(const std::string& result) {
    put("result", result);
}

int run(int argc, char** argv, const std::function<void(Subject&)>& body) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    const sigset_t set = runner_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    Subject subject(argv[1]);
    try {
        body(subject);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        subject.report(error.what());
        return 1;
    }
    subject.report("ok");
    return 0;
}

void fill(std::span<std::byte> memory, std::uint64_t seed) {
    for (std::size_t place = 0; place + 8 <= memory.size(); place += 8) {
        const std::uint64_t value = value_at(seed, place);
        std::memcpy(memory.data() + place, &value, 8);
    }
}

void check(std::span<const std::byte> memory, std::uint64_t seed, const std::string& what) {
    std::size_t wrong = 0;
    std::size_t first = 0;
    for (std::size_t place = 0; place + 8 <= memory.size(); place += 8) {
        const std::uint64_t value = value_at(seed, place);
        if (std::memcmp(memory.data() + place, &value, 8) != 0) {
            first = wrong++ == 0 ? place : first;
        }
    }
    if (wrong != 0) {
        throw Failure(what + ": " + std::to_string(wrong) + " of " + std::to_string(memory.size() / 8) +
                      " words are wrong, the first at offset " + std::to_string(first));
    }
}

}  // namespace gpu
