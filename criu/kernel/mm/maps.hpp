// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/mapping.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// Flags of "VmFlags:" in smaps (Documentation/filesystems/proc.rst).
enum class VmFlag : std::uint8_t {
    Read,              // rd
    Write,             // wr
    Exec,              // ex
    Shared,            // sh
    MayRead,           // mr
    MayWrite,          // mw
    MayExec,           // me
    MayShare,          // ms
    GrowsDown,         // gd  stack segment
    PfnMap,            // pf  page frames without struct page
    DenyWrite,         // dw  removed in Linux 5.15
    Locked,            // lo
    Io,                // io  memory-mapped device registers
    SequentialRead,    // sr  MADV_SEQUENTIAL
    RandomRead,        // rr  MADV_RANDOM
    DontCopy,          // dc  MADV_DONTFORK
    DontExpand,        // de
    LockOnFault,       // lf
    Accountable,       // ac
    NoReserve,         // nr
    HugeTlb,           // ht
    Sync,              // sf  MAP_SYNC
    NonLinear,         // nl  removed in Linux 4.0
    ArchSpecific,      // ar
    WipeOnFork,        // wf  MADV_WIPEONFORK
    DontDump,          // dd  MADV_DONTDUMP
    SoftDirty,         // sd
    MixedMap,          // mm  both pages with and without struct page
    HugePage,          // hg  MADV_HUGEPAGE
    NoHugePage,        // nh  MADV_NOHUGEPAGE
    Mergeable,         // mg  MADV_MERGEABLE
    MemoryTagging,     // mt  arm64
    UffdMissing,       // um  userfaultfd missing mode
    UffdWriteProtect,  // uw  userfaultfd WP mode
    UffdMinor,         // ui  userfaultfd minor mode
    ShadowStack,       // ss
    Sealed,            // sl  mseal(2)
    Droppable,         // dp  MAP_DROPPABLE
    BranchTargets,     // bt  PROT_BTI of arm64
    MayHaveGuard,      // gu  guard regions were installed (Linux 6.19)
    Unknown,           // any mnemonic that this enumeration lacks
};

/// Set of VmFlag.
class VmFlags {
public:
    constexpr VmFlags() noexcept = default;
    constexpr VmFlags(std::initializer_list<VmFlag> flags) noexcept {
        for (const VmFlag flag : flags)
            set(flag);
    }
    constexpr void set(VmFlag flag) noexcept { bits_ |= bit(flag); }
    constexpr void add(VmFlags others) noexcept { bits_ |= others.bits_; }
    constexpr void clear(VmFlag flag) noexcept { bits_ &= ~bit(flag); }
    [[nodiscard]] constexpr bool has(VmFlag flag) const noexcept { return (bits_ & bit(flag)) != 0; }
    [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
    friend constexpr bool operator==(VmFlags, VmFlags) noexcept = default;

private:
    static constexpr std::uint64_t bit(VmFlag flag) noexcept { return std::uint64_t{1} << static_cast<unsigned>(flag); }
    std::uint64_t bits_ = 0;
};

/// Mapping as a line of /proc/PID/maps shows it (proc_pid_maps(5)). Some fields have values only if criu has read
/// smaps.
struct Vma {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    /// PROT_READ | PROT_WRITE | PROT_EXEC.
    int prot = 0;
    bool shared = false;
    /// True if `name` ends with " (deleted)". The file may exist even then, because its name may end in this way.
    bool deleted = false;
    /// File offset in bytes.
    std::uint64_t pgoff = 0;
    /// Device of the superblock. On btrfs and overlayfs, stat(2) shows another device. Device 0:0 with inode 0 means
    /// that the mapping has no file.
    std::uint32_t devMajor = 0;
    std::uint32_t devMinor = 0;
    std::uint64_t inode = 0;
    /// Path of the file, or a name in brackets ("[heap]", "[anon:…]"); empty if the kernel shows no name. criu decodes
    /// escaped newlines. It doesn't remove " (deleted)". The kernel doesn't escape backslashes here, so that criu
    /// misreads a path that contains the four characters \012.
    std::string name;

    /// Fields of smaps. All sizes are in bytes.
    VmFlags flags;
    std::uint64_t kernelPageSize = 0;
    std::uint64_t rss = 0;
    std::uint64_t inCommon = 0;  ///< part of `rss` that other mappings share
    std::uint64_t anonymous = 0;
    std::uint64_t swap = 0;
    std::uint64_t locked = 0;

    /// Access mode of the mapped open file description: O_RDONLY or O_RDWR; -1 if criu hasn't read it.
    int access = -1;

    [[nodiscard]] std::uint64_t size() const noexcept { return end - start; }
    /// Returns the bytes of private pages of the process, in memory and in swap.
    [[nodiscard]] std::uint64_t privateBytes() const noexcept { return anonymous + swap; }
};

/// Returns true if the mapping is private, has no file, and isn't a kernel area such as the vDSO.
[[nodiscard]] bool isAnonymous(const Vma& vma) noexcept;

/// Parser of maps or smaps, which gets the text in pieces.
class MapsParser {
public:
    /// Parses the next piece. Each piece except the last must end with a newline. Throws Error on a malformed line.
    void feed(std::string_view text);
    [[nodiscard]] std::vector<Vma> take() noexcept { return std::move(vmas_); }

private:
    void header(std::string_view line);
    void field(std::string_view line);

    std::vector<Vma> vmas_;
};

/// File system of a mapped file, and the address range of one mapping of this file.
struct MappedFileSystem {
    dev_t device = 0;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
};

/// Returns the file systems of mapped files, each once. `text`: content of maps. Faster than parseMaps(). Throws Error
/// on a malformed line.
[[nodiscard]] std::vector<MappedFileSystem> parseMappedFileSystems(std::string_view text);

/// Parses maps or smaps.
[[nodiscard]] std::vector<Vma> parseMaps(std::string_view text);

/// Reads maps or smaps. Costs on Linux 6.18 (Firecracker guest, warm caches):
/// - maps takes 0.45 us per mapping, because the kernel doesn't read page tables for it.
/// - smaps takes 2.8 us per mapping, plus 8 ms per GiB of present 4 KiB pages, because the kernel walks all page
///   tables. PAGEMAP_SCAN takes as long.
/// - ioctl(PROCMAP_QUERY) (Linux 6.11) takes 0.6 us per mapping and doesn't return VmFlags. So it can't replace either
///   file.
///
/// Of these files, only smaps contains VmFlags, so a dump reads smaps once. Dumps with --background read smaps of a
/// stopped clone where they can, and dumps of large processes use VmaFlagReader. All other code reads maps.
[[nodiscard]] std::vector<Vma> readMaps(const ProcPid& process);
[[nodiscard]] std::vector<Vma> readSmaps(const ProcPid& process);

}  // namespace criu::kernel
