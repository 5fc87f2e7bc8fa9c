// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/mm/btf.hpp"

#include <fcntl.h>
#include <linux/btf.h>
#include <unistd.h>

#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::kernel {
namespace {

/// Kind of type that headers before Linux 6.0 lack.
constexpr std::uint32_t kEnum64 = 19;

/// Maximum depth of unnamed structures in a structure.
constexpr unsigned kDeepest = 8;

/// Returns the size of the data that follow a type; nullopt for an unknown kind, whose size isn't known.
std::optional<std::size_t> sizeAfter(std::uint32_t kind, std::uint32_t count) noexcept {
    switch (kind) {
        case BTF_KIND_INT:
        case BTF_KIND_VAR:
        case BTF_KIND_DECL_TAG:
            return 4;
        case BTF_KIND_ARRAY:
            return sizeof(btf_array);
        case BTF_KIND_STRUCT:
        case BTF_KIND_UNION:
        case BTF_KIND_DATASEC:
        case kEnum64:
            return count * sizeof(btf_member);
        case BTF_KIND_ENUM:
        case BTF_KIND_FUNC_PROTO:
            return count * sizeof(btf_enum);
        case BTF_KIND_PTR:
        case BTF_KIND_FWD:
        case BTF_KIND_TYPEDEF:
        case BTF_KIND_VOLATILE:
        case BTF_KIND_CONST:
        case BTF_KIND_RESTRICT:
        case BTF_KIND_FUNC:
        case BTF_KIND_FLOAT:
        case BTF_KIND_TYPE_TAG:
            return 0;
        default:
            return std::nullopt;
    }
}

}  // namespace

struct Btf::Type {
    std::string_view name;
    std::uint32_t kind = 0;
    std::uint32_t count = 0;    ///< number of members
    bool hasBitFields = false;  ///< true if the upper byte of a member's offset is the size of a bit field
    std::size_t members = 0;    ///< offset of the data that follow the type
};

Btf Btf::ofKernel() {
    constexpr const char* kFile = "/sys/kernel/btf/vmlinux";
    const UniqueFd file(sys(::open(kFile, O_RDONLY | O_CLOEXEC), "open {}", kFile));
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    std::vector<std::byte> data;
    for (std::size_t used = 0;;) {
        data.resize(used + kPiece);
        const ssize_t got = ::read(file.get(), data.data() + used, kPiece);
        if (got < 0 && errno == EINTR)
            continue;
        used += static_cast<std::size_t>(sys(got, "read {}", kFile));
        if (got == 0) {
            data.resize(used);
            return Btf(std::move(data));
        }
    }
}

Btf::Btf(std::vector<std::byte> data) : data_(std::move(data)) {
    btf_header header{};
    if (data_.size() < sizeof(header))
        fail("types of the kernel have {} bytes", data_.size());
    std::memcpy(&header, data_.data(), sizeof(header));
    const std::uint64_t types = std::uint64_t{header.hdr_len} + header.type_off;
    const std::uint64_t names = std::uint64_t{header.hdr_len} + header.str_off;
    if (header.magic != BTF_MAGIC || header.version != BTF_VERSION || types + header.type_len > data_.size() ||
        names + header.str_len > data_.size())
        fail("the types of the kernel have an unknown form");
    names_ = names;
    namesEnd_ = names + header.str_len;
    typesEnd_ = types + header.type_len;
    for (std::size_t at = types; at < typesEnd_;) {
        const Type type = typeAt(at);
        const auto after = sizeAfter(type.kind, type.count);
        if (!after)
            fail("type {} of the kernel is of the unknown kind {}", types_.size(), type.kind);
        types_.push_back(at);
        at = type.members + *after;
    }
}

std::uint32_t Btf::wordAt(std::size_t offset) const {
    std::uint32_t word = 0;
    if (offset + sizeof(word) > typesEnd_)
        fail("the types of the kernel end within a type");
    std::memcpy(&word, data_.data() + offset, sizeof(word));
    return word;
}

std::string_view Btf::nameAt(std::uint32_t offset) const noexcept {
    if (offset >= namesEnd_ - names_)
        return {};
    const char* const name = reinterpret_cast<const char*>(data_.data()) + names_ + offset;
    return {name, ::strnlen(name, namesEnd_ - names_ - offset)};
}

Btf::Type Btf::typeAt(std::size_t offset) const {
    const std::uint32_t info = wordAt(offset + offsetof(btf_type, info));
    (void)wordAt(offset + offsetof(btf_type, size));
    return {nameAt(wordAt(offset)), BTF_INFO_KIND(info), BTF_INFO_VLEN(info), BTF_INFO_KFLAG(info) != 0,
            offset + sizeof(btf_type)};
}

std::optional<std::uint32_t> Btf::functionId(std::string_view name) const {
    for (std::uint32_t id = 1; id < types_.size(); ++id)
        if (const Type type = typeAt(types_[id]); type.kind == BTF_KIND_FUNC && type.name == name)
            return id;
    return std::nullopt;
}

std::optional<std::uint32_t> Btf::offsetOf(std::string_view structure, std::string_view member) const {
    for (std::uint32_t id = 1; id < types_.size(); ++id) {
        if (const Type type = typeAt(types_[id]); type.kind != BTF_KIND_STRUCT || type.name != structure)
            continue;
        const auto bit = bitOf(id, member, 0);
        if (bit && *bit % 8 == 0 && *bit / 8 <= UINT16_MAX)
            return static_cast<std::uint32_t>(*bit / 8);
    }
    return std::nullopt;
}

/// Returns the offset of a member of a type in bits. Passes through qualifiers, and through unnamed members.
std::optional<std::uint64_t> Btf::bitOf(std::uint32_t id, std::string_view member, unsigned depth) const {
    if (id == 0 || id >= types_.size() || depth > kDeepest)
        return std::nullopt;
    const Type type = typeAt(types_[id]);
    if (type.kind == BTF_KIND_CONST || type.kind == BTF_KIND_VOLATILE || type.kind == BTF_KIND_TYPE_TAG)
        return bitOf(wordAt(types_[id] + offsetof(btf_type, type)), member, depth + 1);
    if (type.kind != BTF_KIND_STRUCT && type.kind != BTF_KIND_UNION)
        return std::nullopt;
    for (std::uint32_t number = 0; number < type.count; ++number) {
        const std::size_t at = type.members + number * sizeof(btf_member);
        const std::string_view name = nameAt(wordAt(at));
        std::uint64_t bit = wordAt(at + offsetof(btf_member, offset));
        if (type.hasBitFields)
            bit = BTF_MEMBER_BIT_OFFSET(bit);
        if (name == member)
            return bit;
        if (!name.empty())
            continue;
        if (const auto inside = bitOf(wordAt(at + offsetof(btf_member, type)), member, depth + 1))
            return bit + *inside;
    }
    return std::nullopt;
}

}  // namespace criu::kernel
