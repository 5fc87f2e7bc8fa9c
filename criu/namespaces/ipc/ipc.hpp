// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "criu/base/stop_request.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/pages/drain.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/model/id_map.hpp"
#include "criu/namespaces/ipc/ipc_semaphores.hpp"
#include "criu/namespaces/ipc/ipc_shared_memory.hpp"
#include "criu/namespaces/ipc/posix_queues_dump.hpp"

/// IPC namespaces (ipc_namespaces(7)): limits, POSIX message queues, System V shared memory, message queues and
/// semaphores.
namespace criu::namespaces {

/// The content of a private IPC namespace. All calls come from a thread in that namespace.
class IpcDump {
public:
    /// `number`: namespace id; `owners`: translation of uids and gids to those of the tree.
    IpcDump(std::uint32_t number, const model::IdMap& owners) : number_(number), owners_(owners) {}

    /// Examines the semaphores and POSIX message queues. Throws Error for objects that can't be dumped.
    void check();

    /// Returns the ids of the System V shared memory.
    [[nodiscard]] std::vector<int> sharedMemory() const;
    /// Sets numbers for the contents of shared memory, in place of the segments' ids. Call it before write().
    void setContentNumbers(ContentNumbers numbers) { contents_ = std::move(numbers); }

    /// The named queues of the namespace. The dump adds the deleted ones.
    [[nodiscard]] PosixQueuesDump& posixQueues() noexcept { return posixQueues_; }

    /// Semaphore sets with their values at check(). The dump adds the processes' undo values before write().
    [[nodiscard]] std::vector<SemaphoreSet>& semaphores() noexcept { return semaphores_; }

    /// Writes the images; returns the number of pages written. All users of the namespace must be frozen. Throws Error,
    /// also as soon as `stop` is requested.
    std::uint64_t write(const ImageDir& images, memory::PageSinks& sinks, memory::Drainer& drainer,
                        StopRequest& stop) const;

private:
    std::uint32_t number_;
    const model::IdMap& owners_;
    std::vector<SemaphoreSet> semaphores_;
    PosixQueuesDump posixQueues_;
    ContentNumbers contents_;
};

}  // namespace criu::namespaces
