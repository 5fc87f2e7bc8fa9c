// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/vdso/vdso_symbols.hpp"

#include <elf.h>

#include <array>
#include <cstring>
#include <optional>
#include <type_traits>

#include "criu/base/error.hpp"

namespace criu::memory {
namespace {

/// ELF image in memory, with bounds checks for all accesses.
class Image {
public:
    explicit Image(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

    template <typename T>
    requires std::is_trivially_copyable_v<T>
    [[nodiscard]] T at(std::uint64_t offset) const {
        require(offset, sizeof(T));
        T value;
        std::memcpy(&value, bytes_.data() + offset, sizeof(T));
        return value;
    }

    [[nodiscard]] std::string text(std::uint64_t offset) const {
        require(offset, 1);
        const auto* const start = reinterpret_cast<const char*>(bytes_.data() + offset);
        const std::size_t room = bytes_.size() - offset;
        const std::size_t length = ::strnlen(start, room);
        if (length == room)
            fail("a name in the vDSO has no end");
        return {start, length};
    }

    void require(std::uint64_t offset, std::uint64_t size) const {
        if (offset > bytes_.size() || bytes_.size() - offset < size)
            fail("the vDSO of {} bytes refers to {:#x}", bytes_.size(), offset);
    }

private:
    std::span<const std::byte> bytes_;
};

/// ELF structures of 64-bit files (Native) and of 32-bit files (Compat).
struct Native {
    using Header = Elf64_Ehdr;
    using Segment = Elf64_Phdr;
    using Dynamic = Elf64_Dyn;
    using Symbol = Elf64_Sym;
    using BloomWord = std::uint64_t;
};
struct Compat {
    using Header = Elf32_Ehdr;
    using Segment = Elf32_Phdr;
    using Dynamic = Elf32_Dyn;
    using Symbol = Elf32_Sym;
    using BloomWord = std::uint32_t;
};

/// Offsets of the tables that describe the symbols.
struct Tables {
    std::uint64_t symbols = 0;
    std::uint64_t names = 0;
    std::uint64_t hash = 0;     ///< 0 if the vDSO lacks this table
    std::uint64_t gnuHash = 0;  ///< 0 if the vDSO lacks this table
};

/// Returns the difference between virtual addresses and file offsets. Sets `dynamic` to the header of the dynamic
/// section.
template <typename Elf>
std::uint64_t biasOf(const Image& image, const typename Elf::Header& header,
                     std::optional<typename Elf::Segment>& dynamic) {
    std::optional<std::uint64_t> bias;
    for (unsigned index = 0; index < header.e_phnum; ++index) {
        const auto segment =
            image.at<typename Elf::Segment>(header.e_phoff + std::uint64_t{index} * header.e_phentsize);
        if (segment.p_type == PT_LOAD && !bias)
            bias = segment.p_vaddr - segment.p_offset;
        else if (segment.p_type == PT_DYNAMIC)
            dynamic = segment;
    }
    if (!bias || !dynamic)
        fail("the vDSO has no dynamic section");
    return *bias;
}

template <typename Elf>
Tables findTables(const Image& image, std::uint64_t bias, const typename Elf::Segment& dynamic) {
    using Entry = typename Elf::Dynamic;
    Tables tables;
    for (std::uint64_t at = 0; at + sizeof(Entry) <= dynamic.p_filesz; at += sizeof(Entry)) {
        const auto entry = image.at<Entry>(dynamic.p_offset + at);
        const std::uint64_t offset = entry.d_un.d_ptr - bias;
        switch (entry.d_tag) {
            case DT_NULL:
                return tables;
            case DT_SYMTAB:
                tables.symbols = offset;
                break;
            case DT_STRTAB:
                tables.names = offset;
                break;
            case DT_HASH:
                tables.hash = offset;
                break;
            case DT_GNU_HASH:
                tables.gnuHash = offset;
                break;
            default:
                break;
        }
    }
    return tables;
}

/// Returns the number of symbols. criu gets it from a hash table, because the symbol table has no length field.
std::uint32_t countSymbols(const Image& image, const Tables& tables, std::size_t bloomWord) {
    if (tables.hash != 0)
        return image.at<std::uint32_t>(tables.hash + 4);  // field nchain: the number of symbols
    if (tables.gnuHash == 0)
        fail("the vDSO has no hash table");
    const auto buckets = image.at<std::uint32_t>(tables.gnuHash);
    const auto first = image.at<std::uint32_t>(tables.gnuHash + 4);
    const auto bloom = image.at<std::uint32_t>(tables.gnuHash + 8);
    const std::uint64_t bucketsAt = tables.gnuHash + 16 + std::uint64_t{bloomWord} * bloom;
    image.require(bucketsAt, std::uint64_t{4} * buckets);
    std::uint32_t last = 0;
    for (std::uint32_t bucket = 0; bucket < buckets; ++bucket)
        last = std::max(last, image.at<std::uint32_t>(bucketsAt + std::uint64_t{4} * bucket));
    if (last < first)
        return first;  // the vDSO exports no symbol
    // The last entry of a chain has its lowest bit set.
    const std::uint64_t chainsAt = bucketsAt + std::uint64_t{4} * buckets;
    while ((image.at<std::uint32_t>(chainsAt + std::uint64_t{4} * (last - first)) & 1U) == 0)
        ++last;
    return last + 1;
}

template <typename Elf>
std::vector<VdsoFunction> readFunctions(const Image& image) {
    using Symbol = typename Elf::Symbol;
    const auto header = image.at<typename Elf::Header>(0);
    std::optional<typename Elf::Segment> dynamic;
    const std::uint64_t bias = biasOf<Elf>(image, header, dynamic);
    const Tables tables = findTables<Elf>(image, bias, *dynamic);
    const std::uint32_t count = countSymbols(image, tables, sizeof(typename Elf::BloomWord));
    image.require(tables.symbols, sizeof(Symbol) * std::uint64_t{count});

    std::vector<VdsoFunction> functions;
    for (std::uint32_t index = 0; index < count; ++index) {
        const auto symbol = image.at<Symbol>(tables.symbols + sizeof(Symbol) * std::uint64_t{index});
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
            continue;
        const std::uint64_t offset = symbol.st_value - bias;
        image.require(offset, symbol.st_size);
        functions.push_back({image.text(tables.names + symbol.st_name), offset, symbol.st_size});
    }
    return functions;
}

}  // namespace

std::vector<VdsoFunction> readVdsoFunctions(std::span<const std::byte> bytes) {
    const Image image(bytes);
    const auto identity = image.at<std::array<unsigned char, EI_NIDENT>>(0);
    if (std::memcmp(identity.data(), ELFMAG, SELFMAG) != 0)
        fail("the vDSO isn't an ELF file");
    switch (identity[EI_CLASS]) {
        case ELFCLASS64:
            return readFunctions<Native>(image);
        case ELFCLASS32:
            return readFunctions<Compat>(image);
        default:
            fail("the vDSO is neither a 64-bit nor a 32-bit ELF file");
    }
}

}  // namespace criu::memory
