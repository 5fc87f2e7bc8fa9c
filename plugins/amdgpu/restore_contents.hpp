// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "criu/device/content_channel.hpp"
#include "criu/device/subsystem.hpp"
#include "plugins/amdgpu/content_driver.hpp"
#include "plugins/amdgpu/cpu_copier.hpp"
#include "plugins/amdgpu/restore_objects.hpp"

namespace criu::amdgpu {

/// Loads contents of buffers from pages, or from files in CRIU 4.2's form. The coordinator loads them while criu
/// restores the processes. With --no-parallel, each process loads the contents of its buffers.
class RestoreContents {
public:
    /// `bufferLimit`: function that returns the memory limit for copies; called only if the images have GPU contents.
    RestoreContents(Kernel& kernel, const device::Context& context, std::function<std::uint64_t()> bufferLimit);

    /// Called in the coordinator: opens the pages and checks that they contain all contents. Throws Error.
    void prepare(const RestoreImages& images);
    /// Called in the coordinator: creates the descriptors that restored processes inherit.
    void share(kernel::FdStore& store);
    /// Called in the coordinator when it begins to create processes: starts the thread that receives buffers.
    void startWork();
    /// Called in the coordinator: discards contents that aren't loaded yet, and ends all threads.
    void endWork() noexcept;

    /// Returns the place of a buffer's content. `filePosition`: position in a file in CRIU 4.2's form. Such a file
    /// contains all buffers of a process on one GPU.
    [[nodiscard]] static device::ContentPlace placeOf(FileId id, const CriuKfd& image, const KfdBoEntry& buffer,
                                                      std::uint64_t filePosition);
    [[nodiscard]] static device::ContentPlace placeOf(FileId id, const CriuRenderNode& image, std::size_t index);

    /// Called in a restored process: passes buffers to the coordinator. With --no-parallel, fills the buffers itself.
    void load(std::vector<device::ContentRequest>& requests);
    /// Called in a restored process: fills one of its buffers by the processor. For buffers that can't be exported.
    void load(const MappedContent& into, const device::ContentPlace& place);

    /// Called in the coordinator: waits until all passed buffers are filled. Throws the first failure.
    void finish();

private:
    [[nodiscard]] device::LoadedStores makeStores();
    void require(const device::ContentPlace& place, std::uint64_t size) const;

    const device::Context& context_;
    std::function<std::uint64_t()> bufferLimit_;
    GpuContents driver_;
    device::ContentSources sources_;
    std::uint64_t bytes_ = 0;                     ///< size of all contents in bytes
    std::optional<device::LoadedStores> stores_;  ///< stores from which channel_ loads contents
    std::optional<device::ContentChannel> channel_;
};

}  // namespace criu::amdgpu
