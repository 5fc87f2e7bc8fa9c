// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <deque>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/memory/pages/page_dump.hpp"

namespace criu::engine {

/// Private memory of a tree for a pre-dump. It is examined, and tracking begins, while the tree is frozen. It is copied
/// after the tree is resumed. The next dump contains pages again that were written during the copy. Shared memory isn't
/// dumped, because its writes aren't tracked.
class PreDumpMemory {
public:
    /// Examines all processes. Throws Error.
    explicit PreDumpMemory(FrozenPhase& frozen);
    PreDumpMemory(const PreDumpMemory&) = delete;
    PreDumpMemory& operator=(const PreDumpMemory&) = delete;

    /// Copies the pages that were found, and completes the images, while the tree runs. Throws Error.
    void write();

private:
    /// Data of one process that is needed after it is resumed.
    struct Item {
        HostPid pid;
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
