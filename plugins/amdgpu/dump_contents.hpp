// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "criu/device/content_store.hpp"
#include "criu/device/subsystem.hpp"
#include "plugins/amdgpu/dump_state.hpp"

namespace criu::device {
class ContentMover;
}

namespace criu::amdgpu {

/// Saves contents of buffers in pages of the images, like memory of processes. There is one memory object for each GPU
/// of a process, and one for each open render node. With --compat 4.2, a page server or --track-mem, the
/// images can't have pages of devices. Then writes the separate files of CRIU 4.2.
class DumpContents {
public:
    DumpContents(Kernel& kernel, const device::Context& context, const Topology& topology)
        : kernel_(kernel), context_(context), topology_(topology) {}

    /// Saves all contents, records their places in the tree, and closes the DMA-BUFs of all buffers. `bufferLimit`:
    /// memory for copies on each GPU, in bytes. Throws Error.
    void save(DumpedTree& tree, std::uint64_t bufferLimit);

private:
    void addProcess(DumpedProcess& process, device::ContentMover& mover);
    void addBuffers(DumpedProcess& process, const uapi::KfdDevice& device, device::ContentMover& mover);
    void addNode(RenderNode& node, device::ContentMover& mover);
    void addNodeToFiles(RenderNode& node, device::ContentMover& mover);
    void save(const RenderNode& node, const RenderBuffer& buffer, device::ContentStore& store, std::uint64_t position);
    void move(RenderNode& node, RenderBuffer& buffer, device::ContentStore& store, std::uint64_t position,
              device::ContentMover& mover);
    [[nodiscard]] bool usesPages() const;
    device::ContentStore& openPages(std::uint32_t& object, std::uint64_t size);
    device::ContentStore& openFile(const std::string& name, std::uint64_t size);
    void expect(std::uint64_t bytes) const;

    Kernel& kernel_;
    const device::Context& context_;
    const Topology& topology_;
    std::vector<std::unique_ptr<device::SavedPages>> pages_;  ///< stores of memory objects; index 0 is object 1
    std::vector<std::pair<std::string, std::unique_ptr<device::FileContents>>>
        files_;  ///< stores in CRIU 4.2's form, by the names of their files
};

}  // namespace criu::amdgpu
