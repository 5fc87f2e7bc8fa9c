// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace criu::memory {

/// A function of a vDSO (vdso(7)).
struct VdsoFunction {
    std::string name;
    std::uint64_t offset = 0;  ///< from the start of the image
    std::uint64_t size = 0;    ///< bytes of code
    friend bool operator==(const VdsoFunction&, const VdsoFunction&) = default;
};

/// Functions of a vDSO as it lies in memory, found through its dynamic symbols (64-bit or 32-bit ELF). Nothing in
/// `image` is trusted: Error if it's no such file or refers beyond its end.
std::vector<VdsoFunction> readVdsoFunctions(std::span<const std::byte> image);

}  // namespace criu::memory
