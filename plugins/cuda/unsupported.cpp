// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/unsupported.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/fdinfo.hpp"
#include "criu/kernel/proc/kcmp.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/scan.hpp"
#include "criu/kernel/proc/tasks.hpp"

namespace criu::cuda {
namespace {

/// Device that a CUDA checkpoint leaves open, or whose state it can't save.
struct KnownDevice {
    std::string_view prefix;  ///< first characters of the device's path
    std::string_view what;
    std::string_view remedy;
};

constexpr KnownDevice kForeign[] = {
    {"/dev/infiniband/", "an RDMA device, whose registered memory can't be read out",
     "start the program with NCCL_IB_DISABLE=1 NCCL_NET_PLUGIN=none, by which NCCL uses sockets, or UCX_TLS=tcp (UCX), "
     "or give criu a plugin for the device (--libdir)"},
    {"/dev/gdrdrv", "the device of GDRCopy, which keeps memory of GPUs mapped",
     "start the program with NCCL_GDRCOPY_ENABLE=0 NCCL_NET_PLUGIN=none (NCCL), UCX_TLS=^gdr_copy (UCX) or "
     "FI_HMEM_CUDA_USE_GDRCOPY=0 (libfabric), or give criu a plugin for the device (--libdir)"},
};

constexpr KnownDevice kOfFabric[] = {
    {"/dev/nvidia-caps-imex-channels/",
     "an IMEX channel, by which processes share memory of GPUs through the NVLink fabric",
     "start the program with NCCL_MNNVL_ENABLE=0 NCCL_CUMEM_ENABLE=0 NCCL_NVLS_ENABLE=0, or in a container without the "
     "channel"},
    {"/dev/nvidia-nvswitch", "an NVSwitch, which CUDA doesn't close",
     "a library beside CUDA opened it (NSCQ, DCGM): have the program close it before the dump"},
};

constexpr std::string_view kCapability = "/dev/nvidia-caps/nvidia-cap";
constexpr std::string_view kSocket = "socket:[";
constexpr std::string_view kUvmDevice = "/dev/nvidia-uvm";
constexpr std::string_view kMpsDirectory = "/tmp/nvidia-mps";
constexpr std::string_view kMpsVariable = "CUDA_MPS_PIPE_DIRECTORY=";
constexpr std::string_view kMpsProgram = "nvidia-cuda-mps";  // the kernel cuts names of programs after 15 characters
constexpr std::string_view kUvmSocket{"\0cuda-uvmfd-", 12};

constexpr std::string_view kUnshare =
    "start the processes with NCCL_P2P_DISABLE=1 NCCL_CUMEM_ENABLE=0 NCCL_NVLS_ENABLE=0 NCCL_SHM_DISABLE=1 (NCCL) or "
    "UCX_TLS=^cuda_ipc (UCX), and pass no CUDA tensors between processes (PyTorch)";

/// Runs `examine`, which may find that the process has ended, or that criu may not trace it. The dump of such a process
/// fails later, when criu stops the process.
template <typename Examine>
void whileAlive(Examine&& examine) {
    try {
        examine();
    } catch (const Error& error) {
        constexpr int kOutOfReach[] = {ENOENT, ESRCH, EACCES, EPERM, EBADF};
        if (std::find(std::begin(kOutOfReach), std::end(kOutOfReach), error.code()) == std::end(kOutOfReach))
            throw;
    }
}

/// Returns the devices and sockets that the process has open, except descriptors with O_PATH.
std::vector<ProcessFiles::Descriptor> openFiles(HostPid pid) {
    std::vector<ProcessFiles::Descriptor> found;
    whileAlive([&] {
        const kernel::ProcPid process = kernel::ProcDir().open(pid.value);
        kernel::ProcBuffer buffer;
        for (const int fd : kernel::readDescriptors(process)) {
            std::string link = process.readLink(fmt::format("fd/{}", fd));
            // A descriptor of a socket file with O_PATH has the path as its link.
            if (link.starts_with(kSocket) ||
                (link.starts_with("/dev/") && (kernel::readFdInfo(process, fd, buffer).flags & O_PATH) == 0))
                found.push_back({fd, std::move(link)});
        }
    });
    return found;
}

void addDevices(const ProcessFiles& files, std::span<const KnownDevice> known, std::vector<Unsupported>& found) {
    std::set<std::string> added;  // a library opens some devices several times
    for (const ProcessFiles::Descriptor& open : files.descriptors)
        for (const KnownDevice& device : known)
            if (open.link.starts_with(device.prefix) && added.insert(open.link).second)
                found.push_back({fmt::format("process {} has {} open (descriptor {}): {}", files.pid, open.link,
                                             open.fd, device.what),
                                 std::string(device.remedy)});
}

void addGpuPart(const ProcessFiles& files, const std::map<int, std::string>& parts, std::vector<Unsupported>& found) {
    for (const ProcessFiles::Descriptor& open : files.descriptors) {
        if (!open.link.starts_with(kCapability))
            continue;
        int minor = -1;
        std::from_chars(open.link.data() + kCapability.size(), open.link.data() + open.link.size(), minor);
        const auto part = parts.find(minor);
        if (part == parts.end())
            continue;
        found.push_back(
            {fmt::format("process {} uses {}, a part of a GPU (MIG), which the CUDA driver can't checkpoint", files.pid,
                         part->second),
             "run the program on a whole GPU (nvidia-smi -i GPU -mig 0)"});
        return;  // the process has a capability for each of GPU instance and compute instance
    }
}

std::optional<ProcessFiles::Peer> peerOf(const kernel::PidFd& process, int fd) {
    const UniqueFd copy = process.getFd(fd);
    sockaddr_un address{};
    socklen_t size = sizeof(address);
    if (::getpeername(copy.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0 || address.sun_family != AF_UNIX)
        return std::nullopt;
    ProcessFiles::Peer peer;
    peer.fd = fd;
    if (size > offsetof(sockaddr_un, sun_path))
        peer.name.assign(address.sun_path,
                         std::min<std::size_t>(size - offsetof(sockaddr_un, sun_path), sizeof(address.sun_path)));
    ucred owner{};
    socklen_t ownerSize = sizeof(owner);
    if (::getsockopt(copy.get(), SOL_SOCKET, SO_PEERCRED, &owner, &ownerSize) == 0 && owner.pid > 0)
        whileAlive([&] {
            peer.program = kernel::ProcDir().open(owner.pid).readFile("comm");
            peer.pid = owner.pid;
        });
    return peer;
}

std::vector<ProcessFiles::Peer> peersOf(HostPid pid, std::span<const ProcessFiles::Descriptor> descriptors) {
    std::vector<ProcessFiles::Peer> peers;
    whileAlive([&] {
        const kernel::PidFd process(pid.value);
        for (const ProcessFiles::Descriptor& open : descriptors)
            if (open.link.starts_with(kSocket))
                whileAlive([&] {
                    if (std::optional<ProcessFiles::Peer> peer = peerOf(process, open.fd))
                        peers.push_back(std::move(*peer));
                });
    });
    return peers;
}

/// Returns the directory in which libcuda of the process looks for MPS, with a slash at the end.
std::string mpsDirectory(HostPid pid) {
    std::string directory(kMpsDirectory);
    whileAlive([&] {
        kernel::ProcBuffer buffer;
        std::string_view rest = kernel::ProcDir().open(pid.value).read("environ", buffer);
        while (!rest.empty()) {
            const std::string_view variable = rest.substr(0, rest.find('\0'));
            rest.remove_prefix(std::min(variable.size() + 1, rest.size()));
            if (variable.starts_with(kMpsVariable))
                directory = variable.substr(kMpsVariable.size());
        }
    });
    return directory + '/';
}

void addMps(const ProcessFiles& files, std::vector<Unsupported>& found) {
    const std::string directory = mpsDirectory(files.pid);
    for (const ProcessFiles::Peer& peer : files.peers) {
        const bool isProgram = peer.program.starts_with(kMpsProgram);
        if (!isProgram && !peer.name.starts_with(directory))
            continue;
        found.push_back(
            {fmt::format(
                 "process {} is a client of MPS (descriptor {} is connected to {}), which the CUDA driver can't "
                 "checkpoint",
                 files.pid, peer.fd, isProgram ? fmt::format("process {}", peer.pid) : peer.name.c_str()),
             "end the control daemon of MPS before the program starts (echo quit | nvidia-cuda-mps-control), or start "
             "the program with CUDA_MPS_PIPE_DIRECTORY set to an empty directory"});
        return;
    }
}

/// Returns true if two processes have descriptors of one open file description of /dev/nvidia-uvm.
bool shareUvm(const ProcessFiles& one, const ProcessFiles& other) {
    bool same = false;
    whileAlive([&] {
        for (const ProcessFiles::Descriptor& first : one.descriptors)
            for (const ProcessFiles::Descriptor& second : other.descriptors)
                // Compares the whole link, because /dev/nvidia-uvm-tools is another device.
                same = same || (first.link == kUvmDevice && second.link == kUvmDevice &&
                                kernel::kcmpFile(one.pid.value, first.fd, other.pid.value, second.fd) ==
                                    std::partial_ordering::equivalent);
    });
    return same;
}

}  // namespace

ProcessFiles ProcessFiles::read(HostPid pid, bool withPeers) {
    ProcessFiles files{pid, openFiles(pid), {}};
    if (withPeers)
        files.peers = peersOf(pid, files.descriptors);
    return files;
}

std::vector<Unsupported> foreignDevices(const ProcessFiles& files) {
    std::vector<Unsupported> found;
    addDevices(files, kForeign, found);
    return found;
}

std::vector<Unsupported> unsupportedObjects(const ProcessFiles& files, const std::map<int, std::string>& gpuParts) {
    std::vector<Unsupported> found;
    addDevices(files, kOfFabric, found);
    addGpuPart(files, gpuParts, found);
    addMps(files, found);
    return found;
}

std::vector<Unsupported> sharedGpuMemory(std::span<const ProcessFiles> processes) {
    std::vector<Unsupported> found;
    for (std::size_t at = 0; at < processes.size(); ++at) {
        const ProcessFiles& files = processes[at];
        for (const ProcessFiles& other : processes.first(at))
            if (shareUvm(other, files))
                found.push_back(
                    {fmt::format("processes {} and {} share memory of GPUs (CUDA IPC)", other.pid, files.pid),
                     std::string(kUnshare)});
        const auto peer = std::find_if(files.peers.begin(), files.peers.end(), [](const ProcessFiles::Peer& each) {
            return each.name.starts_with(kUvmSocket);
        });
        if (peer != files.peers.end())
            found.push_back({fmt::format("process {} shares memory of GPUs (CUDA IPC): descriptor {} is connected to "
                                         "the socket @{}",
                                         files.pid, peer->fd, peer->name.substr(1)),
                             std::string(kUnshare)});
    }
    return found;
}

}  // namespace criu::cuda
