// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/address_space.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "criu/base/error.hpp"
#include "criu/base/mapping.hpp"
#include "criu/memory/aio_ring.hpp"
#include "criu/memory/own_mappings.hpp"
#include "criu/memory/sysv_shm.hpp"
#include "criu/memory/vma_pages.hpp"
#include "images/mm.hpp"

namespace criu::memory {
namespace {

/// Nobody may map anything below (mmap_min_addr is 0 or this, as good as everywhere).
constexpr std::uint64_t kLowestFilled = 65536;

constexpr int kGuardInstall = 102;  // MADV_GUARD_INSTALL (6.13)
constexpr unsigned kMaxAdvice = 63;

/// Temporary places start here: far from what programs and libraries use.
constexpr std::uint64_t kScratchBase = 0x100000000;

bool isSpecial(const VmaEntry& vma) {
    return is(vma, VmaStatus::Vdso) || is(vma, VmaStatus::Vvar) || is(vma, VmaStatus::Vsyscall) ||
           is(vma, VmaStatus::Uprobes) || is(vma, VmaStatus::Guard) || is(vma, VmaStatus::AioRing);
}

void refuseUnknown(const VmaEntry& vma) {
    const auto refuse = [&](VmaStatus status, const char* what) {
        if (is(vma, status))
            fail("memory at {:#x} is {}, which can't be restored yet", vma.start, what);
    };
    refuse(VmaStatus::ShadowStack, "a shadow stack");
}

bool isPrivate(const VmaEntry& vma) {
    return is(vma, VmaStatus::AnonPrivate) || is(vma, VmaStatus::FilePrivate);
}

bool hasContent(const PageSource& pages, const VmaEntry& vma) {
    return hasPrivatePages(vma) && pages.covers(vma.start, vma.end);
}

/// Keeps the file of consecutive mappings open.
class FileCache {
public:
    explicit FileCache(MappedFiles& files) : files_(files) {}

    int get(const VmaEntry& vma) {
        if (is(vma, VmaStatus::AnonShared) || is(vma, VmaStatus::Memfd))
            return segment(vma);
        int flags = O_RDONLY;
        if (vma.has_fdflags != 0 && vma.fdflags != 0)
            flags = static_cast<int>(vma.fdflags) & (O_ACCMODE | O_DIRECTORY | O_LARGEFILE);
        else if (is(vma, VmaStatus::FileShared) && (vma.prot & PROT_WRITE) != 0)
            flags = O_RDWR;
        if (!fd_ || vma.shmid != file_ || flags != flags_) {
            fd_ = files_.openForMapping(vma, flags);
            file_ = vma.shmid;
            flags_ = flags;
        }
        return fd_.get();
    }

private:
    int segment(const VmaEntry& vma) {
        const int fd = files_.segment(vma);
        if (vma.has_fdflags == 0 || vma.fdflags != O_RDONLY || (vma.flags & MAP_TYPE) != MAP_SHARED)
            return fd;
        // Mapped through a read-only descriptor: mprotect mustn't make it writable.
        fd_.reset(sys(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC),
                      "open shared memory for reading only"));
        file_ = 0;
        return fd_.get();
    }

    MappedFiles& files_;
    UniqueFd fd_;
    std::uint64_t file_ = 0;
    int flags_ = 0;
};

}  // namespace

RangeSet AddressSpace::targets() const {
    RangeSet set;
    for (const PlacedVma& placed : vmas_)
        set.add({placed.vma->start, placed.vma->end});
    return set;
}

bool AddressSpace::takeOver(const VmaEntry& vma, const AddressSpace& previous) {
    const auto& old = previous.vmas_;
    const auto at =
        std::lower_bound(old.begin(), old.end(), vma.start,
                         [](const PlacedVma& placed, std::uint64_t start) { return placed.vma->start < start; });
    if (at == old.end() || !at->mapped)
        return false;
    const VmaEntry& other = *at->vma;
    const bool same = other.start == vma.start && other.end == vma.end && other.flags == vma.flags &&
                      other.shmid == vma.shmid && other.pgoff == vma.pgoff && other.status == vma.status;
    if (!same || !isPrivate(vma) || isHuge(vma))
        return false;
    PlacedVma taken = *at;
    taken.vma = &vma;
    taken.inherited = true;
    vmas_.push_back(taken);
    return true;
}

