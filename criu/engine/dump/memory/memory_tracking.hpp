// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"

namespace criu {
class ImageDir;
class Log;
}  // namespace criu

namespace criu::crypto {
class SecretBytes;
}

namespace criu::kernel {
class VmaFlagReader;
struct Vma;
}  // namespace criu::kernel

namespace criu::memory {
class WriteTracking;
}

namespace criu::engine {

struct FrozenTask;
class WpTrackerLink;

/// Tracking of a tree's memory: reports which pages the tree has written since the dump before, and starts the tracking
/// for the next dump.
///
/// The kernel tracks writes by userfaultfds, which the WP tracker daemon holds between dumps. The daemon's state has an
/// id, which the inventory of the same dump also contains. A dump may rely on the state only if its parent images have
/// the same id.
class MemoryTracking {
public:
    /// Use of tracking by a dump.
    enum class Use {
        Ignored,    ///< the dump writes all pages; it only recognizes tracked mappings
        ForDump,    ///< the dump relies on the tracked state and writes only changed pages
        Continued,  ///< like ForDump; also starts the tracking for the next dump
    };

    /// Without `link`, no memory is tracked. `images`: with opened parent images, if they have any. Throws Error.
    MemoryTracking(std::optional<WpTrackerLink> link, Use use, const ImageDir& images, Log& log);
    ~MemoryTracking();
    MemoryTracking(const MemoryTracking&) = delete;
    MemoryTracking& operator=(const MemoryTracking&) = delete;

    /// Returns the tracking of a process; null if it isn't tracked. Removes the userfaultfd flag of tracked mappings
    /// from `vmas`. With Use::Continued, also starts to track an untracked process, by a system call in this process.
    /// Call it once for each process. Throws Error. `seccompSuspended`: FrozenTree::seccompSuspended().
    memory::WriteTracking* add(FrozenTask& task, std::span<kernel::Vma> vmas, bool seccompSuspended);

    /// Tracking of a process since the parent images, and its tracked mappings as /proc/PID/maps shows them.
    struct Known {
        memory::WriteTracking* writes;
        std::vector<kernel::Vma> tracked;
    };
    /// Returns the tracking of a process; nothing if it isn't tracked. Unlike add(), never starts tracking. add() may
    /// be called afterwards. Throws Error.
    [[nodiscard]] std::optional<Known> find(FrozenTask& task, std::span<const kernel::Vma> maps);

    /// Returns the processes that the WP tracker daemon tracks.
    [[nodiscard]] std::vector<HostPid> processes() const;

    /// Returns true if the parent images have the id of the tracked state. Only then the parent images contain all
    /// clean pages.
    [[nodiscard]] bool parentIsKnown() const noexcept;
    [[nodiscard]] bool continues() const noexcept;
    /// Returns true if the tree has a WP tracker daemon, because an earlier dump has tracked the tree's memory.
    [[nodiscard]] bool used() const noexcept;

    /// Returns the time when this object was made, in microseconds since boot.
    [[nodiscard]] std::uint64_t uptime() const noexcept;

    /// Notifies the WP tracker daemon that its state becomes invalid. Call it before the first
    /// WriteTracking::restart(), which changes tracked memory. Throws Error.
    void begin();
    /// Returns the id of the state that commit() passes to the daemon; empty if tracking doesn't continue.
    [[nodiscard]] std::string nextId() const;
    /// Passes the new state to the WP tracker daemon. Call it when the images are complete. Throws Error. `key`: key
    /// with which the next dump reads these images if they are encrypted.
    void commit(std::shared_ptr<crypto::SecretBytes> key);
    /// Ends tracking: the next dump writes all pages.
    void finish();

private:
    struct State;

    std::unique_ptr<State> state_;
};

/// Number of processes from which several threads read smaps, so that no reader is prepared.
inline constexpr std::size_t kMostForFlagReader = 8;

/// Prepares the reader of mapping flags if one of a few running processes has many pages, for which smaps would take
/// long in the freeze. Returns null otherwise, or if the kernel refuses it.
[[nodiscard]] std::shared_ptr<const kernel::VmaFlagReader> prepareFlagReader(std::span<const HostPid> tree, Log& log);

}  // namespace criu::engine
