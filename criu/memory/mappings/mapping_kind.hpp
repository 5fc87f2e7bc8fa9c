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

/// Mapping kinds, such as anonymous memory, a file, a segment, or a ring shared with the kernel. Each mapping kind is
/// one object in mapping_NAME.cpp with a dump half and a restore half; mappingKinds() lists all objects.
namespace criu::memory {

/// State of the dump of one process' mappings. The dump halves of mapping kinds use it.
class MappingDump {
public:
    /// Both arguments must outlive this object.
    MappingDump(const VmaDumpRules& rules, MappedFileDump& files) : rules_(rules), files_(files) {}

    [[nodiscard]] const VmaDumpRules& rules() const noexcept { return rules_; }
    [[nodiscard]] MappedFileDump& files() noexcept { return files_; }

    /// Do the same as these functions of files(), but call files() only once for each file.
    [[nodiscard]] bool isPlain(const kernel::Vma& vma);
    [[nodiscard]] FileId fileFor(const kernel::Vma& vma);
    [[nodiscard]] FileId segmentFor(const kernel::Vma& vma);
    /// Sets entry.fdflags to the access mode of the mapped open file description.
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

/// Stage of a restore in which criu creates a mapping.
enum class MapStage {
    Memory,       ///< before content is filled and before children are created
    Files,        ///< when the files of the process are open
    Descriptors,  ///< when descriptors have their final numbers; criu reserves the addresses until then
    Program,    ///< in the restorer's program, after criu's memory is unmapped; criu reserves the addresses until then
    Elsewhere,  ///< not by the class MappingKind: the kernel or other code creates it, or the entry isn't a mapping
};

/// Mapping that MappingKind::map() creates in the calling process.
struct WantedMapping {
    const VmaEntry& vma;
    std::uint64_t at = 0;
    int protection = 0;  ///< protection with which the mapping is created
    int flags = 0;       ///< flags of mmap(2), including MAP_FIXED or MAP_FIXED_NOREPLACE

    [[nodiscard]] std::uint64_t size() const noexcept { return vma.end - vma.start; }
};

class MappingKind {
public:
    virtual ~MappingKind() = default;
    MappingKind(const MappingKind&) = delete;
    MappingKind& operator=(const MappingKind&) = delete;

    // Functions for a dump

    /// Returns true if a mapping of a process is of this kind. criu calls claims() of the kinds in the order of
    /// mappingKinds(), until one returns true.
    [[nodiscard]] virtual bool claims(const kernel::Vma& vma, MappingDump& dump) const = 0;
    /// Returns true if images omit the mapping. Throws Error if the user's options don't allow the omission.
    [[nodiscard]] virtual bool leavesOut(const kernel::Vma&, MappingDump&) const { return false; }
    /// Returns true if the mapping gets no entry of its own, because it extends the entry `before`.
    [[nodiscard]] virtual bool continues(const VmaEntry& /*before*/, const kernel::Vma&) const { return false; }
    /// Sets the fields of `entry` that depend on the kind. The caller has set addresses, protection and flags. Throws
    /// Error if criu can't dump the mapping.
    virtual void describe(const kernel::Vma& vma, VmaEntry& entry, MappingDump& dump) const = 0;

    // Functions for a restore

    /// Returns true if an image entry is of this kind. criu calls isOf() of the kinds in list order until one returns
    /// true.
    [[nodiscard]] virtual bool isOf(const VmaEntry& entry) const = 0;
    [[nodiscard]] virtual MapStage stage() const noexcept { return MapStage::Memory; }
    /// Creates the mapping in the calling process. criu calls it for mappings of the stages Memory, Files and
    /// Descriptors. Returns the protection of the new mapping. Throws Error.
    virtual int map(const WantedMapping& wanted, FileCache& files) const = 0;

protected:
    MappingKind() = default;
};

/// Returns all kinds in list order. The last kind claims every mapping.
[[nodiscard]] std::span<const MappingKind* const> mappingKinds();

/// Returns the kind of a process' mapping.
[[nodiscard]] const MappingKind& mappingKindOf(const kernel::Vma& vma, MappingDump& dump);
/// Returns the kind of an image entry.
[[nodiscard]] const MappingKind& mappingKindOf(const VmaEntry& entry);

// Constants and functions that several kinds use

/// Name of an io_uring's mapping in /proc/PID/maps.
inline constexpr std::string_view kIoUringName = "anon_inode:[io_uring]";
/// Name of anonymous memory of huge pages in /proc/PID/maps, shared or private.
inline constexpr std::string_view kAnonymousHugeName = "/anon_hugepage (deleted)";
/// Bits of mmap(2) flags for the huge page size (MAP_HUGE_MASK << MAP_HUGE_SHIFT).
inline constexpr std::uint32_t kHugeSizeMask = 0x3fU << 26;

[[nodiscard]] inline bool isWithoutFile(const kernel::Vma& vma) noexcept {
    return vma.inode == 0 && vma.devMajor == 0 && vma.devMinor == 0;
}
/// Returns true for private anonymous memory of huge pages. /proc/PID/maps shows a file name for it, because the kernel
/// implements it by a file.
[[nodiscard]] inline bool isAnonymousHuge(const kernel::Vma& vma) noexcept {
    return vma.flags.has(kernel::VmFlag::HugeTlb) && !vma.shared && vma.name == kAnonymousHugeName;
}

/// Returns true if no other process shares a page of the mapping. Returns false if criu can't determine this: the
/// kernel doesn't report the sharing of swapped pages, and counts hugetlbfs pages in other fields of smaps.
[[nodiscard]] bool isExclusive(const kernel::Vma& vma) noexcept;

/// Throws Error "memory at ADDRESS maps WHAT, which can't be dumped".
[[noreturn]] void refuseMapping(const kernel::Vma& vma, std::string_view what, std::string_view hint = {});

/// Calls mmap(2) for a file, or for anonymous memory if `fd` is -1. Returns the protection. Throws Error.
int mapFile(const WantedMapping& wanted, int fd, std::uint64_t offset);

}  // namespace criu::memory
