// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace criu::memory {

/// Function of a vDSO (vdso(7)).
struct VdsoFunction {
    std::string name;
    std::uint64_t offset = 0;  ///< offset in the image
    std::uint64_t size = 0;    ///< bytes of code
    friend bool operator==(const VdsoFunction&, const VdsoFunction&) = default;
};

/// Reads the functions of a vDSO image in memory from its dynamic symbols (64-bit or 32-bit ELF). Treats `image` as
/// untrusted: throws Error if it is malformed or refers beyond its end.
std::vector<VdsoFunction> readVdsoFunctions(std::span<const std::byte> image);

}  // namespace criu::memory