void AddressSpace::choosePlace(PlacedVma& placed, const RangeSet& occupied) {
    const VmaEntry& vma = *placed.vma;
    const Range wanted{vma.start, vma.end};
    if (!occupied.overlaps(wanted)) {
        placed.at = vma.start;
        return;
    }
    const std::uint64_t alignment = pageSizeOf(vma);
    const auto hole = occupied.findHole(placed.size() + alignment, kScratchBase);
    if (!hole)
        fail("no room of {} bytes for memory that belongs at {:#x}", placed.size(), vma.start);
    placed.at = (*hole + alignment - 1) & ~(alignment - 1);
}

void AddressSpace::addPlaced(PlacedVma placed, RangeSet& occupied, RangeSet& avoid, Log& log) {
    placed.mapped = true;
    occupied.add({placed.at, placed.at + placed.size()});
    avoid.add({placed.at, placed.at + placed.size()});
    if (placed.moved())
        log.debug("memory of {:#x} is built at {:#x}", placed.vma->start, placed.at);
    vmas_.push_back(placed);
}

void AddressSpace::letGoOfOthers(const AddressSpace& previous) const {
    std::unordered_set<std::uint64_t> taken;
    for (const PlacedVma& placed : vmas_)
        taken.insert(placed.at);
    for (const PlacedVma& old : previous.vmas_)
        if (old.mapped && !taken.contains(old.at))
            ::munmap(reinterpret_cast<void*>(old.at), old.size());
}

AddressSpace AddressSpace::build(const model::Task& task, const PageSource& pages, const AddressSpace& previous,
                                 MappedFiles& files, Log& log) {
    AddressSpace space;
    const MmEntry& mm = **task.mm;
    space.vmas_.reserve(mm.n_vmas);

    // First let go of what isn't common, so that its addresses are free.
    std::vector<const VmaEntry*> fresh;
    for (const VmaEntry* vma : list(mm.vmas, mm.n_vmas)) {
        if (is(*vma, VmaStatus::Guard))
            space.guards_.push_back({vma->start, vma->end});
        if (isSpecial(*vma))
            continue;
        refuseUnknown(*vma);
        if (is(*vma, VmaStatus::Plugin))
            continue;  // mapDevices()
        if (!space.takeOver(*vma, previous))
            fresh.push_back(vma);
    }
    space.letGoOfOthers(previous);

    RangeSet occupied = ownMappings();
    RangeSet avoid = occupied;  // where temporary places may not be
    for (const VmaEntry* vma : list(mm.vmas, mm.n_vmas))
        if (vma->start < taskSize())
            avoid.add({vma->start, vma->end});

    FileCache cache(files);
    for (const VmaEntry* vma : fresh) {
        PlacedVma placed;
        placed.vma = vma;
        const RangeSet& against = occupied.overlaps({vma->start, vma->end}) ? avoid : occupied;
        choosePlace(placed, against);

        // Content is written through the mapping; what has none gets its final protection at once.
        placed.protection = static_cast<int>(vma->prot);
        if (hasContent(pages, *vma))
            placed.protection = PROT_READ | PROT_WRITE;
        int flags = static_cast<int>(vma->flags) & ~(MAP_LOCKED | MAP_POPULATE | MAP_NONBLOCK);
        // Keeps the place until there is the file.
        if (is(*vma, VmaStatus::Socket) || is(*vma, VmaStatus::IoUring)) {
            placed.protection = PROT_NONE;
            flags = MAP_PRIVATE | MAP_ANONYMOUS;
        }
        if (is(*vma, VmaStatus::SysvIpc)) {
            placed.protection = attachSysvShm(*vma, placed.at);
            space.addPlaced(placed, occupied, avoid, log);
            continue;
        }
        int fd = -1;
        if ((is(*vma, VmaStatus::FilePrivate) || is(*vma, VmaStatus::FileShared) || is(*vma, VmaStatus::AnonShared) ||
             is(*vma, VmaStatus::Memfd))) {
            const ErrorContext context([&] { return fmt::format("memory at {:#x}", vma->start); });
            fd = cache.get(*vma);
            flags &= ~MAP_ANONYMOUS;
        }
        void* const at = ::mmap(reinterpret_cast<void*>(placed.at), placed.size(), placed.protection,
                                flags | MAP_FIXED_NOREPLACE, fd, fd < 0 ? 0 : static_cast<off_t>(vma->pgoff));
        if (at == MAP_FAILED)
            failErrno("map {} bytes at {:#x} (flags {:#x}, protection {:#x}, file {})", placed.size(), placed.at, flags,
                      placed.protection, vma->shmid);
        space.addPlaced(placed, occupied, avoid, log);
    }
    space.sort();
    return space;
}

