// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/dump_buffers.hpp"

#include <fcntl.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/loss.hpp"
#include "plugins/amdgpu/driver/drm.hpp"

namespace criu::amdgpu {
namespace {

/// Throws Error for a buffer that isn't memory, or that the driver refuses to export or map. The rules are those of
/// amdgpu_gem_prime_export() and amdgpu_mode_dumb_mmap() of Linux 6.18.
void refuseUnreachable(const RenderNode& node, const RenderBuffer& buffer) {
    std::string what;
    if (buffer.isUserptr())
        return;
    if ((buffer.entry.preferredDomains & ~uapi::kMemoryDomains) != 0)
        what = "is no memory, but a part of the GPU itself";
    else if ((buffer.entry.allocFlags & AMDGPU_GEM_CREATE_ENCRYPTED) != 0)
        what = "is encrypted";
    else if (!buffer.dmabuf && (buffer.entry.allocFlags & AMDGPU_GEM_CREATE_VM_ALWAYS_VALID) == 0)
        what = "is memory of a process (GEM_USERPTR), whose address the driver doesn't tell";
    else if (!buffer.dmabuf && !buffer.mmapOffset)
        what = "is always valid in its address space, and hidden from processors: criu can't read it";
    else
        return;
    const NoOuterContexts whole;
    fail("buffer {} of {} in {} {}", buffer.entry.handle, renderPath(node.minor), nameOf(node.pid), what);
}

/// Returns true if the kernel has GEM_CHANGE_HANDLE, which only the first versions of Linux 6.18 have. Tries the call
/// with a file of criu.
bool canChangeHandles(Kernel& kernel, std::uint32_t minor) {
    constexpr std::uint32_t kOther = 1000;
    const UniqueFd own = kernel.open(renderPath(minor), O_RDWR);
    const Drm drm(kernel, own.get());
    uapi::GemChangeHandle args{drm.create(kGpuPageSize, kGpuPageSize, AMDGPU_GEM_DOMAIN_GTT, 0), kOther};
    return kernel.tryIoctl(own.get(), uapi::kGemChangeHandle, &args) == 0;
}

}  // namespace

/// A process may have opened a render node several times. The driver doesn't tell which of these files provides the
/// address space. Only that file can map buffers of the compute driver. Other files get EACCES, because
/// amdgpu_amdkfd_gpuvm.c doesn't allow them (drm_gem_mmap()).
void findDrmFiles(Kernel& kernel, DumpedProcess& process, const std::vector<RenderNode>& nodes,
                  const Topology& topology) {
    for (const uapi::KfdDevice& device : process.state.devices) {
        const Node* const gpu = topology.findGpu(device.actualGpuId);
        const auto buffer =
            std::find_if(process.state.buffers.begin(), process.state.buffers.end(),
                         [&](const uapi::KfdBuffer& one) { return one.gpuId == device.userGpuId && hasContent(one); });
        if (gpu == nullptr || buffer == process.state.buffers.end())
            continue;
        for (const RenderNode& node : nodes)
            if (node.minor == gpu->renderMinor && kernel.tryMap(node.fd.get(), buffer->offset) != EACCES) {
                process.drmFiles.emplace(device.userGpuId, node.id);
                break;
            }
    }
}

void listBuffers(Kernel& kernel, RenderNode& node, DumpObjects& objects, Log& log) {
    const Drm drm(kernel, node.fd.get());
    const auto entries = drm.buffers();
    if (!entries) {
        // Compute processes open render nodes without creating buffers there, so this is only a warning.
        // checkMappings() throws if a process has mapped an unknown buffer.
        log.loss(Loss::Gpu,
                 "amdgpu: this kernel doesn't say which buffers process {} has by {}: if there are any, they "
                 "are lost",
                 node.pid, renderPath(node.minor));
        return;
    }
    for (const uapi::GemListEntry& entry : *entries) {
        RenderBuffer buffer;
        buffer.entry = entry;
        {
            const ErrorContext context([&] {
                return fmt::format("buffer {} of {} in process {}", entry.handle, renderPath(node.minor), node.pid);
            });
            buffer.mappings = drm.mappings(entry.handle);
            buffer.notes = drm.notes(entry.handle);
            buffer.mmapOffset = drm.tryMmapOffset(entry.handle);
            buffer.dmabuf = drm.tryExport(entry.handle);
            refuseUnreachable(node, buffer);
            if (buffer.dmabuf)
                buffer.object = objects.add(buffer.dmabuf.get());
            else
                buffer.object = objects.addPrivate();
        }
        node.buffers.push_back(std::move(buffer));
    }
    std::sort(node.buffers.begin(), node.buffers.end(),
              [](const RenderBuffer& one, const RenderBuffer& other) { return one.entry.handle < other.entry.handle; });
}

void checkHandles(Kernel& kernel, const RenderNode& node, bool killed, Log& log) {
    if (node.buffers.empty())
        return;
    const std::uint32_t last = node.buffers.back().entry.handle;
    if (last <= node.buffers.size() + kMostFreeHandles || canChangeHandles(kernel, node.minor))
        return;
    const std::string what = fmt::format(
        "{} has {} buffers of {}, of which one has the handle {}: this kernel has no GEM_CHANGE_HANDLE, "
        "without which it can't be restored here",
        nameOf(node.pid), node.buffers.size(), renderPath(node.minor), last);
    if (!killed) {
        log.warn("amdgpu: {}", what);
        return;
    }
    Error error(0, what);
    error.addHint("with --leave-running the dump is made, for a machine that has it");
    throw error;
}

/// RESTORE creates a buffer for each entry of each process (kfd_chardev.c), so processes would no longer share memory.
/// A restore replaces these duplicates if it can find their handles (importBuffers()). CRIU 4.2 doesn't replace them.
void refuseSharing(const std::vector<DumpedProcess>& processes, const DumpObjects& objects, const Topology& topology,
                   bool compat) {
    std::map<Object, std::pair<const DumpedProcess*, const uapi::KfdBuffer*>> first;
    for (const DumpedProcess& process : processes)
        for (std::size_t at = 0; at < process.objects.size(); ++at) {
            const uapi::KfdBuffer& buffer = process.state.buffers[at];
            if (process.objects[at] == 0)
                continue;
            const auto [known, fresh] = first.try_emplace(process.objects[at], &process, &buffer);
            if (fresh || (!compat && !objects.changes(process.objects[at])))
                continue;
            const auto& [other, its] = known->second;
            const Node* const gpu = topology.findMinor(minorOf(process, buffer, topology));
            Error error(0,
                        fmt::format("{} and {} share memory of {}: {} bytes at {:#x} and {:#x}. {} would "
                                    "restore them as two separate buffers",
                                    nameOf(other->pid), nameOf(process.pid),
                                    gpu != nullptr ? gpu->describe() : std::string("a GPU"), buffer.size, its->address,
                                    buffer.address, compat ? "CRIU 4.2" : "The compute driver of this kernel"));
            error.addHint(compat
                              ? "without --compat they stay one"
                              : "they stay one from Linux 6.8 on; here the dump can be made when the handle is closed "
                                "(hipIpcCloseMemHandle() or the like)");
            throw error;
        }
}

void warnOfDies(const DumpedProcess& process, const Topology& topology, Log& log) {
    if (process.version >= kFirstWithAllDies)
        return;
    for (const uapi::KfdDevice& device : process.state.devices)
        if (const Node* const gpu = topology.findGpu(device.actualGpuId); gpu != nullptr && gpu->dies > 1)
            log.loss(
                Loss::Gpu,
                "amdgpu: {} has {} dies, and kernels before 6.17 save the state of queues on the first of them only "
                "(but for stable versions since August 2025): queues of {} may stand still after a restore",
                gpu->describe(), gpu->dies, nameOf(process.pid));
}

void dropComputeMappings(DumpedTree& tree) {
    for (RenderNode& node : tree.nodes)
        for (const DumpedProcess& process : tree.processes) {
            if (std::none_of(process.drmFiles.begin(), process.drmFiles.end(),
                             [&](const auto& file) { return file.second == node.id; }))
                continue;
            for (RenderBuffer& buffer : node.buffers)
                std::erase_if(buffer.mappings, [&](const uapi::VmEntry& mapping) {
                    for (std::size_t at = 0; at < process.objects.size(); ++at)
                        if (process.objects[at] == buffer.object &&
                            process.state.buffers[at].address == mapping.address)
                            return true;
                    return false;
                });
        }
}

void checkMappings(const DumpedTree& tree, const Topology& topology) {
    for (const MappedRange& mapped : tree.mapped) {
        const auto within = [&](std::uint64_t offset, std::uint64_t size) {
            return mapped.offset >= offset && mapped.offset - offset < size;
        };
        if (mapped.minor == 0) {
            const auto process = std::find_if(tree.processes.begin(), tree.processes.end(),
                                              [&](const DumpedProcess& one) { return one.pid == mapped.pid; });
            if (process == tree.processes.end())
                fail("memory at {:#x} of process {} is of {}, which the process has closed", mapped.start, mapped.pid,
                     kKfdPath);
            // Older drivers let programs map doorbells and registers of integrated GPUs, without a buffer in the
            // driver's lists.
            if ((mapped.offset & uapi::kKfdMmapTypeMask) != uapi::kKfdMmapEvents &&
                std::none_of(process->state.buffers.begin(), process->state.buffers.end(),
                             [&](const uapi::KfdBuffer& buffer) {
                                 return !hasContent(buffer) && within(buffer.offset, buffer.size);
                             }))
                fail("memory at {:#x} of {} maps offset {:#x} of {}, which the driver has in none of its lists",
                     mapped.start, nameOf(mapped.pid), mapped.offset, kKfdPath);
            continue;
        }
        const bool known =
            std::any_of(tree.processes.begin(), tree.processes.end(),
                        [&](const DumpedProcess& process) {
                            return process.pid == mapped.pid &&
                                   std::any_of(process.state.buffers.begin(), process.state.buffers.end(),
                                               [&](const uapi::KfdBuffer& buffer) {
                                                   // Two render nodes may have buffers with the same offset.
                                                   return minorOf(process, buffer, topology) == mapped.minor &&
                                                          within(buffer.offset, buffer.size);
                                               });
                        }) ||
            std::any_of(tree.nodes.begin(), tree.nodes.end(), [&](const RenderNode& node) {
                return node.minor == mapped.minor &&
                       std::any_of(node.buffers.begin(), node.buffers.end(), [&](const RenderBuffer& buffer) {
                           return buffer.mmapOffset && within(*buffer.mmapOffset, buffer.entry.size);
                       });
            });
        if (known)
            continue;
        Error error(0, fmt::format("memory at {:#x} of process {} maps offset {:#x} of {}, where no buffer of the "
                                   "process is",
                                   mapped.start, mapped.pid, mapped.offset, renderPath(mapped.minor)));
        error.addHint("if it has just freed the buffer and is about to unmap it, another try will do");
        throw error;
    }
}

}  // namespace criu::amdgpu
