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
constexpr std::string_view kUvmDevice = "/dev/nvidia-uvm";
constexpr std::string_view kMpsDirectory = "/tmp/nvidia-mps";
constexpr std::string_view kMpsVariable = "CUDA_MPS_PIPE_DIRECTORY=";
constexpr std::string_view kMpsProgram = "nvidia-cuda-mps";  // the kernel cuts names of programs after 15 characters
constexpr std::string_view kUvmSocket{"\0cuda-uvmfd-", 12};

constexpr std::string_view kUnshare =
    "start the processes with NCCL_P2P_DISABLE=1 NCCL_CUMEM_ENABLE=0 NCCL_NVLS_ENABLE=0 NCCL_SHM_DISABLE=1 (NCCL) or "
    "UCX_TLS=^cuda_ipc (UCX), and pass no CUDA tensors between processes (PyTorch)";

/// Open descriptor of a process with the text of its link in /proc.
struct Descriptor {
    int fd = -1;
    std::string link;
};

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

/// Returns the descriptors whose links begin with one of the texts, except those with O_PATH.
std::vector<Descriptor> openFiles(HostPid pid, std::string_view start) {
    std::vector<Descriptor> found;
    whileAlive([&] {
        const kernel::ProcPid process = kernel::ProcDir().open(pid.value);
        kernel::ProcBuffer buffer;
        for (const int fd : kernel::readDescriptors(process))
            if (std::string link = process.readLink(fmt::format("fd/{}", fd));
                link.starts_with(start) && (kernel::readFdInfo(process, fd, buffer).flags & O_PATH) == 0)
                found.push_back({fd, std::move(link)});
    });
    return found;
}

void addDevices(HostPid pid, std::span<const KnownDevice> known, std::vector<Unsupported>& found) {
    std::set<std::string> added;  // a library opens some devices several times
    for (const Descriptor& open : openFiles(pid, "/dev/"))
        for (const KnownDevice& device : known)
            if (open.link.starts_with(device.prefix) && added.insert(open.link).second)
                found.push_back(
                    {fmt::format("process {} has {} open (descriptor {}): {}", pid, open.link, open.fd, device.what),
                     std::string(device.remedy)});
}

void addGpuPart(HostPid pid, const std::map<int, std::string>& parts, std::vector<Unsupported>& found) {
    for (const Descriptor& open : openFiles(pid, kCapability)) {
        int minor = -1;
        std::from_chars(open.link.data() + kCapability.size(), open.link.data() + open.link.size(), minor);
        const auto part = parts.find(minor);
        if (part == parts.end())
            continue;
        found.push_back(
            {fmt::format("process {} uses {}, a part of a GPU (MIG), which the CUDA driver can't checkpoint", pid,
                         part->second),
             "run the program on a whole GPU (nvidia-smi -i GPU -mig 0)"});
        return;  // the process has a capability for each of GPU instance and compute instance
    }
}

/// Other end of a connected Unix socket.
struct Peer {
    int fd = -1;
    std::string name;     ///< name in the form of sun_path; empty if the peer has none
    std::string program;  ///< name of the program that listened or called socketpair(2); empty if criu can't see it
    pid_t pid = 0;
};

std::optional<Peer> peerOf(const kernel::PidFd& process, int fd) {
    const UniqueFd copy = process.getFd(fd);
    sockaddr_un address{};
    socklen_t size = sizeof(address);
    if (::getpeername(copy.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0 || address.sun_family != AF_UNIX)
        return std::nullopt;
    Peer peer;
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

std::vector<Peer> peersOf(HostPid pid) {
    std::vector<Peer> peers;
    whileAlive([&] {
        const kernel::PidFd process(pid.value);
        for (const Descriptor& socket : openFiles(pid, "socket:["))
            whileAlive([&] {
                if (std::optional<Peer> peer = peerOf(process, socket.fd))
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

void addMps(HostPid pid, std::vector<Unsupported>& found) {
    const std::string directory = mpsDirectory(pid);
    for (const Peer& peer : peersOf(pid)) {
        const bool isProgram = peer.program.starts_with(kMpsProgram);
        if (!isProgram && !peer.name.starts_with(directory))
            continue;
        found.push_back(
            {fmt::format(
                 "process {} is a client of MPS (descriptor {} is connected to {}), which the CUDA driver can't "
                 "checkpoint",
                 pid, peer.fd, isProgram ? fmt::format("process {}", peer.pid) : peer.name.c_str()),
             "end the control daemon of MPS before the program starts (echo quit | nvidia-cuda-mps-control), or start "
             "the program with CUDA_MPS_PIPE_DIRECTORY set to an empty directory"});
        return;
    }
}

bool haveSameFile(HostPid one, std::span<const Descriptor> ofOne, HostPid other, std::span<const Descriptor> ofOther) {
    bool same = false;
    whileAlive([&] {
        for (const Descriptor& first : ofOne)
            for (const Descriptor& second : ofOther)
                same = same || kernel::kcmpFile(one.value, first.fd, other.value, second.fd) ==
                                   std::partial_ordering::equivalent;
    });
    return same;
}

}  // namespace

std::vector<Unsupported> foreignDevices(HostPid pid) {
    std::vector<Unsupported> found;
    addDevices(pid, kForeign, found);
    return found;
}

std::vector<Unsupported> unsupportedObjects(HostPid pid, const std::map<int, std::string>& gpuParts) {
    std::vector<Unsupported> found;
    addDevices(pid, kOfFabric, found);
    addGpuPart(pid, gpuParts, found);
    addMps(pid, found);
    return found;
}

std::vector<Unsupported> sharedGpuMemory(std::span<const HostPid> processes) {
    std::vector<Unsupported> found;
    std::vector<std::vector<Descriptor>> devices;
    for (const HostPid pid : processes) {
        std::vector<Descriptor>& mine = devices.emplace_back(openFiles(pid, kUvmDevice));
        std::erase_if(mine, [](const Descriptor& each) { return each.link != kUvmDevice; });  // nvidia-uvm-tools
        for (std::size_t other = 0; other + 1 < devices.size(); ++other)
            if (haveSameFile(processes[other], devices[other], pid, mine))
                found.push_back(
                    {fmt::format("processes {} and {} share memory of GPUs (CUDA IPC)", processes[other], pid),
                     std::string(kUnshare)});
        const std::vector<Peer> peers = peersOf(pid);
        const auto peer = std::find_if(peers.begin(), peers.end(),
                                       [](const Peer& each) { return each.name.starts_with(kUvmSocket); });
        if (peer != peers.end())
            found.push_back({fmt::format("process {} shares memory of GPUs (CUDA IPC): descriptor {} is connected to "
                                         "the socket @{}",
                                         pid, peer->fd, peer->name.substr(1)),
                             std::string(kUnshare)});
    }
    return found;
}

}  // namespace criu::cuda
