// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "compel/src/fail.hpp"

namespace compel {

/// Linked position-independent ELF file, which isn't trusted. Functions throw Error for malformed content. `file` must
/// outlive this object.
class ElfFile {
public:
    explicit ElfFile(std::span<const std::byte> file) : file_(file), header_(load<Elf64_Ehdr>(0)) {
        if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_ident[EI_CLASS] != ELFCLASS64 ||
            header_.e_ident[EI_DATA] != ELFDATA2LSB)
            fail("not a little-endian 64-bit ELF file");
        if (header_.e_type != ET_DYN || header_.e_shentsize != sizeof(Elf64_Shdr))
            fail("not a linked position-independent image; link it with the flags of `compel ldflags`");
        for (std::size_t index = 0; index < header_.e_shnum; ++index)
            sections_.push_back(load<Elf64_Shdr>(header_.e_shoff + index * sizeof(Elf64_Shdr)));
        if (header_.e_shstrndx >= sections_.size())
            fail("it has no section names");
    }

    [[nodiscard]] const std::vector<Elf64_Shdr>& sections() const { return sections_; }

    [[nodiscard]] const Elf64_Shdr& section(std::size_t index) const {
        if (index >= sections_.size())
            fail("section ", index, " doesn't exist");
        return sections_[index];
    }

    [[nodiscard]] std::span<const std::byte> content(const Elf64_Shdr& section) const {
        if (section.sh_type == SHT_NOBITS)
            return {};
        return bytes(section.sh_offset, section.sh_size);
    }

    [[nodiscard]] std::string_view name(const Elf64_Shdr& section) const {
        return text(sections_[header_.e_shstrndx], section.sh_name);
    }

    [[nodiscard]] std::string_view text(const Elf64_Shdr& table, std::uint64_t offset) const {
        const auto strings = content(table);
        if (offset >= strings.size())
            fail("a name lies outside of its table");
        const auto rest = strings.subspan(offset);
        const auto end = std::find(rest.begin(), rest.end(), std::byte{0});
        if (end == rest.end())
            fail("a name has no end");
        return {reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(end - rest.begin())};
    }

    template <typename T>
    [[nodiscard]] T load(std::uint64_t offset) const {
        T value;
        std::memcpy(&value, bytes(offset, sizeof(T)).data(), sizeof(T));
        return value;
    }

private:
    [[nodiscard]] std::span<const std::byte> bytes(std::uint64_t offset, std::uint64_t size) const {
        if (offset > file_.size() || size > file_.size() - offset)
            fail("the file is cut off");
        return file_.subspan(offset, size);
    }

    std::span<const std::byte> file_;
    Elf64_Ehdr header_;
    std::vector<Elf64_Shdr> sections_;
};

}  // namespace compel
