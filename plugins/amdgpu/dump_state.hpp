// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "plugins/amdgpu/client_state.hpp"
#include "plugins/amdgpu/driver/drm.hpp"
#include "plugins/amdgpu/driver/kfd.hpp"
#include "plugins/amdgpu/topology.hpp"

/// Types for all data that a dump gets from the GPU drivers before it writes images.
namespace criu::amdgpu {

/// Number of a buffer. Buffers of several processes with the same memory have the same number. 0: unknown.
using Object = std::uint32_t;

/// Process with compute state.
struct DumpedProcess {
    FileId id;  ///< number of the open /dev/kfd in the images
    HostPid pid;
    UniqueFd kfd;
    std::uint32_t version = 0;  ///< version 1.N of the compute driver's interface
    bool paused = false;        ///< true while this dump keeps the queues of the process stopped
    KfdProcess info;
    KfdState state;
    std::vector<UniqueFd> dmabufs;  ///< one for each of state.buffers; empty for buffers without content
    std::vector<Object> objects;    ///< one for each of state.buffers
    std::vector<bool> imported;     ///< one for each of state.buffers; true: another entry creates the buffer
    std::map<GpuId, FileId>
        drmFiles;  ///< render node that provides the address space, by user id of the GPU; only known render nodes
    std::map<GpuId, std::uint32_t>
        contentObjects;  ///< memory objects of contents, by user id of the GPU; empty if contents are in files
    std::vector<std::uint64_t> contentPositions;  ///< position of each of state.buffers in its memory object, in bytes
};

/// Further open file description of /dev/kfd in a process that is already known.
struct SecondaryKfd {
    FileId id;
    HostPid pid;
    FileId primary;  ///< /dev/kfd whose image contains the process' state
};

/// Buffer of a render node.
struct RenderBuffer {
    uapi::GemListEntry entry{};
    std::vector<uapi::VmEntry> mappings;
    BufferNotes notes;
    std::optional<std::uint64_t> mmapOffset;  ///< offset for mmap(2); none if processors may not access the buffer
    UniqueFd dmabuf;  ///< empty if the buffer can't be exported, because only one address space can use it
    Object object = 0;
    bool imported = false;
    std::uint64_t contentPosition = 0;

    /// Returns true for memory of a process (GEM_USERPTR), which has no content of its own.
    [[nodiscard]] bool isUserptr() const noexcept { return (entry.flags & uapi::kListUserptr) != 0; }
};

/// Open render node.
struct RenderNode {
    FileId id;
    HostPid pid;
    std::uint32_t minor = 0;
    UniqueFd fd;
    std::vector<RenderBuffer> buffers;
    std::uint32_t contentObject = 0;  ///< memory object of contents; 0: contents are in files
    ClientState client;               ///< empty on a kernel that doesn't list contexts
};

/// Open DMA-BUF.
struct DumpedDmabuf {
    FileId id;
    UniqueFd fd;
    std::string name;  ///< path and process of the descriptor, for messages
};

/// Mapping of device memory.
struct MappedRange {
    HostPid pid;
    std::uint32_t minor = 0;  ///< minor of the render node; 0: /dev/kfd
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

/// Returns the minor of the render node of a buffer's GPU; 0 if criu doesn't find the GPU in the topology.
std::uint32_t minorOf(const DumpedProcess& process, const uapi::KfdBuffer& buffer, const Topology& topology);

/// Returns a name such as "process 12 (python3)".
std::string nameOf(HostPid pid);

}  // namespace criu::amdgpu
