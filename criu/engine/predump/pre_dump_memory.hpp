// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::engine {

class FrozenPhase;

/// Private memory of a tree for a pre-dump. It is examined, and tracking begins, while the tree is frozen. It is copied
/// after the tree is resumed. The next dump contains pages again that were written during the copy. Shared memory isn't
/// dumped, because its writes aren't tracked.
class PreDumpMemory {
public:
    /// Examines all processes. Throws Error.
    explicit PreDumpMemory(FrozenPhase& frozen);
    ~PreDumpMemory();
    PreDumpMemory(const PreDumpMemory&) = delete;
    PreDumpMemory& operator=(const PreDumpMemory&) = delete;

    /// Copies the pages that were found, and completes the images, while the tree runs. Throws Error.
    void write();

private:
    class Work;

    std::unique_ptr<Work> work_;
};

}  // namespace criu::engine
