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

/// What a mapping is of: nothing, a file, a segment of shared memory, a ring that a process shares with the kernel …
/// One object a kind, in a file of its own (mapping_NAME.cpp), with its dump half and its restore half; mappingKinds()
/// lists them. Where their pages are stored is no matter of theirs.
namespace criu::memory {

/// What kinds ask of a dump. One for each process.
class MappingDump {
public:
    /// Both outlive this object.
    MappingDump(const VmaDumpRules& rules, MappedFileDump& files) : rules_(rules), files_(files) {}

    [[nodiscard]] const VmaDumpRules& rules() const noexcept { return rules_; }
    [[nodiscard]] MappedFileDump& files() noexcept { return files_; }

    /// The answers of files(), asked once for each file.
    [[nodiscard]] bool isPlain(const kernel::Vma& vma);
    [[nodiscard]] FileId fileFor(const kernel::Vma& vma);
    [[nodiscard]] FileId segmentFor(const kernel::Vma& vma);
    /// Notes how the description that was mapped had been opened.
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

/// When a mapping is made in a process that is being restored.
enum class MapStage {
    Memory,       ///< at once: before its content and before children
    Files,        ///< when the process' files are open
    Descriptors,  ///< when files are at their descriptors' numbers; until then its place is reserved
    Program,      ///< by the restorer's program, when no memory of criu's is left; until then its place is reserved
    Elsewhere,    ///< somewhere else: it is the kernel's own, or an entry that isn't a mapping
};

/// A mapping to be made.
struct WantedMapping {
    const VmaEntry& vma;
    std::uint64_t at = 0;
    int protection = 0;  ///< what it is to have while content is written
    int flags = 0;       ///< mmap(2)'s, those that say where included

    [[nodiscard]] std::uint64_t size() const noexcept { return vma.end - vma.start; }
};

class MappingKind {
public:
    virtual ~MappingKind() = default;
    MappingKind(const MappingKind&) = delete;
    MappingKind& operator=(const MappingKind&) = delete;

    // Dump

    /// Whether a mapping of a process is of this kind. Asked in the order of the list, until one says so.
    [[nodiscard]] virtual bool claims(const kernel::Vma& vma, MappingDump& dump) const = 0;
    /// Whether it is left out of the images. Throws Error if that isn't wanted.
    [[nodiscard]] virtual bool leavesOut(const kernel::Vma&, MappingDump&) const { return false; }
    /// Whether it is stored as a continuation of the mapping before it.
    [[nodiscard]] virtual bool continues(const VmaEntry& /*before*/, const kernel::Vma&) const { return false; }
    /// Sets what the entry says of the kind; addresses, protection and flags are there. Throws Error if a mapping can't
    /// be dumped.
    virtual void describe(const kernel::Vma& vma, VmaEntry& entry, MappingDump& dump) const = 0;

    // Restore

    /// Whether an entry of images is of this kind. Asked in the order of the list, until one says so.
    [[nodiscard]] virtual bool isOf(const VmaEntry& entry) const = 0;
    [[nodiscard]] virtual MapStage stage() const noexcept { return MapStage::Memory; }
    /// Makes the mapping in the calling process, at its stage if that is Memory, Files or Descriptors. Returns the
    /// protection that it has. Throws Error.
    virtual int map(const WantedMapping& wanted, FileCache& files) const = 0;

protected:
    MappingKind() = default;
};

/// All kinds, the catch-all last.
[[nodiscard]] std::span<const MappingKind* const> mappingKinds();

/// The one place that says what a mapping of a process is.
[[nodiscard]] const MappingKind& mappingKindOf(const kernel::Vma& vma, MappingDump& dump);
/// The one place that says what an entry of images stands for.
[[nodiscard]] const MappingKind& mappingKindOf(const VmaEntry& entry);

// What several kinds have to tell apart.

/// The name of a mapped io_uring.
inline constexpr std::string_view kIoUringName = "anon_inode:[io_uring]";
/// The name of memory of huge pages that isn't a file's, shared or private.
inline constexpr std::string_view kAnonymousHugeName = "/anon_hugepage (deleted)";
/// Bits of mmap's flags that say how large huge pages are (MAP_HUGE_MASK << MAP_HUGE_SHIFT).
inline constexpr std::uint32_t kHugeSizeMask = 0x3fU << 26;

[[nodiscard]] inline bool isWithoutFile(const kernel::Vma& vma) noexcept {
    return vma.inode == 0 && vma.devMajor == 0 && vma.devMinor == 0;
}
/// Private memory of huge pages: a file to the kernel only.
[[nodiscard]] inline bool isAnonymousHuge(const kernel::Vma& vma) noexcept {
    return vma.flags.has(kernel::VmFlag::HugeTlb) && !vma.shared && vma.name == kAnonymousHugeName;
}

/// "memory at ADDRESS maps WHAT, which can't be dumped".
[[noreturn]] void refuseMapping(const kernel::Vma& vma, std::string_view what, std::string_view hint = {});

/// mmap(2) of a file from the entry's offset on, or of nothing (-1). Returns the protection. Throws Error.
int mapFile(const WantedMapping& wanted, int fd, std::uint64_t offset);

}  // namespace criu::memory
