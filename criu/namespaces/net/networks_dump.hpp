// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "criu/base/unique_fd.hpp"
#include "criu/namespaces/net/network_dump.hpp"
#include "criu/namespaces/net/tun_devices.hpp"
#include "criu/namespaces/ns_ids.hpp"

namespace criu {
class ImageDir;
class Log;
class StopRequest;
}  // namespace criu

namespace criu::files {
struct OpenFd;
}

namespace criu::kernel {
class ProcPid;
}

namespace criu::model {
struct Options;
}

namespace criu::sockets {
class NetworkLock;
}

namespace criu::namespaces {

/// Network namespaces of a tree during a dump: the root's namespace, and namespaces of other processes, sockets and
/// descriptors. The working threads of criu are in the root's namespace. This class checks, locks and writes each
/// namespace. If the root is in criu's namespace, it neither locks nor writes this namespace.
class NetworksDump {
public:
    /// `lock`: network lock of the root's namespace.
    NetworksDump(const model::Options& options, sockets::NetworkLock& lock, std::string runId, ExternalLinks links,
                 ImageNsIds& numbers, StopRequest& stop, Log& log);
    /// Unlocks all namespaces except the root's, unless release() has left them locked.
    ~NetworksDump();
    NetworksDump(const NetworksDump&) = delete;
    NetworksDump& operator=(const NetworksDump&) = delete;

    /// Adds and checks the root's namespace. The calling thread must be in it. `criu`: inode of criu's namespace.
    /// Throws Error if the root's namespace can't be dumped.
    void begin(std::optional<std::uint32_t> criu);
    /// Returns the namespace id of the root's namespace.
    [[nodiscard]] std::uint32_t home() const { return spaces_.front().number; }
    /// Returns the namespace id of a process' namespace. Throws Error if the namespace can't be dumped.
    std::uint32_t ofProcess(const kernel::ProcPid& process);
    /// Returns the network lock of the root's namespace. It locks single connections if the namespace isn't private.
    [[nodiscard]] sockets::NetworkLock& rootLock() noexcept { return rootLock_; }
    /// Returns the tun devices to which processes of the tree have attached descriptors.
    [[nodiscard]] TunDevices& tunDevices() noexcept { return tunDevices_; }
    /// Locks all namespaces that criu has found; after this call, also locks each namespace when criu finds it. Locks
    /// the root's namespace only if it is private.
    void lock();
    /// Makes all locks permanent. Called directly before criu kills the tree. Throws Error.
    void prepareKill();

    /// ofSocket() returns the namespace id for a socket or tun descriptor, ofNamespaceFile() for a descriptor of a
    /// namespace. Any thread may call them. They throw Error if the namespace can't be dumped.
    std::uint32_t ofSocket(const files::OpenFd& file);
    std::uint32_t ofNamespaceFile(const files::OpenFd& file);

    /// Runs `work` in the network namespace with this namespace id.
    void inside(std::uint32_t number, const std::function<void()>& work) const;

    /// Writes the images of all namespaces.
    void write(const ImageDir& images);

    /// Ends the dump. Unlocks all namespaces except the root's; with `stayLocked`, leaves all locked for the restore.
    void release(bool stayLocked) noexcept;

private:
    struct Space {
        std::uint32_t number = 0;
        UniqueFd fd;
        std::uint64_t inode = 0;
        std::uint64_t cookie = 0;  ///< SO_NETNS_COOKIE of the namespace's sockets; 0 on older kernels
        std::optional<NetworkDump> dump;
        std::unique_ptr<sockets::NetworkLock> lock;
    };

    const Space& of(UniqueFd network, const std::function<std::string()>& whose, bool ofProcess = false);
    /// Throws Error if an external process uses a namespace in which no process of the tree is. Only sockets or
    /// descriptors of the tree refer to this namespace, and a restore would give them a copy of it.
    void requireNoExternalSharing(std::uint64_t inode) const;
    Space& add(UniqueFd network, std::uint64_t inode);
    [[nodiscard]] NetworkRule ruleOf(std::uint64_t inode) const;
    void check(Space& space);
    void lockOne(Space& space);
    [[nodiscard]] const Space& find(std::uint32_t number) const;
    void inside(const Space& space, const std::function<void()>& work) const;

    const model::Options& options_;
    sockets::NetworkLock& rootLock_;
    std::string runId_;
    ExternalLinks links_;
    ImageNsIds& numbers_;
    TunDevices tunDevices_;
    StopRequest& stop_;
    Log& log_;
    mutable std::recursive_mutex mutex_;  ///< guards the list, and changes of the calling thread's namespace
    std::list<Space> spaces_;             ///< namespaces; the root's is the first
    std::optional<std::uint32_t> criu_;
    bool locked_ = false;
};

}  // namespace criu::namespaces
