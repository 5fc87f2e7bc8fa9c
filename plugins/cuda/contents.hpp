// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "criu/device/content_store.hpp"
#include "plugins/cuda/storage.hpp"

namespace criu {
class StopRequest;
}

namespace criu::memory {
class PageSinks;
class PageSources;
struct ReadWatch;
}  // namespace criu::memory

/// Functions that move contents between GPUs and images by storage mode. Storage mode needs no copy of the contents in
/// memory of the process.
namespace criu::cuda {

/// First number of CUDA's memory objects in images, above the numbers of other device subsystems.
inline constexpr std::uint32_t kFirstObject = 1U << 30;

/// Contents of a process on one GPU, and their location in images or in criu's memory.
struct StoredContent {
    Uuid gpu{};
    std::uint64_t bytes = 0;
    std::uint32_t object = 0;  ///< number of the memory object with the pages (MemoryObject::device())
    std::shared_ptr<device::ContentStore> here;  ///< contents in criu's memory; null if they are in images
};

/// Mover of GPU contents. Each call moves the contents of one process. Several threads may call the functions at the
/// same time.
class ContentStorage {
public:
    /// `bytes`: counter to which save() and load() add the size of the contents; may be null.
    ContentStorage(const Storage& storage, const memory::ReadWatch& watch, std::atomic<std::uint64_t>* bytes = nullptr)
        : storage_(storage), watch_(watch), bytes_(bytes) {}

    /// Checkpoints a locked process, and writes its contents to memory objects of `sinks` with numbers from `next` on.
    /// The driver can't abort a checkpoint. So if a sink fails, the function copies the contents to criu's memory, and
    /// stores the exception in `failure`. Throws Error if the checkpoint couldn't begin, or if the contents are lost.
    std::vector<StoredContent> save(pid_t pid, memory::PageSinks& sinks, std::atomic<std::uint32_t>& next,
                                    std::exception_ptr& failure) const;

    /// Restores the contents of a checkpointed process; the process is locked afterwards. Throws Error. `pairs`: as for
    /// Driver::restore(). `stop`: stop request that ends the copy early; may be null.
    void load(pid_t pid, std::span<const StoredContent> contents, std::span<const GpuPair> pairs,
              const memory::PageSources& sources, StopRequest* stop) const;

private:
    void move(const StorageOperation& operation, device::Direction direction,
              std::span<const std::shared_ptr<device::ContentStore>> stores, StopRequest* stop) const;
    void savePages(const StorageOperation& operation, std::vector<StoredContent>& contents, memory::PageSinks& sinks,
                   std::atomic<std::uint32_t>& next) const;
    void expect(const StorageOperation& operation) const;

    const Storage& storage_;
    const memory::ReadWatch& watch_;
    std::atomic<std::uint64_t>* bytes_;
};

}  // namespace criu::cuda
