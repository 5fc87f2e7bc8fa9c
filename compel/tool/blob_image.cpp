// SPDX-License-Identifier: LGPL-2.1-only
#include "compel/tool/blob_image.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include "compel/src/fail.hpp"
#include "compel/tool/elf_file.hpp"

namespace compel {

namespace {

constexpr std::string_view startSymbol = "compel_blob_start";
constexpr std::string_view endSymbol = "compel_blob_end";

bool isPlainIdentifier(std::string_view name) {
    return !name.empty() && !name.starts_with("_") && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
           std::all_of(name.begin(), name.end(),
                       [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

void readSymbols(const ElfFile& elf, const Elf64_Shdr& table, std::size_t blobIndex, BlobImage& image) {
    std::optional<std::uint64_t> start;
    std::optional<std::uint64_t> end;
    const auto& names = elf.section(table.sh_link);
    for (std::uint64_t index = 1; index < table.sh_size / sizeof(Elf64_Sym); ++index) {
        const auto symbol = elf.load<Elf64_Sym>(table.sh_offset + index * sizeof(Elf64_Sym));
        const auto name = elf.text(names, symbol.st_name);
        if (symbol.st_shndx == SHN_UNDEF && !name.empty())
            fail("symbol ", name, " is undefined");
        if (symbol.st_shndx != blobIndex || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL)
            continue;
        if (symbol.st_value > image.bytes.size())
            fail("symbol ", name, " lies outside of the blob");
        if (name == startSymbol)
            start = symbol.st_value;
        else if (name == endSymbol)
            end = symbol.st_value;
        else if (isPlainIdentifier(name))
            image.symbols.push_back({std::string(name), symbol.st_value});
    }
    if (!start || !end)
        fail("the blob lacks ", startSymbol, " or ", endSymbol, "; link it with the library named by `compel plugins`");
    image.entryOffset = *start;
    image.endOffset = *end;
}

}  // namespace

bool isBlob(std::span<const std::byte> file) {
    const ElfFile elf(file);
    return std::any_of(elf.sections().begin(), elf.sections().end(),
                       [&](const auto& section) { return elf.name(section) == ".blob"; });
}

BlobImage parseBlob(std::span<const std::byte> file) {
    const ElfFile elf(file);
    BlobImage image;
    std::size_t blobIndex = 0;
    const Elf64_Shdr* symbols = nullptr;
    for (std::size_t index = 0; index < elf.sections().size(); ++index) {
        const auto& section = elf.sections()[index];
        if ((section.sh_type == SHT_RELA || section.sh_type == SHT_REL) && section.sh_size != 0)
            fail("relocations are left in section ", elf.name(section),
                 "; a blob can't hold pointers in constant data");
        if (section.sh_type == SHT_SYMTAB)
            symbols = &section;
        if (elf.name(section) == ".blob") {
            if (section.sh_addr != 0)
                fail("the blob doesn't begin at address 0");
            const auto content = elf.content(section);
            image.bytes.assign(content.begin(), content.end());
            blobIndex = index;
        } else if ((section.sh_flags & SHF_ALLOC) != 0 && section.sh_size != 0 && elf.name(section) != ".linker") {
            fail("section ", elf.name(section), " isn't empty; all a blob holds lies in .blob");
        }
    }
    if (image.bytes.empty())
        fail("it has no .blob section; link it with the script of `compel ldflags`");
    if (symbols == nullptr)
        fail("it has no symbols; don't strip a blob");
    readSymbols(elf, *symbols, blobIndex, image);
    std::sort(image.symbols.begin(), image.symbols.end(),
              [](const auto& left, const auto& right) { return left.offset < right.offset; });
    return image;
}

}  // namespace compel
