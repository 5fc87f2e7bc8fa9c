// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstdint>

/// Tasks of the test blob.
namespace testblob {

enum class Task : std::int32_t { Identify, Sum, Crash, Spin, Block, Await, Clone, Open };

struct Argument {
    Task task{};
    std::int32_t pid = 0;
    std::int32_t tid = 0;
    std::int32_t socket = 0;
    std::uint64_t numbers[32] = {};
};

}  // namespace testblob
