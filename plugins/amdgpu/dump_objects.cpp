// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/dump_objects.hpp"

namespace criu::amdgpu {
namespace {

// Handles that CRIU 4.2 finds KFD buffers by: beyond any that render nodes give.
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

/// Until Linux 6.7 (amdgpu_amdkfd_gpuvm.c) the compute driver makes a new DMA-BUF of a buffer each time that it is
/// asked for one. But on one GPU a buffer has one mmap offset, whoever has it.
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
                if (!fresh && known->second != object)
                    known_[keyOf(dmabuf.get())] = object = known->second;
            }
            process.objects.push_back(object);
        }
}

/// Exactly one description makes each object on restore, the others import it: a process' compute state, else the file
/// that made it, else (that is gone) the first that imported it.
void DumpObjects::chooseOwners(DumpedTree& tree) {
    std::map<Object, bool> owned;
    for (const DumpedProcess& process : tree.processes)
        for (const Object object : process.objects)
            if (object != 0)
                owned[object] = true;
    for (const bool imported : {false, true})
        for (RenderNode& node : tree.nodes)
            for (RenderBuffer& buffer : node.buffers) {
                handles_.try_emplace(buffer.object, buffer.entry.handle);
                if (((buffer.entry.flags & uapi::kListImported) != 0) != imported)
                    continue;
                buffer.imported = !owned.try_emplace(buffer.object, true).second;
            }
}

std::uint32_t DumpObjects::handleOf(Object object) const {
    const auto found = handles_.find(object);
    return found != handles_.end() ? found->second : kOwnHandles + object;
}

}  // namespace criu::amdgpu
