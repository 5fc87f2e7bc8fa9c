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
    /// Coordinator: creates descriptors for processes.
    void share(kernel::FdStore& store);
    /// Coordinator: processes are being created.
    void startWork();
    /// Coordinator: drops contents not loaded yet and ends all threads.
    void endWork() noexcept;

    /// Returns the place of a buffer's content. `filePosition`: position in a file of 4.2's form, which has all buffers
    /// of a process on one GPU.
    [[nodiscard]] static device::ContentPlace placeOf(FileId id, const CriuKfd& image, const KfdBoEntry& buffer,
                                                      std::uint64_t filePosition);
    [[nodiscard]] static device::ContentPlace placeOf(FileId id, const CriuRenderNode& image, std::size_t index);

    /// Restored process: passes buffers to the coordinator, or fills them.
    void load(std::vector<device::ContentRequest>& requests);
    /// Restored process: fills a buffer that can't be passed, by the processor.
    void load(const MappedContent& into, const device::ContentPlace& place);

    /// Coordinator: waits until all passed buffers are filled. Throws the first failure.
    void finish();

private:
    [[nodiscard]] device::LoadedStores makeStores();
    void require(const device::ContentPlace& place, std::uint64_t size) const;

    const device::Context& context_;
    std::function<std::uint64_t()> bufferLimit_;
    GpuContents driver_;
    device::ContentSources sources_;
    std::uint64_t bytes_ = 0;                     ///< size of all contents
    std::optional<device::LoadedStores> stores_;  ///< stores of the channel
    std::optional<device::ContentChannel> channel_;
};

}  // namespace criu::amdgpu
