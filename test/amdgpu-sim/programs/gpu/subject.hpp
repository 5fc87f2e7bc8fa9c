// SPDX-License-Identifier: GPL-2.0-only
// Macro instead of #pragma once: a precompiled header from the compiler cache may name this file by another path.
#ifndef AMDGPU_SIM_GPU_SUBJECT_HPP
#define AMDGPU_SIM_GPU_SUBJECT_HPP
// Communication of a test program with the runner (protocol: guest/modes.sh), and checks.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>

namespace gpu {

// A failed check.
class Failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Throws Failure with the text of errno.
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

    // Reports that the state is set up, and returns when the check is requested. The runner may request `works` before,
    // to learn if the GPU works.
    void wait(const std::function<void()>& works);

    void report(const std::string& result);

private:
    void put(const char* name, const std::string& text);

    std::string folder_;
};

// Runs a test program: blocks the runner's signals, calls `body`, reports.
int run(int argc, char** argv, const std::function<void(Subject&)>& body);

// Fills each 8 bytes with a value of `seed` and offset. A remainder of less than 8 bytes stays unchanged.
void fill(std::span<std::byte> memory, std::uint64_t seed);

// Throws Failure with the first wrong offset and the number of wrong values.
void check(std::span<const std::byte> memory, std::uint64_t seed, const std::string& what);

}  // namespace gpu

#endif  // AMDGPU_SIM_GPU_SUBJECT_HPP
