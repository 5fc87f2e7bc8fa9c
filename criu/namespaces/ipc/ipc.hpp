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

/// The content of an IPC namespace that the tree has for itself. All calls from a thread that is in it.
class IpcDump {
public:
    /// `number`: of the namespace, in images; `owners`: how the tree calls users and groups.
    IpcDump(std::uint32_t number, const model::IdMap& owners) : number_(number), owners_(owners) {}

    /// Looks at what there is. Throws Error for what can't be dumped.
    void check();

    /// Ids of the System V shared memory.
    [[nodiscard]] std::vector<int> sharedMemory() const;
    /// Before write(), if images can't have the contents of shared memory by its ids.
    void setContentNumbers(ContentNumbers numbers) { contents_ = std::move(numbers); }

    /// The namespace's, to which those are added that have no name any more.
    [[nodiscard]] PosixQueuesDump& posixQueues() noexcept { return posixQueues_; }

    /// As they were in check(). Whoever knows adjustments adds them before write().
    [[nodiscard]] std::vector<SemaphoreSet>& semaphores() noexcept { return semaphores_; }

    /// Writes the images; returns pages of shared memory written. Not before the namespace stands still. Throws Error,
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
