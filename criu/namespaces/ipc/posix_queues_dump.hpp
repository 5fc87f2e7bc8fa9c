// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/namespaces/ipc/posix_queues.hpp"

namespace criu::files {
struct OpenFd;
}

namespace criu::namespaces {

/// POSIX message queues of the tree's IPC namespace: queues with a name, and deleted queues that are still open.
/// write() must follow the dump of all files, because that dump adds the deleted queues.
class PosixQueuesDump {
public:
    /// Finds the named queues of the calling thread's IPC namespace. Throws Error if a queue can't be dumped.
    void find();

    [[nodiscard]] bool empty() const noexcept { return queues_.empty(); }

    /// Returns the device number of the namespace's mqueue file system, or 0 before find().
    [[nodiscard]] dev_t device() const noexcept { return device_; }
    /// Makes nameOf() refuse all descriptors, because not all processes are in this namespace.
    void refuseDescriptors() noexcept { refusesDescriptors_ = true; }

    /// Returns the name by which a restored process opens the queue. Throws Error if the queue can't be dumped.
    std::string nameOf(const files::OpenFd& file);

    /// Writes all queues with copies of their messages; copyPosixMessages() describes how the messages stay in the
    /// queues.
    void write(const ImageDir& images, std::uint32_t number, const model::IdMap& owners) const;

private:
    struct Queue {
        std::string name;
        UniqueFd fd;
        bool deleted = false;
    };

    void add(std::string name, UniqueFd fd, bool deleted);

    bool refusesDescriptors_ = false;
    dev_t device_ = 0;  ///< device number of the mqueue file system; 0 before find()
    std::map<ino_t, Queue> queues_;
};

}  // namespace criu::namespaces
