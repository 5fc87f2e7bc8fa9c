// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/build_id.hpp"

#include <elf.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <optional>

#include "criu/base/error.hpp"

namespace criu::files {
namespace {

constexpr std::size_t kHead = 16384;  // enough, because program headers and notes usually lie at the start of the file

template <typename T>
std::optional<T> at(std::span<const std::byte> bytes, std::uint64_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
        return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

std::vector<std::byte> searchNotes(std::span<const std::byte> notes) {
    std::uint64_t offset = 0;
    const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
    // Works for 32-bit files, too, because struct Elf32_Nhdr has the same layout.
    while (const auto note = at<Elf64_Nhdr>(notes, offset)) {
        const std::uint64_t name = offset + sizeof(Elf64_Nhdr);
        const std::uint64_t content = name + padded(note->n_namesz);
        if (content > notes.size() || notes.size() - content < note->n_descsz)
            return {};
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof("GNU") &&
            std::memcmp(notes.data() + name, "GNU", sizeof("GNU")) == 0)
            return {notes.begin() + static_cast<std::ptrdiff_t>(content),
                    notes.begin() + static_cast<std::ptrdiff_t>(content + note->n_descsz)};
        offset = content + padded(note->n_descsz);
    }
    return {};
}

template <typename Header, typename Segment>
std::vector<std::byte> searchSegments(std::span<const std::byte> head) {
    const auto header = at<Header>(head, 0);
    if (!header || header->e_phentsize != sizeof(Segment))
        return {};
    for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
        const auto segment = at<Segment>(head, header->e_phoff + i * sizeof(Segment));
        if (!segment)
            return {};
        if (segment->p_type != PT_NOTE || segment->p_offset > head.size() ||
            head.size() - segment->p_offset < segment->p_filesz)
            continue;
        std::vector<std::byte> id = searchNotes(head.subspan(segment->p_offset, segment->p_filesz));
        if (!id.empty())
            return id;
    }
    return {};
}

}  // namespace

std::vector<std::byte> parseBuildId(std::span<const std::byte> head) {
    if (head.size() < EI_NIDENT || std::memcmp(head.data(), ELFMAG, SELFMAG) != 0)
        return {};
    switch (static_cast<unsigned char>(head[EI_CLASS])) {
        case ELFCLASS64:
            return searchSegments<Elf64_Ehdr, Elf64_Phdr>(head);
        case ELFCLASS32:
            return searchSegments<Elf32_Ehdr, Elf32_Phdr>(head);
        default:
            return {};
    }
}

std::vector<std::byte> readBuildId(int fd) {
    std::vector<std::byte> head(kHead);
    const ssize_t got = sys(::pread(fd, head.data(), head.size(), 0), "read the build id");
    head.resize(static_cast<std::size_t>(got));
    return parseBuildId(head);
}

}  // namespace criu::files
