// SPDX-License-Identifier: GPL-2.0-only
#pragma once

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
struct Vma;
}

namespace criu::memory {
class WriteTracking;
}

namespace criu::engine {

struct FrozenTask;
class WpTrackerLink;

/// Writes to the tree's memory since the dump before, and the tracking that this dump leaves for the next one.
///
/// The kernel tracks writes by userfaultfds of the processes. Between dumps the WP tracker daemon holds them. Its state
/// has an id, which the inventory of the same dump also contains. A dump may rely on the state only if its parent
/// images have that id.
class MemoryTracking {
public:
    /// Use of tracking by a dump.
    enum class Use {
        Ignored,    ///< pages are dumped whole; tracked mappings are only recognized
        ForDump,    ///< the dump relies on the state
        Continued,  ///< the dump relies on the state and leaves a new one for the next dump
    };

    /// Without `link` nothing is tracked. `images` have opened their parent, if there is one. Throws Error.
    MemoryTracking(std::optional<WpTrackerLink> link, Use use, const ImageDir& images, Log& log);
    ~MemoryTracking();
    MemoryTracking(const MemoryTracking&) = delete;
    MemoryTracking& operator=(const MemoryTracking&) = delete;

    /// Returns the tracking of a process; null if there is none. Removes the userfaultfd mark from its tracked
    /// mappings. If tracking continues, starts to track the process by a system call in it, which a suspended seccomp
    /// filter doesn't block. Call it once for each process. Throws Error.
    memory::WriteTracking* add(FrozenTask& task, std::span<kernel::Vma> vmas, bool seccompSuspended);

    /// Tracking of a process since the parent images, and its tracked mappings according to /proc/PID/maps.
    struct Known {
        memory::WriteTracking* writes;
        std::vector<kernel::Vma> tracked;
    };
    /// Returns nothing if the process isn't tracked. add() may be called afterwards and finds more. Throws Error.
    [[nodiscard]] std::optional<Known> find(FrozenTask& task, std::span<const kernel::Vma> maps);

    /// Returns the processes that are tracked already.
    [[nodiscard]] std::vector<HostPid> processes() const;

    /// Returns true if the parent images have the id of the tracked state. Clean pages are in the parent images then.
    [[nodiscard]] bool parentIsKnown() const noexcept;
    [[nodiscard]] bool continues() const noexcept;
    /// Returns true if memory of the tree is or was tracked.
    [[nodiscard]] bool used() const noexcept;

    /// Returns when this object was made, in microseconds since boot.
    [[nodiscard]] std::uint64_t uptime() const noexcept;

    /// Notifies the daemon before the first WriteTracking::restart(). Throws Error.
    void begin();
    /// Returns the id of the state that commit() leaves; empty if tracking doesn't continue.
    [[nodiscard]] std::string nextId() const;
    /// Leaves the new state at the daemon, because the images are complete. `key` is the key that the next dump needs
    /// to read encrypted images. Throws Error.
    void commit(std::shared_ptr<crypto::SecretBytes> key);
    /// Ends tracking, because no later dump will rely on this one.
    void finish();

private:
    struct State;

    std::unique_ptr<State> state_;
};

}  // namespace criu::engine
