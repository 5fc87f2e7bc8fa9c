// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/dump_objects.hpp"

namespace criu::amdgpu {
namespace {

// First number that stands for a handle of a compute buffer in images for CRIU 4.2. It is greater than all GEM handles.
constexpr std::uint32_t kOwnHandles = 0x40000000;

}  // namespace

DumpObjects::Key DumpObjects::keyOf(int dmabuf) const {
    const struct stat status = kernel_.status(dmabuf);
    return {status.st_dev, status.st_ino};
}

Object DumpObjects::add(int dmabuf) {
    return known_.try_emplace(keyOf(dmabuf), next()).first->second;
}

Object DumpObjects::addPrivate() {
    return known_.try_emplace({0, ++private_}, next()).first->second;
}

Object DumpObjects::find(int dmabuf) const {
    const auto found = known_.find(keyOf(dmabuf));
    return found != known_.end() ? found->second : 0;
}

/// Up to Linux 6.7, the compute driver creates a new DMA-BUF for each export (amdgpu_amdkfd_gpuvm.c). So criu also
/// compares mmap offsets: a buffer has the same offset on its GPU in all processes.
void DumpObjects::identify(std::vector<DumpedProcess>& processes, const Topology& topology) {
    std::map<std::pair<std::uint32_t, std::uint64_t>, Object> byOffset;
    for (DumpedProcess& process : processes)
        for (std::size_t at = 0; at < process.state.buffers.size(); ++at) {
            const uapi::KfdBuffer& buffer = process.state.buffers[at];
            const UniqueFd& dmabuf = process.dmabufs[at];
            Object object = dmabuf ? add(dmabuf.get()) : 0;
            if (object != 0) {
                const auto [known, fresh] =
                    byOffset.try_emplace({minorOf(process, buffer, topology), buffer.offset}, object);
                if (!fresh && known->second != object) {
                    known_[keyOf(dmabuf.get())] = object = known->second;
                    changing_.insert(object);
                }
            }
            process.objects.push_back(object);
        }
}

/// Returns true if an entry looks like an import. The driver doesn't report imports, but gives all of them the same
/// flags (import_obj_create() of amdgpu_amdkfd_gpuvm.c, Linux 6.18).
bool DumpObjects::looksImported(const uapi::KfdBuffer& buffer) noexcept {
    constexpr std::uint32_t kKinds = uapi::kKfdVram | uapi::kKfdGtt;
    return (buffer.flags & ~kKinds) == (uapi::kKfdWritable | uapi::kKfdExecutable);
}

/// Chooses the entry that creates each object in a restore; all other entries import the object. Chooses the entry of
/// the process that created the object, or the first entry if no entry is known to be the creator's. For CRIU 4.2, the
/// compute driver creates all buffers that it lists.
void DumpObjects::chooseOwners(DumpedTree& tree, bool compat) {
    std::set<Object> made;
    for (DumpedProcess& process : tree.processes)
        process.imported.assign(process.objects.size(), false);
    const auto compute = [&](bool imports) {
        for (DumpedProcess& process : tree.processes)
            for (std::size_t at = 0; at < process.objects.size(); ++at)
                if (process.objects[at] != 0 && looksImported(process.state.buffers[at]) == imports)
                    process.imported[at] = !made.insert(process.objects[at]).second;
    };
    const auto render = [&](bool imports) {
        for (RenderNode& node : tree.nodes)
            for (RenderBuffer& buffer : node.buffers) {
                handles_.try_emplace(buffer.object, buffer.entry.handle);
                if (((buffer.entry.flags & uapi::kListImported) != 0) == imports)
                    buffer.imported = !made.insert(buffer.object).second;
            }
    };
    compute(false);
    if (compat)
        compute(true);
    render(false);
    if (!compat)
        compute(true);
    render(true);
}

std::uint32_t DumpObjects::handleOf(Object object) const {
    const auto found = handles_.find(object);
    return found != handles_.end() ? found->second : kOwnHandles + object;
}

}  // namespace criu::amdgpu
