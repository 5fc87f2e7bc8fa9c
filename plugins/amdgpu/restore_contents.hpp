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

/// Loads contents of buffers from pages or from files of CRIU 4.2's form. The coordinator loads them while processes
/// are restored; with --no-parallel each process loads its own.
class RestoreContents {
public:
    /// `bufferLimit` is called only if the images have GPU contents.
    RestoreContents(Kernel& kernel, const device::Context& context, std::function<std::uint64_t()> bufferLimit);

    /// Coordinator: opens the pages and checks that they have all contents. Throws Error.
    void prepare(const RestoreImages& images);
    /// Creates the descriptors that restored processes inherit. Called by the coordinator.
    void share(kernel::FdStore& store);
    /// Starts the thread that receives buffers. The coordinator calls it when it begins to create processes.
    void startWork();
    /// Drops contents that aren't loaded yet, and ends all threads. Called by the coordinator.
    void endWork() noexcept;

    /// Returns the place of a buffer's content. `filePosition`: position in a file of 4.2's form, which has all buffers
    /// of a process on one GPU.
    [[nodiscard]] static device::ContentPlace placeOf(FileId id, const CriuKfd& image, const KfdBoEntry& buffer,
                                                      std::uint64_t filePosition);
    [[nodiscard]] static device::ContentPlace placeOf(FileId id, const CriuRenderNode& image, std::size_t index);

    /// Passes buffers to the coordinator, or fills them here with --no-parallel. Called by a restored process.
    void load(std::vector<device::ContentRequest>& requests);
    /// Fills a buffer that can't be exported, by the processor. Called by the restored process that has the buffer.
    void load(const MappedContent& into, const device::ContentPlace& place);

    /// Waits until all passed buffers are filled. Throws the first failure. Called by the coordinator.
    void finish();

private:
    [[nodiscard]] device::LoadedStores makeStores();
    void require(const device::ContentPlace& place, std::uint64_t size) const;

    const device::Context& context_;
    std::function<std::uint64_t()> bufferLimit_;
    GpuContents driver_;
    device::ContentSources sources_;
    std::uint64_t bytes_ = 0;                     ///< size of all contents
    std::optional<device::LoadedStores> stores_;  ///< places that channel_ loads contents from
    std::optional<device::ContentChannel> channel_;
};

}  // namespace criu::amdgpu
