// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/dump_contents.hpp"

#include <chrono>

#include "criu/base/stop_request.hpp"
#include "criu/device/content_mover.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/memory/pages/read_watch.hpp"
#include "plugins/amdgpu/content_driver.hpp"
#include "plugins/amdgpu/cpu_copier.hpp"
#include "plugins/amdgpu/image_file.hpp"

namespace criu::amdgpu {

bool DumpContents::usesPages() const {
    return context_.sinks != nullptr && context_.sinks->takes(memory::MemoryObject::Kind::Device);
}

device::ContentStore& DumpContents::openPages(std::uint32_t& object, std::uint64_t size) {
    object = static_cast<std::uint32_t>(pages_.size() + 1);
    return *pages_.emplace_back(std::make_unique<device::SavedPages>(*context_.sinks, object, size));
}

device::ContentStore& DumpContents::openFile(const std::string& name, std::uint64_t size) {
    auto content = std::make_unique<device::FileContents>(createContent(context_.images, name, size), kContentStart);
    return *files_.emplace_back(name, std::move(content)).second;
}

void DumpContents::expect(std::uint64_t bytes) const {
    if (context_.watch.expected)
        context_.watch.expected(bytes);
}

void DumpContents::save(DumpedTree& tree, std::uint64_t bufferLimit) {
    GpuContents contents(kernel_);
    device::ContentMover mover(contents, device::Direction::Save, bufferLimit, &context_.stop, context_.watch);
    for (DumpedProcess& process : tree.processes)
        addProcess(process, mover);
    for (RenderNode& node : tree.nodes)
        if (usesPages())
            addNode(node, mover);
        else
            addNodeToFiles(node, mover);
    mover.finish();
    for (const auto& pages : pages_)
        pages->finish();
    for (const auto& [name, file] : files_)
        file->finish(name);
    mover.report(context_.log);
}

void DumpContents::addProcess(DumpedProcess& process, device::ContentMover& mover) {
    process.contentPositions.assign(process.state.buffers.size(), 0);
    for (const uapi::KfdDevice& device : process.state.devices)
        addBuffers(process, device, mover);
}

/// Adds the buffers of a process on one GPU to the work of `mover`.
void DumpContents::addBuffers(DumpedProcess& process, const uapi::KfdDevice& device, device::ContentMover& mover) {
    const Node* const gpu = topology_.findGpu(device.actualGpuId);
    if (gpu == nullptr)
        fail("process {} uses GPU {:#06x}, which {} doesn't show", process.pid, device.actualGpuId, kernel_.topology());
    const bool inPages = usesPages();
    std::uint64_t size = 0;
    std::vector<std::size_t> here;
    for (std::size_t at = 0; at < process.state.buffers.size(); ++at) {
        const uapi::KfdBuffer& buffer = process.state.buffers[at];
        if (buffer.gpuId != device.userGpuId || !hasContent(buffer))
            continue;
        if (!process.dmabufs[at])
            fail("the driver gave no DMA-BUF for the buffer at {:#x} of process {}", buffer.address, process.pid);
        if (!process.imported[at])
            here.push_back(at);
        // Files in CRIU 4.2's form have a hole in place of an imported buffer. Memory objects in pages don't have such
        // holes.
        if (process.imported[at] && inPages)
            continue;
        process.contentPositions[at] = size;
        size += buffer.size;
    }
    if (inPages && size == 0)
        return;
    device::ContentStore& store = inPages ? openPages(process.contentObjects[device.userGpuId], size)
                                          : openFile(pagesImageName(process.id, device.userGpuId), size);
    for (const std::size_t at : here) {
        expect(process.state.buffers[at].size);
        mover.add(gpu->renderMinor, {std::move(process.dmabufs[at]), process.state.buffers[at].size, &store,
                                     process.contentPositions[at]});
    }
}

/// Adds the buffers of a render node to the work of `mover`. The calling thread itself copies buffers that can't be
/// exported. These buffers come first: they are copied immediately, and an ordered store accepts only ascending
/// positions.
void DumpContents::addNode(RenderNode& node, device::ContentMover& mover) {
    std::vector<RenderBuffer*> order;
    for (const bool exported : {false, true})
        for (RenderBuffer& buffer : node.buffers)
            if (!buffer.imported && !buffer.isUserptr() && static_cast<bool>(buffer.dmabuf) == exported)
                order.push_back(&buffer);
    std::uint64_t size = 0;
    for (RenderBuffer* const buffer : order) {
        buffer->contentPosition = size;
        size += buffer->entry.size;
    }
    if (size == 0)
        return;
    device::ContentStore& store = openPages(node.contentObject, size);
    for (RenderBuffer* const buffer : order)
        move(node, *buffer, store, buffer->contentPosition, mover);
}

/// Adds the buffers of a render node in CRIU 4.2's form: one file for each buffer.
void DumpContents::addNodeToFiles(RenderNode& node, device::ContentMover& mover) {
    for (std::size_t at = 0; at < node.buffers.size(); ++at) {
        RenderBuffer& buffer = node.buffers[at];
        if (buffer.isUserptr())
            continue;
        move(node, buffer, openFile(renderPagesImageName(node.id, node.minor, at), buffer.entry.size), 0, mover);
    }
}

void DumpContents::move(RenderNode& node, RenderBuffer& buffer, device::ContentStore& store, std::uint64_t position,
                        device::ContentMover& mover) {
    expect(buffer.entry.size);
    if (buffer.dmabuf)
        mover.add(node.minor, {std::move(buffer.dmabuf), buffer.entry.size, &store, position});
    else
        save(node, buffer, store, position);
}

void DumpContents::save(const RenderNode& node, const RenderBuffer& buffer, device::ContentStore& store,
                        std::uint64_t position) {
    const auto began = std::chrono::steady_clock::now();
    saveMapped(kernel_, {node.fd.get(), *buffer.mmapOffset, buffer.entry.size}, store, position,
               [this] { context_.stop.throwIfRequested(); });
    if (context_.watch.piece)
        context_.watch.piece(began, buffer.entry.size);
}

}  // namespace criu::amdgpu
