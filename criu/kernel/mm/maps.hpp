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
    Unknown,           // mnemonic that this list lacks
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
    constexpr void clear(VmFlag flag) noexcept { bits_ &= ~bit(flag); }
    [[nodiscard]] constexpr bool has(VmFlag flag) const noexcept { return (bits_ & bit(flag)) != 0; }
    [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
    friend constexpr bool operator==(VmFlags, VmFlags) noexcept = default;

private:
    static constexpr std::uint64_t bit(VmFlag flag) noexcept { return std::uint64_t{1} << static_cast<unsigned>(flag); }
    std::uint64_t bits_ = 0;
};

/// Mapping as /proc/PID/maps shows it (proc_pid_maps(5)), with more fields if smaps was read.
struct Vma {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    /// PROT_READ | PROT_WRITE | PROT_EXEC.
    int prot = 0;
    bool shared = false;
    /// True if `name` ends in " (deleted)". The name of an existing file may also end so.
    bool deleted = false;
    /// File offset in bytes.
    std::uint64_t pgoff = 0;
    /// Device of the superblock, which differs from stat(2) on btrfs and overlayfs. 0:0 with inode 0 means no file.
    std::uint32_t devMajor = 0;
    std::uint32_t devMinor = 0;
    std::uint64_t inode = 0;
    /// Path, or a name in brackets ("[heap]", "[anon:…]"); empty for none. Newlines are decoded, " (deleted)" is
    /// kept. The kernel doesn't escape backslashes here, so a name that contains the four characters \012 is misread.
    std::string name;

    /// Fields from smaps only. All but kernelPageSize are bytes of memory.
    VmFlags flags;
    std::uint64_t kernelPageSize = 0;
    std::uint64_t rss = 0;
    std::uint64_t inCommon = 0;  ///< part of rss that other mappings share
    std::uint64_t anonymous = 0;
    std::uint64_t swap = 0;
    std::uint64_t locked = 0;

    [[nodiscard]] std::uint64_t size() const noexcept { return end - start; }
};

/// Returns true if a mapping is private, has no file and isn't a kernel area such as the vDSO.
[[nodiscard]] bool isAnonymous(const Vma& vma) noexcept;

/// Incremental parser of maps or smaps.
class MapsParser {
public:
    /// `text` must end at a line's end, except the last piece. Throws Error on a malformed line.
    void feed(std::string_view text);
    [[nodiscard]] std::vector<Vma> take() noexcept { return std::move(vmas_); }

private:
    void header(std::string_view line);
    void field(std::string_view line);

    std::vector<Vma> vmas_;
};

/// File system of a mapped file, with the range of one such mapping.
struct MappedFileSystem {
    dev_t device = 0;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
};

/// Returns each file system once, from the text of maps; faster than parseMaps(). Throws Error on a malformed line.
[[nodiscard]] std::vector<MappedFileSystem> parseMappedFileSystems(std::string_view text);

/// Parses maps or smaps.
[[nodiscard]] std::vector<Vma> parseMaps(std::string_view text);

/// Costs measured on Linux 6.18 (Firecracker guest, warm):
/// - maps doesn't read page tables: 0.45 us per mapping.
/// - smaps alone has VmFlags. It prints 1 KiB per mapping and walks all page tables: 2.8 us per mapping plus 8 ms per
/// GiB of present 4 KiB pages (33 ms for 4 GiB; PAGEMAP_SCAN takes as long).
/// - ioctl(PROCMAP_QUERY) (Linux 6.11) takes 0.6 us per mapping and lacks VmFlags, so it can't replace either file.
/// A dump reads smaps once, because it needs VmFlags (madvise state, locked, device memory). Other code reads maps.
[[nodiscard]] std::vector<Vma> readMaps(const ProcPid& process);
[[nodiscard]] std::vector<Vma> readSmaps(const ProcPid& process);

}  // namespace criu::kernel
