// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "criu/device/content.hpp"
#include "plugins/cuda/api.hpp"

/// Storage mode of the driver's checkpoint calls (CUDA 13.4, driver 615). The driver gives criu access to the contents
/// of a process on GPUs. criu copies the contents between GPUs and images.
namespace criu::cuda {

/// Contents of a process on one GPU: a range of addresses in criu's process. Only copies by the GPU can access these
/// addresses.
struct StoredRange {
    Uuid gpu{};
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    void* context = nullptr;  ///< CUDA context in which criu makes the copies
};

/// CUDA contexts of criu, one on each GPU, and the functions for storage mode. Several threads may use one object.
class Storage {
public:
    /// Starts CUDA in criu's process. This takes tenths of a second for each GPU. Returns null if the driver lacks
    /// storage mode. Throws Error. `api` must outlive the result.
    static std::unique_ptr<Storage> open(const Api& api);
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    /// Functions of the driver API in the form that they have in CUDA 13.4. Pointers to streams, contexts and buffers
    /// are opaque.
    struct Calls {
        int (*complete)(void* handle);
        int (*deviceCount)(int*);
        int (*deviceGet)(int*, int);
        int (*deviceUuid)(Uuid*, int);
        int (*retainContext)(void**, int);
        int (*releaseContext)(int);
        int (*setContext)(void*);
        int (*contextDevice)(int*);
        int (*createStream)(void**, unsigned);
        int (*destroyStream)(void*);
        int (*synchronize)(void*);
        int (*streamContext)(void*, void** context, void** greenContext);
        int (*allocateHost)(void**, std::size_t, unsigned);
        int (*freeHost)(void*);
        int (*copyToDevice)(std::uint64_t, const void*, std::size_t, void*);
        int (*copyToHost)(void*, std::uint64_t, std::size_t, void*);
    };
    [[nodiscard]] const Calls& calls() const noexcept { return calls_; }
    [[nodiscard]] const Api& api() const noexcept { return api_; }

private:
    Storage(const Api& api, const Calls& calls);

    const Api& api_;
    const Calls calls_;
    std::vector<int> retained_;  ///< numbers of the GPUs whose primary context criu has retained
};

/// Storage operation on one process, from the constructor to complete(). The driver's thread in the process must run
/// during the operation.
class StorageOperation {
public:
    /// Begins the operation: Direction::Save checkpoints a locked process, Direction::Load restores a checkpointed
    /// process. If it throws Error, the process is unchanged. `pairs`: as for Driver::restore().
    StorageOperation(const Storage& storage, pid_t pid, device::Direction direction, std::span<const GpuPair> pairs);
    StorageOperation(const StorageOperation&) = delete;
    StorageOperation& operator=(const StorageOperation&) = delete;

    [[nodiscard]] const std::vector<StoredRange>& ranges() const noexcept { return ranges_; }

    /// Ends the operation; the process is checkpointed or locked afterwards. The driver removes the ranges, so contents
    /// that the caller hasn't saved are lost. Throws Error.
    void complete();

private:
    const Storage& storage_;
    pid_t pid_;
    StorageInfo* info_ = nullptr;
    std::vector<StoredRange> ranges_;
};

/// Driver by which ContentMover copies ranges. A device number is an index of `ranges`.
class RangeContents final : public device::ContentDriver {
public:
    /// Both arguments must outlive this object.
    RangeContents(const Storage& storage, const std::vector<StoredRange>& ranges)
        : storage_(storage), ranges_(ranges) {}

    [[nodiscard]] std::string_view name() const override { return "cuda"; }
    [[nodiscard]] std::string describe(std::uint32_t device) const override;
    std::unique_ptr<device::ContentCopier> makeCopier(std::uint32_t device, device::Direction direction,
                                                      std::uint64_t bufferLimit, device::StopCheck checkStop) override;
    std::unique_ptr<device::FileContents> openContent(const ImageDir& images, const std::string& file,
                                                      std::uint64_t size) override;

private:
    const Storage& storage_;
    const std::vector<StoredRange>& ranges_;
};

}  // namespace criu::cuda
