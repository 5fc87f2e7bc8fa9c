// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace criu::kernel {

/// Types of the running kernel, which /sys/kernel/btf/vmlinux describes in the BPF type format
/// (Documentation/bpf/btf.rst). Only the functions and structures that a caller names are found.
class Btf {
public:
    /// Reads the types of the running kernel. Throws Error if the kernel shows none.
    static Btf ofKernel();
    /// Becomes the owner of data in the BPF type format of this machine's byte order. Throws Error on malformed data.
    explicit Btf(std::vector<std::byte> data);

    /// Returns the id of a function; nullopt if there is none.
    [[nodiscard]] std::optional<std::uint32_t> functionId(std::string_view name) const;
    /// Returns the offset of a member of a structure in bytes, also of a member of unnamed structures and unions in it;
    /// nullopt if there is no such member at a whole byte.
    [[nodiscard]] std::optional<std::uint32_t> offsetOf(std::string_view structure, std::string_view member) const;

private:
    struct Type;

    [[nodiscard]] Type typeAt(std::size_t offset) const;
    [[nodiscard]] std::uint32_t wordAt(std::size_t offset) const;
    [[nodiscard]] std::string_view nameAt(std::uint32_t offset) const noexcept;
    [[nodiscard]] std::optional<std::uint64_t> bitOf(std::uint32_t type, std::string_view member, unsigned depth) const;

    std::vector<std::byte> data_;
    std::size_t names_ = 0;              ///< offset of the names in `data_`
    std::size_t namesEnd_ = 0;           ///< offset of the end of the names
    std::size_t typesEnd_ = 0;           ///< offset of the end of the types
    std::vector<std::size_t> types_{0};  ///< offset of each type by its id; id 0 is no type
};

}  // namespace criu::kernel
