// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

// System calls for blobs. The results are values or -errno. The numbers are SYS_* of <sys/syscall.h>.

#include <compel/arch.hpp>

#include COMPEL_ARCH_HEADER(blob_syscall.hpp)

namespace compel::blob {

/// Makes a system call. Arguments may be integers, pointers or enumerations.
template <typename... Arguments>
inline long syscall(long number, Arguments... arguments) {
    static_assert(sizeof...(Arguments) <= 6);
    // A C cast, because C++ casts don't accept both integers and pointers.
    const long words[6] = {(long)(arguments)...};
    return rawSyscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

constexpr bool isError(long result) {
    return result < 0 && result >= -4095;
}

}  // namespace compel::blob
