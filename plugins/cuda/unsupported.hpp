// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"

/// Objects that the driver can't checkpoint, as far as /proc and descriptors show them. The driver refuses some of them
/// after criu has locked or frozen processes, and leaves others open. Managed memory, imported memory and multicast
/// objects have no trace in /proc, so only the driver finds them.
namespace criu::cuda {

/// Object that prevents a dump, and what the user can do.
struct Unsupported {
    std::string reason;
    std::string remedy;
};

/// Devices and sockets that a process has open. Empty for a process that has ended or that criu may not trace.
struct ProcessFiles {
    struct Descriptor {
        int fd = -1;
        std::string link;  ///< text of the link in /proc
    };
    /// Other end of a connected Unix socket.
    struct Peer {
        int fd = -1;
        std::string name;     ///< name in the form of sun_path; empty if the peer has none
        std::string program;  ///< name of the program that listened or called socketpair(2); empty if criu can't see it
        pid_t pid = 0;
    };

    /// Reads the files of a process. `withPeers`: true to read `peers`, too.
    [[nodiscard]] static ProcessFiles read(HostPid pid, bool withPeers);

    HostPid pid;
    std::vector<Descriptor> descriptors;
    std::vector<Peer> peers;
};

/// Returns the RDMA and GDRCopy devices that a process has open, with or without CUDA state.
[[nodiscard]] std::vector<Unsupported> foreignDevices(const ProcessFiles& files);

/// Returns the devices of the fabric, the parts of GPUs (MIG) and the connections to MPS of a process with CUDA state.
/// `gpuParts`: result of Driver::gpuParts().
[[nodiscard]] std::vector<Unsupported> unsupportedObjects(const ProcessFiles& files,
                                                          const std::map<int, std::string>& gpuParts);

/// Returns processes with CUDA state that share memory of GPUs (CUDA IPC). libcuda passes its descriptor of
/// /dev/nvidia-uvm to the other process, through a socket with a name of libcuda's own.
[[nodiscard]] std::vector<Unsupported> sharedGpuMemory(std::span<const ProcessFiles> processes);

}  // namespace criu::cuda
