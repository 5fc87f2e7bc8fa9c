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

/// The network namespaces of a tree while it is dumped: that of its root, which the threads that do the work are in,
/// and all others that its processes, sockets and descriptors are in. Each is checked, locked and written. If the root
/// is where criu is, there is only that, and nothing of it is done.
class NetworksDump {
public:
    /// `lock`: of the root's namespace.
    NetworksDump(const model::Options& options, sockets::NetworkLock& lock, std::string runId, ExternalLinks links,
                 ImageNsIds& numbers, StopRequest& stop, Log& log);
    /// Unlocks all but the root's, unless they are to stay locked.
    ~NetworksDump();
    NetworksDump(const NetworksDump&) = delete;
    NetworksDump& operator=(const NetworksDump&) = delete;

    /// The calling thread is in the root's namespace; `criu`: inode of that of criu. Throws Error if it can't be
    /// dumped.
    void begin(std::optional<std::uint32_t> criu);
    /// The number of the root's.
    [[nodiscard]] std::uint32_t home() const { return spaces_.front().number; }
    /// The number of the namespace of a process. Throws Error if that can't be dumped.
    std::uint32_t ofProcess(const kernel::ProcPid& process);
    /// The lock of the root's, which also locks single connections where the namespace isn't the tree's own.
    [[nodiscard]] sockets::NetworkLock& rootLock() noexcept { return rootLock_; }
    /// Devices that descriptors are attached to.
    [[nodiscard]] TunDevices& tunDevices() noexcept { return tunDevices_; }
    /// Locks all; those that are met later are locked then. The root's only if that is the tree's own.
    void lock();

    /// The number of the namespace of a socket or a descriptor of a tun device, or of the one that the descriptor
    /// itself stands for. By any thread. Throws Error if that can't be dumped.
    std::uint32_t ofSocket(const files::OpenFd& file);
    std::uint32_t ofNamespaceFile(const files::OpenFd& file);

    /// Runs `work` in one of them.
    void inside(std::uint32_t number, const std::function<void()>& work) const;

    /// Writes the images of all.
    void write(const ImageDir& images);

    /// The end of the dump: all but the root's are unlocked, or stay locked for the restore.
    void release(bool stayLocked) noexcept;

private:
    struct Space {
        std::uint32_t number = 0;
        UniqueFd fd;
        std::uint64_t inode = 0;
        std::uint64_t cookie = 0;  ///< what its sockets know it by; 0: the kernel is older than that
        std::optional<NetworkDump> dump;
        std::unique_ptr<sockets::NetworkLock> lock;
    };

    const Space& of(UniqueFd network, const std::function<std::string()>& whose, bool ofProcess = false);
    /// What only a socket or a descriptor holds in the tree is restored as a copy.
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
    mutable std::recursive_mutex mutex_;  ///< of the list and of tools that are at work in a namespace
    std::list<Space> spaces_;             ///< the root's first
    std::optional<std::uint32_t> criu_;
    bool locked_ = false;
};

}  // namespace criu::namespaces
