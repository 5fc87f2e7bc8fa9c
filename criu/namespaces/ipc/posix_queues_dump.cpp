// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/ipc/posix_queues_dump.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/kernel/posix_queue.hpp"

namespace criu::namespaces {
namespace {

constexpr int kQueueOpenFlags = O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

}  // namespace

void PosixQueuesDump::find() {
    const UniqueFd mount = kernel::mountPosixQueues();
    if (!mount)
        return;
    struct stat stat {};
    sys(::fstat(mount.get(), &stat), "look at the file system of POSIX message queues");
    device_ = stat.st_dev;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/self/fd/{}/.", mount.get()))) {
        const std::string name = entry.path().filename();
        UniqueFd fd(sys(::openat(mount.get(), name.c_str(), kQueueOpenFlags | O_NOFOLLOW),
                        "open POSIX message queue /{}", name));
        add(name, std::move(fd), false);
    }
}

void PosixQueuesDump::add(std::string name, UniqueFd fd, bool deleted) {
    if (kernel::readPosixQueueState(fd.get()).notifies) {
        Error error(0, fmt::format("a process is to be notified of the next message in POSIX message queue /{}, which "
                                   "can't be dumped: the kernel doesn't tell what it is to be notified with",
                                   name));
        error.addHint("have it take that back by mq_notify(3) before the dump");
        throw error;
    }
    struct stat stat {};
    sys(::fstat(fd.get(), &stat), "look at POSIX message queue /{}", name);
    queues_.emplace(stat.st_ino, Queue{std::move(name), std::move(fd), deleted});
}

std::string PosixQueuesDump::nameOf(const files::OpenFd& file) {
    // A restored process opens the queue by its name in its own IPC namespace. criu can't name the right namespace: it
    // doesn't know yet which process will open the queue.
    if (refusesDescriptors_)
        fail(
            "{} is a POSIX message queue in a tree whose processes are in several IPC namespaces, which can't be "
            "dumped",
            file.describe());
    if (file.stat.st_dev != device_)
        fail("{} is a POSIX message queue of another IPC namespace than that of the tree", file.describe());
    const auto known = queues_.find(file.stat.st_ino);
    if (known != queues_.end())
        return known->second.name;
    // Uses the former name of the queue, unless another queue has this name now.
    std::string name = file.link.substr(file.link.rfind('/') + 1);
    if (name.ends_with(kernel::kDeletedMark))
        name.resize(name.size() - kernel::kDeletedMark.size());
    const auto isTaken = [&] {
        return std::any_of(queues_.begin(), queues_.end(), [&](const auto& each) { return each.second.name == name; });
    };
    if (isTaken())
        name = fmt::format("criu-deleted-{}", file.stat.st_ino);
    while (isTaken())
        name += '-';
    const std::string path = fmt::format("/proc/self/fd/{}", file.copy.get());
    add(name, UniqueFd(sys(::open(path.c_str(), kQueueOpenFlags), "open {} once more", file.describe())), true);
    return name;
}

void PosixQueuesDump::write(const ImageDir& images, std::uint32_t number, const model::IdMap& owners) const {
    std::vector<PosixQueue> all;
    for (const auto& [inode, queue] : queues_) {
        const ErrorContext context([&] { return fmt::format("POSIX message queue /{}", queue.name); });
        struct stat stat {};
        sys(::fstat(queue.fd.get(), &stat), "look at it");
        const kernel::PosixQueueState state = kernel::readPosixQueueState(queue.fd.get());
        all.push_back({queue.name, queue.deleted, stat.st_mode & 07777U, stat.st_uid, stat.st_gid,
                       static_cast<std::uint64_t>(state.maxMessages), static_cast<std::uint64_t>(state.messageSize),
                       copyPosixMessages(queue.fd.get())});
    }
    ImageWriter image = images.create(ImageKind::IpcMqueue, number);
    writePosixQueues(image, all, owners);
    image.finish();
}

}  // namespace criu::namespaces
