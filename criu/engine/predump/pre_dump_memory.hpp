// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <deque>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/memory/pages/page_dump.hpp"

namespace criu::engine {

/// Dump of a tree's private memory for a pre-dump. The constructor finds the pages and starts to track writes while the
/// tree is frozen. write() copies the pages while the tree runs again. Pages that processes write during the copy count
/// as changed, so that the next dump contains them, too. Shared memory isn't dumped, because the kernel doesn't track
/// writes to shared memory.
class PreDumpMemory {
public:
    /// Finds the pages of all processes. Throws Error.
    explicit PreDumpMemory(FrozenPhase& frozen);
    PreDumpMemory(const PreDumpMemory&) = delete;
    PreDumpMemory& operator=(const PreDumpMemory&) = delete;

    /// Copies the pages and completes the images. Call it when the tree runs again. Throws Error.
    void write();

private:
    /// Data of one process that write() needs when the process runs again.
    struct Item {
        HostPid pid;
        HostPid actor;  ///< see FrozenTask::actor()
        TreePid imageId;
        UniqueFd memory;
        memory::WriteTracking* writes = nullptr;
        memory::FoundPages pages;
    };

    void look(FrozenTask& task, const memory::VmaDumpRules& rules);
    [[nodiscard]] bool lookAgain(FrozenTask& task, const memory::VmaDumpRules& rules, Item& item);
    void lookAtAll(FrozenTask& task, const memory::VmaDumpRules& rules, Item& item);
    void findPages(FrozenTask& task, const memory::DumpedMemory& mappings, Item& item);
    void copy(const Item& item, memory::PageSinks& sinks, memory::Drainer& drainer);
    void writeInventory() const;

    FrozenPhase& frozen_;
    std::deque<Item> items_;
};

}  // namespace criu::engine
