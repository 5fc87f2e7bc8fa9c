// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/error.hpp>

#include <cerrno>
#include <cstdint>
#include <sstream>
#include <string>

namespace compel {

struct Hex {
    std::uint64_t value;
};

inline std::ostream& operator<<(std::ostream& out, Hex number) {
    const auto flags = out.flags();
    out << "0x" << std::hex << number.value;
    out.flags(flags);
    return out;
}

template <typename... Parts>
std::string join(const Parts&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
}

template <typename... Parts>
[[noreturn]] void fail(const Parts&... parts) {
    throw Error(0, join(parts...));
}

template <typename... Parts>
[[noreturn]] void failWith(int code, const Parts&... parts) {
    throw Error(code, join(parts...));
}

template <typename... Parts>
[[noreturn]] void failErrno(const Parts&... parts) {
    const int code = errno;
    throw Error(code, join(parts...));
}

}  // namespace compel
