// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/engine/fwd.hpp"

namespace criu {
class ImageDir;
}

namespace criu::engine {

/// Throws Error if the images contain more processes or descriptors than --max-processes and --max-files allow. Call it
/// before the restore creates anything, because a small image can ask for many objects of the kernel.
void requireCountsAllowed(const RestoreImages& content, const model::Options& options);

/// Returns the maximum bytes of memory and files of a restore (--max-memory, or its default); 0 for no limit.
[[nodiscard]] std::uint64_t mostMemory(const model::Options& options);

/// Sum of the memory and of the files that the images ask for. Each function adds to the sum, and throws Error if the
/// sum exceeds --max-memory or --max-files.
class ImageAmounts {
public:
    explicit ImageAmounts(const model::Options& options);

    /// Adds pages of the processes' private memory, also if they are compressed or come later (--lazy-pages).
    void addPrivateMemory(const RestoreImages& content);
    void addMemory(std::uint64_t bytes);
    /// Adds a file that the restore creates. `bytes`: size of its content, without holes.
    void addFile(std::uint64_t bytes);
    /// Adds all deleted files that the images store.
    void addDeletedFiles(const ImageDir& images);

private:
    std::uint64_t mostBytes_;
    std::uint64_t mostFiles_;
    std::uint64_t bytes_ = 0;
    std::uint64_t files_ = 0;
};

}  // namespace criu::engine
