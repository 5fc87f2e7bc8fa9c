// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/ipc.hpp"

#include <sys/mount.h>

#include <filesystem>

#include "criu/base/error.hpp"
#include "criu/model/ipc_owner.hpp"
#include "criu/namespaces/ipc_limits.hpp"
#include "criu/namespaces/ipc_messages.hpp"
#include "criu/namespaces/ipc_shared_memory.hpp"

namespace criu::namespaces {

std::vector<std::string> listPosixQueues() {
    const UniqueFd system(::fsopen("mqueue", FSOPEN_CLOEXEC));
    if (!system && errno == ENODEV)
        return {};  // this kernel has none
    if (!system)
        failErrno("open the file system of POSIX message queues");
    sys(::fsconfig(system.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0), "prepare to list POSIX message queues");
    const UniqueFd mount(sys(::fsmount(system.get(), FSMOUNT_CLOEXEC, 0), "mount the POSIX message queues"));
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/self/fd/{}/.", mount.get())))
        names.push_back(entry.path().filename());
    return names;
}

void IpcDump::check() {
    semaphores_ = readSemaphoreSets();
    const std::vector<std::string> queues = listPosixQueues();
    if (queues.empty())
        return;
    Error error(0, fmt::format("the IPC namespace of the tree has a POSIX message queue /{}{}, which can't be dumped",
                               queues.front(),
                               queues.size() > 1 ? fmt::format(" and {} more", queues.size() - 1) : std::string()));
    error.addHint("its messages couldn't be read without taking them out; remove it with mq_unlink(3)");
    throw error;
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
    return dumpSharedMemory(images, number_, owners_, sinks, drainer);
}

}  // namespace criu::namespaces
