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

/// What a mnemonic of smaps' "VmFlags:" stands for (Documentation/filesystems/proc.rst).
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
    DenyWrite,         // dw  (before 6.x)
    Locked,            // lo
    Io,                // io  memory-mapped device
    SequentialRead,    // sr  MADV_SEQUENTIAL
    RandomRead,        // rr  MADV_RANDOM
    DontCopy,          // dc  MADV_DONTFORK
    DontExpand,        // de
    LockOnFault,       // lf
    Accountable,       // ac
    NoReserve,         // nr
    HugeTlb,           // ht
    Sync,              // sf  MAP_SYNC
    NonLinear,         // nl  (before 4.0)
    ArchSpecific,      // ar
    WipeOnFork,        // wf  MADV_WIPEONFORK
    DontDump,          // dd  MADV_DONTDUMP
    SoftDirty,         // sd
    MixedMap,          // mm
    HugePage,          // hg  MADV_HUGEPAGE
    NoHugePage,        // nh  MADV_NOHUGEPAGE
    Mergeable,         // mg  MADV_MERGEABLE
    MemoryTagging,     // mt  arm64
    UffdMissing,       // um
    UffdWriteProtect,  // uw
    UffdMinor,         // ui
    ShadowStack,       // ss
    Sealed,            // sl  mseal(2)
    Droppable,         // dp  MAP_DROPPABLE
    GuardedControl,    // bt  arm64 BTI guarded page
    MayHaveGuard,      // gu  guard regions were installed (6.19)
    Unknown,           // some mnemonic not in this list
};

/// A set of VmFlag.
class VmFlags {
public:
    constexpr VmFlags() noexcept = default;
    constexpr VmFlags(std::initializer_list<VmFlag> flags) noexcept {
        for (const VmFlag flag : flags)
            set(flag);
    }
    constexpr void set(VmFlag flag) noexcept { bits_ |= bit(flag); }
    constexpr void clear(VmFlag flag) noexcept { bits_ &= ~bit(flag); }
    [[nodiscard]] constexpr bool has(VmFlag flag) const noexcept { return (bits_ & bit(flag)) != 0; }
    [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
    friend constexpr bool operator==(VmFlags, VmFlags) noexcept = default;

private:
    static constexpr std::uint64_t bit(VmFlag flag) noexcept { return std::uint64_t{1} << static_cast<unsigned>(flag); }
    std::uint64_t bits_ = 0;
};

/// One mapping as /proc/PID/maps shows it (proc_pid_maps(5)); with the further fields of smaps if that was read.
struct Vma {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    /// PROT_READ | PROT_WRITE | PROT_EXEC.
    int prot = 0;
    bool shared = false;
    /// `name` ends in " (deleted)". A file may also just be called so.
    bool deleted = false;
    /// Bytes into the file.
    std::uint64_t pgoff = 0;
    /// The superblock's device: on btrfs and overlayfs not what stat(2) shows. 0:0 and inode 0 mean no file.
    std::uint32_t devMajor = 0;
    std::uint32_t devMinor = 0;
    std::uint64_t inode = 0;
    /// Path or a name in brackets ("[heap]", "[anon:…]"), newlines decoded, " (deleted)" kept; empty for none.
    /// The kernel doesn't escape backslashes here: a name that has the four characters \012 in it is misread.
    std::string name;

    /// From smaps only; all but kernelPageSize in bytes of memory.
    VmFlags flags;
    std::uint64_t kernelPageSize = 0;
    std::uint64_t rss = 0;
    std::uint64_t inCommon = 0;  ///< of rss: what other mappings have, too
    std::uint64_t anonymous = 0;
    std::uint64_t swap = 0;
    std::uint64_t locked = 0;

    [[nodiscard]] std::uint64_t size() const noexcept { return end - start; }
};

/// Whether a mapping is private and has no file, nor is one of the kernel's own areas.
[[nodiscard]] bool isAnonymous(const Vma& vma) noexcept;

/// Takes the lines of maps or smaps, in pieces of any size.
class MapsParser {
public:
    /// `text` must end at the end of a line, unless it's the last. Throws Error on a malformed line.
    void feed(std::string_view text);
    [[nodiscard]] std::vector<Vma> take() noexcept { return std::move(vmas_); }

private:
    void header(std::string_view line);
    void field(std::string_view line);

    std::vector<Vma> vmas_;
};

/// A file system that a process has mapped files of, and one of these mappings.
struct MappedFileSystem {
    dev_t device = 0;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
};

/// Each once, of the text of maps; less work than parseMaps(). Throws Error on a malformed line.
[[nodiscard]] std::vector<MappedFileSystem> parseMappedFileSystems(std::string_view text);

/// Both for maps and smaps.
[[nodiscard]] std::vector<Vma> parseMaps(std::string_view text);

/// Costs, measured on Linux 6.18 (Firecracker guest, warm):
///  - maps doesn't look at page tables: 0.45 us per mapping.
///  - smaps is the only source of VmFlags. It makes 1 KiB of text per mapping and visits every page table entry: 2.8 us
///  per
///    mapping plus 8 ms per GiB of present 4 KiB pages (33 ms for 4 GiB; PAGEMAP_SCAN of the same takes as long).
///  - ioctl(PROCMAP_QUERY) (6.11) takes 0.6 us per mapping, and has no VmFlags: of no use for walking all mappings.
/// A dump needs VmFlags (madvise state, locked, device memory), so it reads smaps, once; everything else uses maps.
[[nodiscard]] std::vector<Vma> readMaps(const ProcPid& process);
[[nodiscard]] std::vector<Vma> readSmaps(const ProcPid& process);

}  // namespace criu::kernel
