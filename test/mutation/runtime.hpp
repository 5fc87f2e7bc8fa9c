// SPDX-License-Identifier: GPL-2.0-only
// Selects the planted mistake of a process. plant.py includes this file in each source that it changes.
// A macro guards it, because a copy for installed headers has another path.
#ifndef CRIU_MUTATION_RUNTIME_HPP
#define CRIU_MUTATION_RUNTIME_HPP
#if !__STDC_HOSTED__
// Code that runs in other processes has neither an environment nor files.
namespace criu_mutation {
constexpr bool on(int) noexcept {
    return false;
}
constexpr bool when(int) noexcept {
    return false;
}
}  // namespace criu_mutation
#else
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace criu_mutation {

/// Size of the file of reached mistakes, one byte for each number.
inline constexpr unsigned kReachedSize = 8192;

/// Number of the planted mistake; 0: none; -1: load() wasn't called yet.
inline int gSelected = -1;
/// Bytes of reached mistakes, shared with the runner; null if the runner doesn't ask for them.
inline volatile unsigned char* gReached = nullptr;

/// Reads the number, and the name of the file of reached mistakes: from $CRIU_MUTANT and $CRIU_MUTANT_REACHED, else
/// from a file `mutant` in a folder above this program, because some tests start programs with an environment of their
/// own.
[[gnu::noinline]] inline void load() noexcept {
    gSelected = 0;
    char text[4096] = {};
    const char* reached = std::getenv("CRIU_MUTANT_REACHED");
    if (const char* const number = std::getenv("CRIU_MUTANT")) {
        gSelected = std::atoi(number);
    } else if (const auto* const program = reinterpret_cast<const char*>(::getauxval(AT_EXECFN))) {
        char path[4096] = {};
        if (std::strlen(program) > sizeof path - 16)
            return;
        std::strcpy(path, program);
        for (int level = 0; level < 10; ++level) {
            char* const slash = std::strrchr(path, '/');
            if (slash == nullptr)
                return;
            std::strcpy(slash, "/mutant");
            const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
            *slash = '\0';
            if (fd < 0)
                continue;
            if (::read(fd, text, sizeof text - 1) < 0)
                text[0] = '\0';
            ::close(fd);
            break;
        }
        gSelected = std::atoi(text);
        if (char* const blank = std::strchr(text, ' '))
            reached = std::strtok(blank, " \n");
    }
    if (reached == nullptr)
        return;
    const int fd = ::open(reached, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    void* const bytes = ::mmap(nullptr, kReachedSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (bytes != MAP_FAILED)
        gReached = static_cast<unsigned char*>(bytes);
}

/// Loads before other code of the program can change its environment or root.
[[gnu::constructor(101)]] static void loadEarly() noexcept {
    if (gSelected < 0)
        load();
}

/// Returns true in a process that has the planted mistake `number`.
inline bool on(int number) noexcept {
    if (gSelected < 0)
        load();
    if (gReached != nullptr)
        gReached[number] = 1;
    return gSelected == number;
}

/// As on(), in functions that the compiler may evaluate; the compiler itself sees no mistake.
constexpr bool when(int number) noexcept {
    return !__builtin_is_constant_evaluated() && on(number);
}

}  // namespace criu_mutation
#endif
#endif  // CRIU_MUTATION_RUNTIME_HPP
