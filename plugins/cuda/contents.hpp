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

/// Contents of GPUs between devices and a checkpoint, without a copy in memory of the process.
namespace criu::cuda {

/// First number of the memory objects, above the numbers of other drivers.
inline constexpr std::uint32_t kFirstObject = 1U << 30;

/// Contents of a process on one GPU, and where they are stored.
struct StoredContent {
    Uuid gpu{};
    std::uint64_t bytes = 0;
    std::uint32_t object = 0;                    ///< pages of MemoryObject::device()
    std::shared_ptr<device::ContentStore> here;  ///< instead of pages: in memory of this process
};

/// Moves contents of one process per call. Several threads may call it at once.
class ContentStorage {
public:
    /// `bytes`: counter to which the size is added once known; may be null.
    ContentStorage(const Storage& storage, const memory::ReadWatch& watch, std::atomic<std::uint64_t>* bytes = nullptr)
        : storage_(storage), watch_(watch), bytes_(bytes) {}

    /// Locked -> Checkpointed. Contents go to objects of `sinks`, with numbers from `next` on. If a sink fails,
    /// contents go to memory of this process and `failure` is set: the driver can't abort before all is read. Throws
    /// Error if nothing has begun, or if all is lost.
    std::vector<StoredContent> save(pid_t pid, memory::PageSinks& sinks, std::atomic<std::uint32_t>& next,
                                    std::exception_ptr& failure) const;

    /// Checkpointed -> Locked. `pairs` as for Driver::restore(). `stop` ends the copy early; may be null. Throws Error.
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