void AddressSpace::sort() {
    std::sort(vmas_.begin(), vmas_.end(),
              [](const PlacedVma& one, const PlacedVma& other) { return one.vma->start < other.vma->start; });
}

void AddressSpace::mapDevices(const model::Task& task, MappedFiles& files, Log& log) {
    const MmEntry& mm = **task.mm;
    const auto all = list(mm.vmas, mm.n_vmas);
    if (std::none_of(all.begin(), all.end(), [](const VmaEntry* vma) { return is(*vma, VmaStatus::Plugin); }))
        return;
    RangeSet occupied = ownMappings();
    RangeSet avoid = occupied;
    for (const VmaEntry* vma : all)
        if (vma->start < taskSize())
            avoid.add({vma->start, vma->end});
    for (const VmaEntry* vma : all) {
        if (!is(*vma, VmaStatus::Plugin))
            continue;
        PlacedVma placed;
        placed.vma = vma;
        choosePlace(placed, occupied.overlaps({vma->start, vma->end}) ? avoid : occupied);
        placed.protection = static_cast<int>(vma->prot);
        const int flags = static_cast<int>(vma->flags) & (MAP_TYPE | MAP_NORESERVE);
        {
            const ErrorContext context([&] { return fmt::format("device memory at {:#x}", vma->start); });
            const MappedDeviceFile file = files.device(*vma);
            void* const at = ::mmap(reinterpret_cast<void*>(placed.at), placed.size(), placed.protection,
                                    flags | MAP_FIXED_NOREPLACE, file.fd.get(), static_cast<off_t>(file.offset));
            if (at == MAP_FAILED)
                failErrno("map {} bytes from offset {:#x} at {:#x}", placed.size(), file.offset, placed.at);
        }
        addPlaced(placed, occupied, avoid, log);
    }
    sort();
}

void AddressSpace::fill(const PageSource& pages, Log& log) {
    PageReader reader(pages);
    std::vector<PlacedPages> wanted;
    for (PlacedVma& placed : vmas_) {
        if (!hasPrivatePages(*placed.vma))
            continue;
        if (placed.inherited) {
            if (placed.protection != (PROT_READ | PROT_WRITE)) {
                placed.protection = PROT_READ | PROT_WRITE;
                sys(::mprotect(reinterpret_cast<void*>(placed.at), placed.size(), placed.protection),
                    "make memory at {:#x} writable", placed.at);
            }
            fillInherited(placed, pages, reader);
            continue;
        }
        pages.forEach(placed.vma->start, placed.vma->end, [&](const PageJob& job) {
            if (job.state == PageJob::State::Absent)
                return;
            wanted.push_back({job, placed.at + (job.address - placed.vma->start)});
            restoredPages += job.bytes / kImagePageSize;
        });
    }
    reader.read(wanted);
    if (!wanted.empty())
        log.debug("{} pages of memory filled", restoredPages);
}

