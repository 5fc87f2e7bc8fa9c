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

/// Loads the contents of buffers, from pages or from files of CRIU 4.2's form: the master does it while processes are
/// restored, or (--no-parallel) each process by itself.
class RestoreContents {
public:
    /// `bufferLimit` is asked for when the images have something of GPUs.
    RestoreContents(Kernel& kernel, const device::Context& context, std::function<std::uint64_t()> bufferLimit);

    /// Master: opens the pages, and checks that they have what the images refer to. Throws Error.
    void prepare(const RestoreImages& images);
    /// Master: descriptors for processes.
    void share(kernel::FdStore& store);
    /// Master: processes are being created.
    void startWork();
    /// Master: gives up what isn't loaded yet. No threads are left.
    void endWork() noexcept;

    /// Where the content of a buffer is. `filePosition`: in a file of 4.2's form, which has all buffers of a process on
    /// one GPU behind each other.
    [[nodiscard]] static device::ContentPlace placeOf(FileId id, const CriuKfd& image, const KfdBoEntry& buffer,
                                                      std::uint64_t filePosition);
    [[nodiscard]] static device::ContentPlace placeOf(FileId id, const CriuRenderNode& image, std::size_t index);

    /// Target: hands buffers over to the master, or fills them.
    void load(std::vector<device::ContentRequest>& requests);
    /// Target: fills, by the processor, what nobody else can be given.
    void load(const MappedContent& into, const device::ContentPlace& place);

    /// Master: returns when all buffers that were handed over are filled. Throws the first failure.
    void finish();

private:
    [[nodiscard]] device::LoadedStores makeStores();
    void require(const device::ContentPlace& place, std::uint64_t size) const;

    const device::Context& context_;
    std::function<std::uint64_t()> bufferLimit_;
    GpuContents driver_;
    device::ContentSources sources_;
    std::uint64_t bytes_ = 0;                     ///< of all contents
    std::optional<device::LoadedStores> stores_;  ///< of the channel
    std::optional<device::ContentChannel> channel_;
};

}  // namespace criu::amdgpu
