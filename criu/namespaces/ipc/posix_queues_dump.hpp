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

/// The POSIX message queues of the tree's IPC namespace, those with a name and those that are only open any more. The
/// latter are noted as their descriptors are dumped; the images are written behind all files.
class PosixQueuesDump {
public:
    /// Finds the queues of the calling thread's IPC namespace. Throws Error if one can't be dumped.
    void find();

    [[nodiscard]] bool empty() const noexcept { return queues_.empty(); }

    /// The file system that the namespace has them in; 0 before find().
    [[nodiscard]] dev_t device() const noexcept { return device_; }
    /// Not all processes are in this namespace: from here on descriptors of queues are refused.
    void refuseDescriptors() noexcept { refusesDescriptors_ = true; }

    /// The name by which a restored process opens the queue of this descriptor. Throws Error if it can't be dumped.
    std::string nameOf(const files::OpenFd& file);

    /// Takes a copy of all messages, and leaves them where they are: see copyPosixMessages().
    void write(const ImageDir& images, std::uint32_t number, const model::IdMap& owners) const;

private:
    struct Queue {
        std::string name;
        UniqueFd fd;
        bool deleted = false;
    };

    void add(std::string name, UniqueFd fd, bool deleted);

    bool refusesDescriptors_ = false;
    dev_t device_ = 0;  ///< of the file system that all of them are in
    std::map<ino_t, Queue> queues_;
};

}  // namespace criu::namespaces
