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

/// The network namespaces of a tree during a dump: the root's, which the working threads are in, and those of other
/// processes, sockets and descriptors. Each is checked, locked and written. If the root is in criu's namespace, that
/// one is neither locked nor written.
class NetworksDump {
public:
    /// `lock`: of the root's namespace.
    NetworksDump(const model::Options& options, sockets::NetworkLock& lock, std::string runId, ExternalLinks links,
                 ImageNsIds& numbers, StopRequest& stop, Log& log);
    /// Unlocks all namespaces except the root's, unless release() left them locked.
    ~NetworksDump();
    NetworksDump(const NetworksDump&) = delete;
    NetworksDump& operator=(const NetworksDump&) = delete;

    /// Call it from a thread in the root's namespace; `criu`: inode of criu's. Throws Error if it can't be dumped.
    void begin(std::optional<std::uint32_t> criu);
    /// Namespace id of the root's namespace.
    [[nodiscard]] std::uint32_t home() const { return spaces_.front().number; }
    /// Returns the namespace id of a process' namespace. Throws Error if it can't be dumped.
    std::uint32_t ofProcess(const kernel::ProcPid& process);
    /// Lock of the root's namespace. It locks single connections if the namespace isn't private.
    [[nodiscard]] sockets::NetworkLock& rootLock() noexcept { return rootLock_; }
    /// Devices that descriptors are attached to.
    [[nodiscard]] TunDevices& tunDevices() noexcept { return tunDevices_; }
    /// Locks all namespaces, and later also each newly found one. Locks the root's only if it is private.
    void lock();
    /// Makes all locks permanent, right before the tree is killed. Throws Error.
    void prepareKill();

    /// Return the namespace id for a socket or tun descriptor, and for a descriptor of a namespace. Any thread may call
    /// them. Throw Error if the namespace can't be dumped.
    std::uint32_t ofSocket(const files::OpenFd& file);
    std::uint32_t ofNamespaceFile(const files::OpenFd& file);

    /// Runs `work` in a namespace.
    void inside(std::uint32_t number, const std::function<void()>& work) const;

    /// Writes the images of all namespaces.
    void write(const ImageDir& images);

    /// Ends the dump. Unlocks all namespaces except the root's, or leaves them locked for the restore.
    void release(bool stayLocked) noexcept;

private:
    struct Space {
        std::uint32_t number = 0;
        UniqueFd fd;
        std::uint64_t inode = 0;
        std::uint64_t cookie = 0;  ///< SO_NETNS_COOKIE of its sockets; 0 on older kernels
        std::optional<NetworkDump> dump;
        std::unique_ptr<sockets::NetworkLock> lock;
    };

    const Space& of(UniqueFd network, const std::function<std::string()>& whose, bool ofProcess = false);
    /// Throws Error if an external process holds a namespace that only sockets or descriptors of the tree refer to. A
    /// restore would make a copy.
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
    mutable std::recursive_mutex mutex_;  ///< protects the list, and changes of the calling thread's namespace
    std::list<Space> spaces_;             ///< the root's first
    std::optional<std::uint32_t> criu_;
    bool locked_ = false;
};

}  // namespace criu::namespaces
