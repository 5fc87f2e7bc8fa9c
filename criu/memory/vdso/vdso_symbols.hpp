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
    std::uint64_t offset = 0;  ///< offset of the code in the vDSO
    std::uint64_t size = 0;    ///< bytes of code
    friend bool operator==(const VdsoFunction&, const VdsoFunction&) = default;
};

/// Reads the functions of a vDSO (64-bit or 32-bit ELF) from its dynamic symbols. `image` is untrusted: the function
/// throws Error if it is malformed or refers to bytes after its end.
std::vector<VdsoFunction> readVdsoFunctions(std::span<const std::byte> image);

}  // namespace criu::memory
