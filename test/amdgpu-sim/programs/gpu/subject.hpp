// SPDX-License-Identifier: GPL-2.0-only
#pragma once
// The part of a test program that talks to the runner (guest/modes.sh says what it expects), and checks.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>

namespace gpu {

// What a test found wrong.
class Failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Throws Failure with the current errno's text.
[[noreturn]] void fail_errno(const std::string& what);

template <typename T>
T require(T result, const char* what) {  // -1 is failure
    if (result == T(-1)) {
        fail_errno(what);
    }
    return result;
}

void expect(bool condition, const std::string& what);

class Subject {
public:
    explicit Subject(std::string folder) : folder_(std::move(folder)) {}

    // Says that all is set up, and returns when it is to be checked. `works` is called whenever the runner wants to
    // know whether the GPU goes on working.
    void wait(const std::function<void()>& works);

    void report(const std::string& result);

private:
    void put(const char* name, const std::string& text);

    std::string folder_;
};

// A test program's main: blocks the runner's signals, calls `body`, reports.
int run(int argc, char** argv, const std::function<void(Subject&)>& body);

// Every 8 bytes get a value made of `seed` and their place; the rest of a size that isn't a multiple stays.
void fill(std::span<std::byte> memory, std::uint64_t seed);

// Throws with the first place that differs and how many do.
void check(std::span<const std::byte> memory, std::uint64_t seed, const std::string& what);

}  // namespace gpu
