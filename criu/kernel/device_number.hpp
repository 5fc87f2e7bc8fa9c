// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/sysmacros.h>
#include <sys/types.h>

#include <cstdint>

/// The two 32-bit encodings of device numbers in the kernel and in images (<linux/kdev_t.h>). Both differ from dev_t.
namespace criu::kernel {

/// Converts from the encoding of system calls, /proc/PID/stat and device nodes in images: minor in bits 31-20 and
/// 7-0, major in 19-8.
[[nodiscard]] inline dev_t decodeDevice(std::uint32_t number) noexcept {
    return makedev(number >> 8 & 0xfffU, (number & 0xffU) | (number >> 12 & 0xfff00U));
}
[[nodiscard]] inline std::uint32_t encodeDevice(dev_t device) noexcept {
    const std::uint32_t second = minor(device);
    return (second & 0xffU) | static_cast<std::uint32_t>(major(device)) << 8 | (second & 0xfff00U) << 12;
}

/// Size of the minor number in the kernel's internal encoding: minor in the low 20 bits, major above. Used by fdinfo,
/// sock_diag and file systems in images.
inline constexpr unsigned kMinorBits = 20;
[[nodiscard]] inline dev_t deviceOf(std::uint32_t kernelForm) noexcept {
    return makedev(kernelForm >> kMinorBits, kernelForm & ((1U << kMinorBits) - 1));
}
[[nodiscard]] inline std::uint32_t kernelForm(dev_t device) noexcept {
    return static_cast<std::uint32_t>(major(device) << kMinorBits | minor(device));
}

}  // namespace criu::kernel
