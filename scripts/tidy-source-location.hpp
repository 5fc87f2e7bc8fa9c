// SPDX-License-Identifier: GPL-2.0-only
// clang-tidy includes this file before all others. Versions before 15 can't use libstdc++'s std::source_location, so
// this file defines it.
#pragma once

#include <version>

#if !__has_builtin(__builtin_source_location)
namespace std {
struct source_location {
    const char* file = "";
    const char* function = "";
    unsigned at = 0;

    static constexpr source_location current(const char* file = __builtin_FILE(),
                                             const char* function = __builtin_FUNCTION(),
                                             unsigned at = __builtin_LINE()) noexcept {
        return {file, function, at};
    }
    [[nodiscard]] constexpr const char* file_name() const noexcept { return file; }
    [[nodiscard]] constexpr const char* function_name() const noexcept { return function; }
    [[nodiscard]] constexpr unsigned line() const noexcept { return at; }
    [[nodiscard]] constexpr unsigned column() const noexcept { return 0; }
};
}  // namespace std
#endif
