// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/ipc/ipc.hpp"

#include "criu/kernel/sysv_ipc.hpp"
#include "criu/model/ipc_owner.hpp"
#include "criu/namespaces/ipc/ipc_limits.hpp"
#include "criu/namespaces/ipc/ipc_messages.hpp"

namespace criu::namespaces {

void IpcDump::check() {
    semaphores_ = readSemaphoreSets();
    posixQueues_.find();
}

std::vector<int> IpcDump::sharedMemory() const {
    return kernel::listIpcIds(kernel::IpcKind::SharedMemory);
}

std::uint64_t IpcDump::write(const ImageDir& images, memory::PageSinks& sinks, memory::Drainer& drainer,
                             StopRequest& stop) const {
    Arena arena;
    IpcVarEntry& limits = *arena.make<IpcVarEntry>();
    readIpcLimits(limits, arena);
    ImageWriter image = images.create(ImageKind::IpcVar, number_);
    image.write(limits);
    image.finish();

    ImageWriter messages = images.create(ImageKind::IpcMsg, number_);
    std::vector<MessageQueue> queues = readMessageQueues(stop);
    for (MessageQueue& queue : queues)
        model::toInside(queue.desc, owners_);
    writeMessageQueues(messages, queues);
    messages.finish();
    ImageWriter semaphores = images.create(ImageKind::IpcSem, number_);
    std::vector<SemaphoreSet> sets = semaphores_;
    for (SemaphoreSet& set : sets)
        model::toInside(set.desc, owners_);
    writeSemaphoreSets(semaphores, sets);
    semaphores.finish();
    if (!posixQueues_.empty())
        posixQueues_.write(images, number_, owners_);
    return dumpSharedMemory(images, number_, owners_, contents_, sinks, drainer);
}

}  // namespace criu::namespaces
