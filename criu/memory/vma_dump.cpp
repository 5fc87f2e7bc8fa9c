// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/vma_dump.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <bit>
#include <map>
#include <tuple>

#include "criu/base/error.hpp"
#include "criu/kernel/io_uring.hpp"
#include "criu/memory/aio_ring.hpp"
#include "criu/memory/sysv_shm.hpp"
#include "images/mm.hpp"

namespace criu::memory {
namespace {

using kernel::Vma;
using kernel::VmFlag;

constexpr std::uint32_t kMapDroppable = 0x08;  // MAP_DROPPABLE (6.11)
constexpr unsigned kHugeShift = 26;            // MAP_HUGE_SHIFT
constexpr std::string_view kAnonymousHuge = "/anon_hugepage (deleted)";

/// mmap's flags that VmFlags tell of.
constexpr std::pair<VmFlag, std::uint32_t> kMapFlags[] = {
    {VmFlag::GrowsDown, MAP_GROWSDOWN},
    {VmFlag::Locked, MAP_LOCKED},
    {VmFlag::NoReserve, MAP_NORESERVE},
    {VmFlag::HugeTlb, MAP_HUGETLB},
};

/// Advice that lasts, and that VmFlags tell of.
constexpr std::pair<VmFlag, int> kAdvice[] = {
    {VmFlag::SequentialRead, MADV_SEQUENTIAL}, {VmFlag::RandomRead, MADV_RANDOM},     {VmFlag::DontCopy, MADV_DONTFORK},
    {VmFlag::DontDump, MADV_DONTDUMP},         {VmFlag::Mergeable, MADV_MERGEABLE},   {VmFlag::HugePage, MADV_HUGEPAGE},
    {VmFlag::NoHugePage, MADV_NOHUGEPAGE},     {VmFlag::WipeOnFork, MADV_WIPEONFORK},
};

[[noreturn]] void refuse(const Vma& vma, std::string_view what, std::string_view hint = {}) {
    Error error(0, fmt::format("memory at {:#x} maps {}{}{}, which can't be dumped", vma.start, what,
                               vma.name.empty() ? "" : ": ", vma.name));
    if (!hint.empty())
        error.addHint(hint);
    throw error;
}

constexpr std::string_view kIoUring = "anon_inode:[io_uring]";

bool isVdsoData(const Vma& vma) {
    return vma.name.starts_with("[vvar");
}

class Converter {
public:
    Converter(const VmaDumpRules& rules, MappedFileDump& files, Arena& arena)
        : rules_(rules), files_(files), arena_(arena) {}

    void add(const Vma& vma) {
        if (vma.name == "[uprobes]") {
            if (!rules_.allowUprobes)
                refuse(vma, "the kernel's user-space probes", "dump with --allow-uprobes to leave them out");
            out_.uprobes = true;
            return;
        }
        if (isVdsoData(vma) && continuesVdsoData(vma)) {
            out_.vmas.back().entry->end = vma.end;
            return;
        }
        VmaEntry& entry = *arena_.make<VmaEntry>();
        entry.start = vma.start;
        entry.end = vma.end;
        entry.pgoff = vma.pgoff;
        entry.prot = static_cast<std::uint32_t>(vma.prot);
        entry.flags = vma.shared ? MAP_SHARED : MAP_PRIVATE;
        entry.fd = -1;
        addFlags(vma, entry);
        classify(vma, entry);
        out_.vmas.push_back({&entry, &vma});
    }

    DumpedMemory take() { return std::move(out_); }

private:
    /// One entry stands for all data mappings of the vDSO: kernels differ in how many there are.
    [[nodiscard]] bool continuesVdsoData(const Vma& vma) const {
        if (out_.vmas.empty() || !is(*out_.vmas.back().entry, VmaStatus::Vvar))
            return false;
        return out_.vmas.back().entry->end == vma.start;
    }

