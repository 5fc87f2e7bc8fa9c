// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/sysmacros.h>
#include <sys/types.h>

#include <cstdint>

/// Conversions of device numbers. The kernel and images use two encodings in 32 bits (<linux/kdev_t.h>). libc's dev_t
/// has a third encoding.
namespace criu::kernel {

/// Decodes a device number of system calls, of /proc/PID/stat, or of device nodes in images. The minor number is in
/// bits 31-20 and 7-0, the major number in bits 19-8.
[[nodiscard]] inline dev_t decodeDevice(std::uint32_t number) noexcept {
    return makedev(number >> 8 & 0xfffU, (number & 0xffU) | (number >> 12 & 0xfff00U));
}
[[nodiscard]] inline std::uint32_t encodeDevice(dev_t device) noexcept {
    const std::uint32_t second = minor(device);
    return (second & 0xffU) | static_cast<std::uint32_t>(major(device)) << 8 | (second & 0xfff00U) << 12;
}

/// Number of bits of the minor number in the kernel's internal encoding. The minor number is in the low 20 bits, the
/// major number above. fdinfo, sock_diag and the file systems in images use this encoding.
inline constexpr unsigned kMinorBits = 20;
[[nodiscard]] inline dev_t deviceOf(std::uint32_t kernelForm) noexcept {
    return makedev(kernelForm >> kMinorBits, kernelForm & ((1U << kMinorBits) - 1));
}
[[nodiscard]] inline std::uint32_t kernelForm(dev_t device) noexcept {
    return static_cast<std::uint32_t>(major(device) << kMinorBits | minor(device));
}

}  // namespace criu::kernel
