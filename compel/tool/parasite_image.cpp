// SPDX-License-Identifier: LGPL-2.1-only
#include "compel/tool/parasite_image.hpp"

#include <algorithm>
#include <string_view>

#include <relocations.hpp>

#include "compel/src/fail.hpp"
#include "compel/tool/elf_file.hpp"

namespace compel {

namespace {

constexpr std::uint64_t largestBlob = 64 << 20;
constexpr std::string_view exportPrefix = "__export_";
/// Symbols that libcompel requires in a blob.
constexpr std::string_view neededSymbols[] = {"__export_parasite_head_start", "__export_parasite_service_cmd",
                                              "__export_parasite_service_args_ptr"};
/// Sections that only a dynamic linker reads, so that the blob doesn't contain them.
constexpr std::string_view linkerSections[] = {".rela.dyn", ".dynamic", ".linker"};

/// Copies a section to its offset in the blob. Fills bytes that the file doesn't contain with zeroes.
void place(const ElfFile& elf, const Elf64_Shdr& section, ParasiteImage& image) {
    if (section.sh_addr > largestBlob || section.sh_size > largestBlob)
        fail("section ", elf.name(section), " is too large");
    const auto end = section.sh_addr + section.sh_size;
    if (image.bytes.size() < end)
        image.bytes.resize(end);
    const auto content = elf.content(section);
    std::copy(content.begin(), content.end(), image.bytes.begin() + static_cast<std::ptrdiff_t>(section.sh_addr));
}

void readSymbols(const ElfFile& elf, const Elf64_Shdr& table, ParasiteImage& image) {
    const auto& names = elf.section(table.sh_link);
    for (std::uint64_t index = 1; index < table.sh_size / sizeof(Elf64_Sym); ++index) {
        const auto symbol = elf.load<Elf64_Sym>(table.sh_offset + index * sizeof(Elf64_Sym));
        const auto name = elf.text(names, symbol.st_name);
        if (!name.starts_with(exportPrefix) || symbol.st_shndx == SHN_UNDEF)
            continue;
        if (symbol.st_value >= image.bytes.size())
            fail("symbol ", name, " lies outside of the blob");
        image.symbols.push_back({std::string(name), symbol.st_value});
    }
}

void readAddresses(const ElfFile& elf, const Elf64_Shdr& table, ParasiteImage& image) {
    for (std::uint64_t index = 0; index < table.sh_size / sizeof(Elf64_Rela); ++index) {
        const auto place = elf.load<Elf64_Rela>(table.sh_offset + index * sizeof(Elf64_Rela));
        if (place.r_info != arch::relativeRelocation)
            fail("a relocation of type ", ELF64_R_TYPE(place.r_info), " is left, which the library doesn't know");
        if (image.bytes.size() < sizeof(std::uint64_t) || place.r_offset > image.bytes.size() - sizeof(std::uint64_t) ||
            place.r_offset < image.dataOffset)
            fail("a relocation lies outside of the blob's data");
        image.addresses.push_back({place.r_offset, static_cast<std::uint64_t>(place.r_addend)});
    }
}

}  // namespace

ParasiteImage parseParasite(std::span<const std::byte> file) {
    const ElfFile elf(file);
    ParasiteImage image;
    const auto all = elf.sections();
    for (const auto& section : all) {
        const auto name = elf.name(section);
        if ((section.sh_flags & SHF_ALLOC) == 0 ||
            std::find(std::begin(linkerSections), std::end(linkerSections), name) != std::end(linkerSections))
            continue;
        if (name != ".text" && name != ".data")
            fail("section ", name, " is unknown; link it with the flags of `compel ldflags`");
        if (name == ".data")
            image.dataOffset = section.sh_addr;
        place(elf, section, image);
    }
    for (const auto& section : all) {
        if (section.sh_type == SHT_SYMTAB)
            readSymbols(elf, section, image);
        else if (section.sh_type == SHT_RELA)
            readAddresses(elf, section, image);
    }
    for (const auto needed : neededSymbols)
        if (std::none_of(image.symbols.begin(), image.symbols.end(),
                         [&](const auto& symbol) { return symbol.name == needed; }))
            fail("symbol ", needed, " is missing; link it with the libraries of `compel plugins`");
    return image;
}

}  // namespace compel