    static void addFlags(const Vma& vma, VmaEntry& entry) {
        for (const auto& [flag, value] : kMapFlags)
            if (vma.flags.has(flag))
                entry.flags |= value;
        if (vma.flags.has(VmFlag::LockOnFault)) {
            entry.has_lock_on_fault = 1;
            entry.lock_on_fault = 1;
        }
        if (vma.flags.has(VmFlag::Droppable))
            entry.flags = (entry.flags & ~static_cast<std::uint32_t>(MAP_TYPE)) | kMapDroppable;
        if (vma.flags.has(VmFlag::HugeTlb))
            entry.flags |= static_cast<std::uint32_t>(std::countr_zero(vma.kernelPageSize)) << kHugeShift;
        for (const auto& [flag, advice] : kAdvice)
            if (vma.flags.has(flag))
                entry.madv |= std::uint64_t{1} << advice;
        entry.has_madv = entry.madv != 0;
    }

    void classify(const Vma& vma, VmaEntry& entry) {
        const std::uint32_t anonymous = VmaStatus::Regular | VmaStatus::AnonPrivate;
        if (vma.name == "[vsyscall]" || vma.name == "[vdso]" || isVdsoData(vma)) {
            entry.flags |= MAP_ANONYMOUS;
            entry.pgoff = 0;
            if (vma.name == "[vsyscall]")
                entry.status = VmaStatus::Vsyscall | VmaStatus::AnonPrivate;
            else
                entry.status = anonymous | bit(isVdsoData(vma) ? VmaStatus::Vvar : VmaStatus::Vdso);
            return;
        }
        refuseUnknown(vma);
        if (isAioRing(vma.name)) {
            setAccess(vma, entry);
            entry.status = bit(VmaStatus::AioRing);
            return;
        }
        if (vma.inode == 0 && vma.devMajor == 0 && vma.devMinor == 0) {
            if (vma.flags.has(VmFlag::Io) || vma.flags.has(VmFlag::PfnMap))
                return classifyDevice(vma, entry);
            entry.flags |= MAP_ANONYMOUS;
            entry.status = anonymous | (vma.name == "[heap]" ? bit(VmaStatus::Heap) : 0);
            return;
        }
        if (vma.name.starts_with("socket:["))
            return classifySocket(vma, entry);
        if (vma.name == kIoUring)
            return classifyIoUring(vma, entry);
        classifyFile(vma, entry);
    }

    /// The rings of packet sockets. What is in them is between the program and the kernel, which begins anew.
    void classifySocket(const Vma& vma, VmaEntry& entry) {
        const FileId socket = files_.socketFor(vma);
        if (socket == FileId{})
            refuse(vma, "mapped from a socket that isn't an open packet socket");
        entry.status = VmaStatus::Regular | VmaStatus::Socket;
        entry.shmid = socket.value;
    }

    /// What is in them goes with the open file.
    void classifyIoUring(const Vma& vma, VmaEntry& entry) {
        const FileId ring = files_.ioUringFor(vma);
        if (ring == FileId{})
            refuse(vma, "mapped from an io_uring that is no descriptor any more");
        if (!vma.shared ||
            (vma.pgoff != 0 && vma.pgoff != kernel::kIoUringAlsoRings && vma.pgoff != kernel::kIoUringRequests))
            refuse(vma, "a part of an io_uring");
        entry.status = VmaStatus::Regular | VmaStatus::IoUring;
        entry.shmid = ring.value;
    }

    static void refuseUnknown(const Vma& vma) {
        if (vma.flags.has(VmFlag::UffdMissing) || vma.flags.has(VmFlag::UffdWriteProtect) ||
            vma.flags.has(VmFlag::UffdMinor))
            refuse(vma, "an area whose faults a userfaultfd handles");
        if (vma.flags.has(VmFlag::ShadowStack))
            refuse(vma, "a shadow stack");
        if (vma.name.starts_with("anon_inode:") && vma.name != kIoUring)
            refuse(vma, "an object without a path");
    }