void AddressSpace::fillInherited(const PlacedVma& placed, const PageSource& pages, PageReader& reader) {
    std::vector<std::byte> block(std::size_t{256} << 10);
    const std::uint64_t start = placed.vma->start;
    const auto compare = [&](PageJob job) {
        for (const std::uint64_t end = job.end(); job.address < end;) {
            const std::size_t want = std::min<std::uint64_t>(job.bytes, block.size());
            reader.read(job, std::span(block).first(want));
            for (std::size_t page = 0; page < want; page += kImagePageSize) {
                auto* const here = reinterpret_cast<std::byte*>(placed.at + (job.address - start) + page);
                ++comparedPages;
                if (std::memcmp(here, block.data() + page, kImagePageSize) == 0) {
                    ++sharedPages;
                    continue;
                }
                std::memcpy(here, block.data() + page, kImagePageSize);
                ++restoredPages;
            }
            job = job.from(job.address + want);
        }
    };
    pages.forEach(start, placed.vma->end, [&](const PageJob& job) {
        if (job.state != PageJob::State::Absent)
            return compare(job);
        // Pages the creator wrote but this process doesn't have read as zero or as the file says.
        sys(::madvise(reinterpret_cast<void*>(placed.at + (job.address - start)), job.bytes, MADV_DONTNEED),
            "drop inherited memory at {:#x}", job.address);
    });
}

void AddressSpace::createAioRings(const model::Task& task, const PageSource& pages) {
    const MmEntry& mm = **task.mm;
    for (const AioRingEntry* ring : list(mm.aios, mm.n_aios)) {
        const auto all = list(mm.vmas, mm.n_vmas);
        const auto vma = std::find_if(all.begin(), all.end(), [&](const VmaEntry* candidate) {
            return is(*candidate, VmaStatus::AioRing) && candidate->start == ring->id;
        });
        const ErrorContext context([&] { return fmt::format("ring of asynchronous I/O at {:#x}", ring->id); });
        if (vma == all.end())
            fail("there is no such memory");
        createAioRing(*ring, **vma, pages, mm);
    }
}

void AddressSpace::createAioRing(const AioRingEntry& ring, const VmaEntry& vma, const PageSource& pages,
                                 const MmEntry& mm) {
    std::vector<std::byte> content(vma.end - vma.start);
    PageReader reader(pages);
    pages.forEach(vma.start, vma.end, [&](const PageJob& job) {
        if (job.state != PageJob::State::Absent)
            reader.read(job, std::span(content).subspan(job.address - vma.start, job.bytes));
    });
    PlacedVma placed;
    placed.vma = &vma;
    placed.mapped = true;
    placed.protection = PROT_READ | PROT_WRITE;
    const Range made = makeAioRing(ring, content);
    // The kernel's choice may be where other memory will be moved to.
    RangeSet occupied = ownMappings();
    if (occupied.overlaps({vma.start, vma.end}))
        for (const VmaEntry* other : list(mm.vmas, mm.n_vmas))
            if (other->start < taskSize())
                occupied.add({other->start, other->end});
    choosePlace(placed, occupied);
    void* const at = ::mremap(reinterpret_cast<void*>(made.start), made.size(), made.size(),
                              MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(placed.at));
    if (at == MAP_FAILED)
        failErrno("move it from {:#x} to {:#x}", made.start, placed.at);
    vmas_.push_back(placed);
}

void AddressSpace::installGuards() const {
    for (const Range& guard : guards_)
        for (const PlacedVma& placed : vmas_) {
            const std::uint64_t from = std::max(guard.start, placed.vma->start);
            const std::uint64_t to = std::min(guard.end, placed.vma->end);
            if (from < to)
                sys(::madvise(reinterpret_cast<void*>(placed.at + (from - placed.vma->start)), to - from,
                              kGuardInstall),
                    "install guard pages at {:#x}", from);
        }
}

void AddressSpace::mapSockets(MappedFiles& files) {
    for (PlacedVma& placed : vmas_) {
        const VmaEntry& vma = *placed.vma;
        if (!is(vma, VmaStatus::Socket))
            continue;
        const int flags = static_cast<int>(vma.flags) & (MAP_SHARED | MAP_PRIVATE);
        placed.protection = static_cast<int>(vma.prot);
        const UniqueFd socket = files.placedSocket(vma);
        if (::mmap(reinterpret_cast<void*>(placed.at), placed.size(), placed.protection, flags | MAP_FIXED,
                   socket.get(), static_cast<off_t>(vma.pgoff)) == MAP_FAILED)
            failErrno("map the ring of socket {} at {:#x}", vma.shmid, vma.start);
    }
}

