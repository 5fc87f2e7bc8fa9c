// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/ipc/ipc_shared_memory.hpp"

#include <sys/shm.h>

#include "criu/base/error.hpp"
#include "criu/kernel/sysv_ipc.hpp"
#include "criu/memory/shmem/segments.hpp"
#include "criu/memory/shmem/segments_dump.hpp"
#include "criu/memory/shmem/sysv_segment.hpp"
#include "criu/model/ipc_owner.hpp"
#include "criu/namespaces/ipc/ipc_limits.hpp"

namespace criu::namespaces {
namespace {

using kernel::IpcKind;
using memory::AttachedSegment;

constexpr std::uint64_t kRecordAlignment = 4;  // alignment of content after an entry in old images

std::uint32_t contentOf(const IpcShmEntry& entry) {
    return entry.has_content != 0 ? entry.content : entry.desc->id;
}

std::uint64_t dumpSegment(int id, ImageWriter& image, const model::IdMap& owners, const ContentNumbers& contents,
                          memory::PageSinks& sinks, memory::Drainer& drainer) {
    const auto status = memory::findSegment(id);
    if (!status)
        fail("System V shared memory {} has vanished", id);
    const AttachedSegment attached(id, status->shm_segsz, SHM_RDONLY);
    const UniqueFd file = attached.file();
    IpcDescEntry desc = model::describeIpc(id, status->shm_perm);
    model::toInside(desc, owners);
    IpcShmEntry entry = IPC_SHM_ENTRY__INIT;
    entry.desc = &desc;
    entry.size = status->shm_segsz;
    entry.has_in_pagemaps = entry.in_pagemaps = 1;
    if (const std::uint32_t flag = memory::segmentHugeFlag(file.get()); flag != 0) {
        entry.has_hugetlb_flag = 1;
        entry.hugetlb_flag = flag;
    }
    if (const auto number = contents.find(id); number != contents.end()) {
        entry.has_content = 1;
        entry.content = number->second;
    }
    image.write(entry);
    return memory::writeSharedContent(file.get(), fmt::format("System V shared memory {}", id), contentOf(entry),
                                      entry.size, sinks, drainer);
}

void restoreSegment(const IpcShmEntry& entry, const memory::PageSources& pages, ImageReader& image,
                    const std::function<void()>& checkStop) {
    const int id = static_cast<int>(entry.desc->id);
    memory::makeSegment(entry);
    const AttachedSegment attached(id, entry.size, 0);
    if (entry.has_in_pagemaps != 0 && entry.in_pagemaps != 0) {
        const auto content = pages.open(memory::MemoryObject::shared(contentOf(entry)));
        memory::fillSharedContent(content ? &*content : nullptr, contentOf(entry), attached.bytes(), checkStop);
    } else {
        image.readPayload(attached.bytes());
        image.skipPayload((kRecordAlignment - entry.size % kRecordAlignment) % kRecordAlignment);
    }
    memory::setSegmentOwner(entry);
    if ((entry.desc->mode & memory::kShmLocked) != 0)
        sys(::shmctl(id, SHM_LOCK, nullptr), "lock System V shared memory {}", id);
}

}  // namespace

std::uint64_t dumpSharedMemory(const ImageDir& images, std::uint32_t number, const model::IdMap& owners,
                               const ContentNumbers& contents, memory::PageSinks& sinks, memory::Drainer& drainer) {
    std::uint64_t pages = 0;
    ImageWriter image = images.create(ImageKind::IpcShm, number);
    for (const int id : kernel::listIpcIds(IpcKind::SharedMemory)) {
        const ErrorContext context([&] { return fmt::format("System V shared memory {}", id); });
        pages += dumpSegment(id, image, owners, contents, sinks, drainer);
    }
    image.finish();
    return pages;
}

std::vector<int> restoreSharedMemory(const ImageDir& images, const memory::PageSources& pages, std::uint32_t number,
                                     const model::IdMap& owners, const std::function<void()>& checkStop) {
    std::vector<int> doomed;
    auto image = images.openRead(ImageKind::IpcShm, number);
    if (!image)
        return doomed;
    std::uint64_t count = 0;
    while (const auto record = image->next<IpcShmEntry>()) {
        const IpcShmEntry& entry = **record;
        model::toOutside(*entry.desc, owners);
        model::requireIpcDesc(*entry.desc, "System V shared memory");
        raiseIpcLimit("kernel/shmmni", ++count);
        {
            const ErrorContext context([&] { return fmt::format("System V shared memory {}", entry.desc->id); });
            restoreSegment(entry, pages, *image, checkStop);
        }
        if ((entry.desc->mode & memory::kShmDestroyed) != 0)
            doomed.push_back(static_cast<int>(entry.desc->id));
    }
    return doomed;
}

}  // namespace criu::namespaces