    [[nodiscard]] bool onKernelTmpfs(const Vma& vma) const {
        return vma.devMajor == rules_.shmemMajor && vma.devMinor == rules_.shmemMinor;
    }

    /// Memory that is a file to the kernel only.
    [[nodiscard]] bool isSegment(const Vma& vma) const {
        if (onKernelTmpfs(vma))
            return true;
        return vma.flags.has(VmFlag::HugeTlb) &&
               (vma.name.starts_with("/memfd:") || (vma.shared && vma.name == kAnonymousHuge));
    }

    void classifyFile(const Vma& vma, VmaEntry& entry) {
        const bool huge = vma.flags.has(VmFlag::HugeTlb);
        entry.status = bit(VmaStatus::Regular);
        if ((huge || onKernelTmpfs(vma)) && isSysvShm(vma.name)) {
            setAccess(vma, entry);
            entry.status |= VmaStatus::AnonShared | VmaStatus::SysvIpc;
            entry.shmid = vma.inode;
            return;
        }
        if (huge && !vma.shared && vma.name == kAnonymousHuge) {
            setAccess(vma, entry);
            entry.flags |= MAP_ANONYMOUS;
            entry.status |= bit(VmaStatus::AnonPrivate);
            return;
        }
        const bool segment = isSegment(vma);
        // A file system of huge pages has one page size.
        if (!segment)
            entry.flags &= ~(0x3fU << kHugeShift);
        const Known& file = known(vma, segment);
        if (!file.plain || vma.flags.has(VmFlag::Io) || vma.flags.has(VmFlag::PfnMap))
            return classifyDevice(vma, entry);
        setAccess(vma, entry);
        entry.status |= bit(vma.shared ? VmaStatus::FileShared : VmaStatus::FilePrivate);
        if (segment)
            entry.status |= bit(VmaStatus::Memfd);
        entry.shmid = file.id.value;
    }

    void classifyDevice(const Vma& vma, VmaEntry& entry) {
        FileId file;
        if (!files_.claimsDevice(vma, file))
            refuse(vma, "the memory of a device");
        if (!vma.shared)
            refuse(vma, "private copies of the memory of a device");
        setAccess(vma, entry);
        entry.status = VmaStatus::Regular | VmaStatus::Plugin;
        entry.status |= bit(VmaStatus::FileShared);
        entry.shmid = file.value;
    }

    void setAccess(const Vma& vma, VmaEntry& entry) {
        entry.has_fdflags = 1;
        entry.fdflags = static_cast<std::uint32_t>(files_.accessOf(vma));
    }

    struct Known {
        FileId id;
        bool plain = false;
    };

    /// What was learnt from the first mapping of a file holds for the others.
    const Known& known(const Vma& vma, bool segment) {
        const auto [at, fresh] = known_.try_emplace({vma.devMajor, vma.devMinor, vma.inode, vma.name});
        Known& file = at->second;
        if (fresh) {
            const ErrorContext context([&] { return fmt::format("memory at {:#x}", vma.start); });
            file.plain = segment || files_.isPlain(vma);
            if (file.plain)
                file.id = segment ? files_.segmentFor(vma) : files_.fileFor(vma);
        }
        return file;
    }

    const VmaDumpRules& rules_;
    MappedFileDump& files_;
    Arena& arena_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::string_view>, Known> known_;
    DumpedMemory out_;
};

}  // namespace

DumpedMemory dumpVmas(std::span<const Vma> vmas, const VmaDumpRules& rules, MappedFileDump& files, Arena& arena) {
    Converter converter(rules, files, arena);
    for (const Vma& vma : vmas)
        converter.add(vma);
    return converter.take();
}

void DumpedMemory::fill(MmEntry& mm, Arena& arena) const {
    mm.n_vmas = vmas.size();
    mm.vmas = arena.array<VmaEntry*>(vmas.size());
    for (std::size_t at = 0; at < vmas.size(); ++at)
        mm.vmas[at] = vmas[at].entry;
}

}  // namespace criu::memory