void AddressSpace::seal() {
    installGuards();
    for (PlacedVma& placed : vmas_) {
        const VmaEntry& vma = *placed.vma;
        void* const at = reinterpret_cast<void*>(placed.at);
        if (is(vma, VmaStatus::IoUring))
            continue;
        if (placed.protection != static_cast<int>(vma.prot)) {
            placed.protection = static_cast<int>(vma.prot);
            sys(::mprotect(at, placed.size(), placed.protection), "protect memory of {:#x}", vma.start);
        }
        for (unsigned advice = 0; vma.has_madv != 0 && advice <= kMaxAdvice; ++advice)
            if ((vma.madv >> advice & 1U) != 0)
                sys(::madvise(at, placed.size(), static_cast<int>(advice)), "madvise({}) memory of {:#x}", advice,
                    vma.start);
        const int lockFlags = vma.has_lock_on_fault != 0 && vma.lock_on_fault != 0 ? MLOCK_ONFAULT : 0;
        if ((vma.flags & MAP_LOCKED) != 0 && ::mlock2(at, placed.size(), lockFlags) != 0) {
            // Memory that can't be touched can't be made present, but is marked as locked all the same.
            if (errno != ENOMEM || (vma.prot & PROT_READ) != 0)
                failErrno("lock memory of {:#x}", vma.start);
        }
    }
}

void AddressSpace::addUnmapSteps(const RangeSet& keep, pie::StepList& steps) const {
    RangeSet kept = keep;
    for (const PlacedVma& placed : vmas_)
        kept.add({placed.at, placed.at + placed.size()});
    for (const Range& gap : kept.gaps())
        steps.call(pie::Subject::UnmapOld, gap.start, SYS_munmap, gap.start, gap.size());
}

void AddressSpace::addMoveSteps(pie::StepList& steps) const {
    for (const PlacedVma& placed : vmas_) {
        if (!placed.moved())
            continue;
        pie::Step& step = steps.call(pie::Subject::MoveMemory, placed.vma->start, SYS_mremap, placed.at, placed.size(),
                                     placed.size(), MREMAP_MAYMOVE | MREMAP_FIXED, placed.vma->start);
        step.judge = pie::Judge::Equals;
    }
}

void AddressSpace::addIoUringSteps(MappedFiles& files, const RangeSet& others, pie::StepList& steps) const {
    if (std::none_of(vmas_.begin(), vmas_.end(),
                     [](const PlacedVma& placed) { return is(*placed.vma, VmaStatus::IoUring); }))
        return;
    RangeSet taken = others;
    for (const PlacedVma& placed : vmas_)
        taken.add({placed.vma->start, placed.vma->end});
    const std::vector<Range> gaps = taken.gaps();
    // What can't be filled (the lowest addresses) isn't chosen by the kernel either; the result tells.
    constexpr int kFiller = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    for (const Range& gap : gaps) {
        const std::uint64_t start = std::max(gap.start, kLowestFilled);
        if (start < gap.end)
            steps.call(pie::Subject::MapMemory, start, SYS_mmap, start, gap.end - start, PROT_NONE, kFiller, -1, 0)
                .judge = pie::Judge::Any;
    }
    for (const PlacedVma& placed : vmas_) {
        const VmaEntry& vma = *placed.vma;
        if (!is(vma, VmaStatus::IoUring))
            continue;
        steps.call(pie::Subject::MapMemory, vma.start, SYS_munmap, vma.start, placed.size());
        steps
            .call(pie::Subject::MapMemory, vma.start, SYS_mmap, 0, placed.size(), vma.prot, MAP_SHARED,
                  files.placedRing(vma), vma.pgoff)
            .judge = pie::Judge::Equals;
        for (unsigned advice = 0; vma.has_madv != 0 && advice <= kMaxAdvice; ++advice)
            if ((vma.madv >> advice & 1U) != 0)
                steps.call(pie::Subject::AdviseMemory, vma.start, SYS_madvise, vma.start, placed.size(), advice);
    }
    for (const Range& gap : gaps)
        steps.call(pie::Subject::UnmapOld, gap.start, SYS_munmap, gap.start, gap.size());
}

}  // namespace criu::memory
