// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/mm/pagemap.hpp"
#include "criu/kernel/mm/userfaultfd.hpp"
#include "criu/kernel/probe/child.hpp"
#include "criu/kernel/probe/probes.hpp"

namespace criu::kernel::probe {

namespace {

// Constants that the headers of Debian 12 lack (<asm-generic/mman-common.h>, <linux/mman.h>).
constexpr int kMadviseGuardInstall = 102;
constexpr int kMapDroppable = 8;

UniqueFd openUffd() {
    return UniqueFd(static_cast<int>(sys(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK), "create a userfaultfd")));
}

}  // namespace

bool dirtyTracking() {
    const UniqueFd tracker(
        static_cast<int>(sys(::syscall(SYS_userfaultfd, uffdWpFlags()), "create a userfaultfd to track writes with")));
    return enableUffdWpAsync(tracker.get()) && pagemapScan();
}

bool pagemapScan() {
    return PagemapScanner(ProcDir().self()).mode() == PagemapScanner::Mode::Scan;
}

bool pagemapScanGuards() {
    const PagemapScanner scanner(ProcDir().self());
    return scanner.mode() == PagemapScanner::Mode::Scan && scanner.seesGuards();
}

bool madviseGuard() {
    const Mapping page = Mapping::anonymous(machinePageSize());
    return ::madvise(page.data(), page.size(), kMadviseGuardInstall) == 0;
}

bool mapDroppable() {
    void* const at = ::mmap(nullptr, machinePageSize(), PROT_READ | PROT_WRITE, MAP_ANONYMOUS | kMapDroppable, -1, 0);
    if (at == MAP_FAILED)
        return false;
    const Mapping page(at, machinePageSize());
    return true;
}

bool memfdCreate() {
    return UniqueFd(::memfd_create("criu-probe", MFD_CLOEXEC)).valid();
}

bool memfdHugetlb() {
    return UniqueFd(::memfd_create("criu-probe", MFD_CLOEXEC | MFD_HUGETLB)).valid();
}

bool thpDisable() {
    return inChild(
        [] { return ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0 && ::prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1; });
}

bool prctlMmMap() {
    unsigned size = 0;
    return ::prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, &size, 0, 0) == 0 && size != 0;
}

bool uffd() {
    uffdio_api api{};
    api.api = UFFD_API;
    return ::ioctl(openUffd().get(), UFFDIO_API, &api) == 0;
}

bool uffdNonCooperative() {
    // If the caller requests no features, the kernel reports all features that it supports.
    uffdio_api api{};
    api.api = UFFD_API;
    constexpr std::uint64_t wanted =
        UFFD_FEATURE_EVENT_FORK | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP;
    return ::ioctl(openUffd().get(), UFFDIO_API, &api) == 0 && (api.features & wanted) == wanted;
}

bool aioRemap() {
    return inChild([] {
        aio_context_t context = 0;
        sys(::syscall(SYS_io_setup, 8, &context), "create an AIO context");
        std::uint64_t size = 0;
        for (const Vma& vma : readMaps(ProcDir().self()))
            if (vma.start == context)
                size = vma.size();
        if (size == 0)
            return false;
        // Reserves the addresses to which mremap(2) moves the ring of the AIO context.
        Mapping place = Mapping::anonymous(size);
        void* const ring = reinterpret_cast<void*>(context);  // NOLINT: the context's id is its address
        if (::mremap(ring, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place.data()) != place.data())
            return false;
        return ::syscall(SYS_io_getevents, place.release(), 0, 1, nullptr, nullptr) == 0;
    });
}

}  // namespace criu::kernel::probe
