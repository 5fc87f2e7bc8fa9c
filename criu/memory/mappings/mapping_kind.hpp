// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

#include "criu/memory/mappings/mapped_files.hpp"
#include "criu/memory/mappings/vma_dump.hpp"
#include "criu/memory/mappings/vma_status.hpp"

/// Mapping kinds: anonymous memory, a file, a segment, a ring shared with the kernel … Each kind is one object in
/// mapping_NAME.cpp with a dump half and a restore half; mappingKinds() lists them. Kinds don't decide how pages are
/// stored.
namespace criu::memory {

/// Dump state that mapping kinds use, one object per process.
class MappingDump {
public:
    /// Both arguments must outlive this object.
    MappingDump(const VmaDumpRules& rules, MappedFileDump& files) : rules_(rules), files_(files) {}

    [[nodiscard]] const VmaDumpRules& rules() const noexcept { return rules_; }
    [[nodiscard]] MappedFileDump& files() noexcept { return files_; }

    /// Return the results of files(), cached per file.
    [[nodiscard]] bool isPlain(const kernel::Vma& vma);
    [[nodiscard]] FileId fileFor(const kernel::Vma& vma);
    [[nodiscard]] FileId segmentFor(const kernel::Vma& vma);
    /// Records the access mode of the mapped open file description.
    void setAccess(const kernel::Vma& vma, VmaEntry& entry);

    bool sawUprobes = false;

private:
    struct Known {
        std::optional<bool> plain;
        std::optional<FileId> file;
    };
    Known& known(const kernel::Vma& vma);

    const VmaDumpRules& rules_;
    MappedFileDump& files_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::string_view>, Known> known_;
};

/// Stage of a restore in which a mapping is made.
enum class MapStage {
    Memory,       ///< at once: before its content and before children
    Files,        ///< when the process' files are open
    Descriptors,  ///< when descriptors are at their final numbers; its address is reserved until then
    Program,      ///< in the restorer's program, when criu's memory is unmapped; its address is reserved until then
    Elsewhere,    ///< by other code: a kernel area, or an entry that isn't a mapping
};

/// Mapping to be made.
struct WantedMapping {
    const VmaEntry& vma;
    std::uint64_t at = 0;
    int protection = 0;  ///< protection while content is written
    int flags = 0;       ///< flags of mmap(2), including those for the address

    [[nodiscard]] std::uint64_t size() const noexcept { return vma.end - vma.start; }
};

class MappingKind {
public:
    virtual ~MappingKind() = default;
    MappingKind(const MappingKind&) = delete;
    MappingKind& operator=(const MappingKind&) = delete;

    // Dump

    /// Returns true if a mapping of a process is of this kind. criu asks the kinds in list order until one returns
    /// true.
    [[nodiscard]] virtual bool claims(const kernel::Vma& vma, MappingDump& dump) const = 0;
    /// Returns true if images omit the mapping. Throws Error if the options don't allow that.
    [[nodiscard]] virtual bool leavesOut(const kernel::Vma&, MappingDump&) const { return false; }
    /// Returns true if the mapping extends the entry of the mapping before it.
    [[nodiscard]] virtual bool continues(const VmaEntry& /*before*/, const kernel::Vma&) const { return false; }
    /// Sets the kind's fields of the entry; addresses, protection and flags are set already. Throws Error if the
    /// mapping can't be dumped.
    virtual void describe(const kernel::Vma& vma, VmaEntry& entry, MappingDump& dump) const = 0;

    // Restore

    /// Returns true if an image entry is of this kind. criu asks the kinds in list order until one returns true.
    [[nodiscard]] virtual bool isOf(const VmaEntry& entry) const = 0;
    [[nodiscard]] virtual MapStage stage() const noexcept { return MapStage::Memory; }
    /// Makes the mapping in the calling process, for the stages Memory, Files and Descriptors. Returns its
    /// protection. Throws Error.
    virtual int map(const WantedMapping& wanted, FileCache& files) const = 0;

protected:
    MappingKind() = default;
};

/// Returns all kinds; the last one claims every mapping.
[[nodiscard]] std::span<const MappingKind* const> mappingKinds();

/// Returns the kind of a process' mapping.
[[nodiscard]] const MappingKind& mappingKindOf(const kernel::Vma& vma, MappingDump& dump);
/// Returns the kind of an image entry.
[[nodiscard]] const MappingKind& mappingKindOf(const VmaEntry& entry);

// Properties that several kinds use.

/// Name of a mapped io_uring.
inline constexpr std::string_view kIoUringName = "anon_inode:[io_uring]";
/// Name of huge page memory without a file, shared or private.
inline constexpr std::string_view kAnonymousHugeName = "/anon_hugepage (deleted)";
/// Bits of mmap(2) flags for the huge page size (MAP_HUGE_MASK << MAP_HUGE_SHIFT).
inline constexpr std::uint32_t kHugeSizeMask = 0x3fU << 26;

[[nodiscard]] inline bool isWithoutFile(const kernel::Vma& vma) noexcept {
    return vma.inode == 0 && vma.devMajor == 0 && vma.devMinor == 0;
}
/// Returns true for private huge page memory, which only the kernel treats as a file.
[[nodiscard]] inline bool isAnonymousHuge(const kernel::Vma& vma) noexcept {
    return vma.flags.has(kernel::VmFlag::HugeTlb) && !vma.shared && vma.name == kAnonymousHugeName;
}

/// Throws Error "memory at ADDRESS maps WHAT, which can't be dumped".
[[noreturn]] void refuseMapping(const kernel::Vma& vma, std::string_view what, std::string_view hint = {});

/// Calls mmap(2) for a file from the entry's offset on, or for anonymous memory (-1). Returns the protection. Throws
/// Error.
int mapFile(const WantedMapping& wanted, int fd, std::uint64_t offset);

}  // namespace criu::memory
