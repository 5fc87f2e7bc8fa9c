// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "plugins/amdgpu/drm.hpp"
#include "plugins/amdgpu/kfd.hpp"
#include "plugins/amdgpu/topology.hpp"

/// What a dump has found of the GPUs' drivers in a tree, before it is written.
namespace criu::amdgpu {

/// A number for a buffer: the same one for the same memory, in whatever process; 0: unknown.
using Object = std::uint32_t;

/// A process with compute state.
struct DumpedProcess {
    FileId id;  ///< of its /dev/kfd
    HostPid pid;
    UniqueFd kfd;
    std::uint32_t version = 0;  ///< of the compute driver's interface: 1.N
    bool paused = false;        ///< its queues are stopped by this dump
    KfdProcess info;
    KfdState state;
    std::vector<UniqueFd> dmabufs;                  ///< of state.buffers, some empty
    std::vector<Object> objects;                    ///< likewise
    std::vector<bool> imported;                     ///< likewise: somebody else makes the buffer
    std::map<GpuId, FileId> drmFiles;               ///< by user id: whose address space it has; only what was found out
    std::map<GpuId, std::uint32_t> contentObjects;  ///< by user id: of which pages contents are; none: of files
    std::vector<std::uint64_t> contentPositions;    ///< of state.buffers: where among them
};

/// Another description of a /dev/kfd.
struct SecondaryKfd {
    FileId id;
    HostPid pid;
    FileId primary;  ///< the file whose image has the process' state
};

/// A buffer of a render node.
struct RenderBuffer {
    uapi::GemListEntry entry{};
    std::vector<uapi::VmEntry> mappings;
    BufferNotes notes;
    std::optional<std::uint64_t> mmapOffset;  ///< none if processors may not touch it
    UniqueFd dmabuf;                          ///< empty if it can't be exported, being valid in one address space only
    Object object = 0;
    bool imported = false;
    std::uint64_t contentPosition = 0;
};

/// An open render node.
struct RenderNode {
    FileId id;
    HostPid pid;
    std::uint32_t minor = 0;
    UniqueFd fd;
    std::vector<RenderBuffer> buffers;
    std::uint32_t contentObject = 0;  ///< of which pages contents are; 0: of files
};

/// An open DMA-BUF.
struct DumpedDmabuf {
    FileId id;
    UniqueFd fd;
    std::string name;  ///< for messages
};

/// A mapping of device memory.
struct MappedRange {
    HostPid pid;
    std::uint32_t minor = 0;  ///< 0: of /dev/kfd
    std::uint64_t start = 0;
    std::uint64_t offset = 0;
};

struct DumpedTree {
    std::vector<DumpedProcess> processes;
    std::vector<SecondaryKfd> further;
    std::vector<RenderNode> nodes;
    std::vector<DumpedDmabuf> dmabufs;
    std::vector<MappedRange> mapped;

    [[nodiscard]] bool empty() const noexcept {
        return processes.empty() && nodes.empty() && dmabufs.empty() && mapped.empty();
    }
};

/// The render node of the GPU that a buffer is of; 0: the GPU can't be seen.
std::uint32_t minorOf(const DumpedProcess& process, const uapi::KfdBuffer& buffer, const Topology& topology);

/// "process 12 (python3)".
std::string nameOf(HostPid pid);

}  // namespace criu::amdgpu
