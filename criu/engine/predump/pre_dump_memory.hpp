// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::engine {

class FrozenPhase;

/// The private memory of a tree that goes on: what there is of it is looked at, and begins to be tracked, while the
/// tree stands still. It is copied when the tree runs again: a page that is written to meanwhile is dumped once more,
/// by the next dump. Shared memory isn't taken, since nobody could say what of it is unchanged then.
class PreDumpMemory {
public:
    /// Looks at all processes. Throws Error.
    explicit PreDumpMemory(FrozenPhase& frozen);
    ~PreDumpMemory();
    PreDumpMemory(const PreDumpMemory&) = delete;
    PreDumpMemory& operator=(const PreDumpMemory&) = delete;

    /// Copies what was found, and completes the images. The tree runs. Throws Error.
    void write();

private:
    class Work;

    std::unique_ptr<Work> work_;
};

}  // namespace criu::engine
