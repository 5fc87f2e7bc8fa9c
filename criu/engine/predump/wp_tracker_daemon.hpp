// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Random id of a memory state. One dump has written this state to its images, and the kernel tracks writes since then.
using TrackingId = std::array<std::byte, 16>;

/// Returns the id as text for the inventory: 32 hexadecimal digits.
[[nodiscard]] std::string describe(const TrackingId& id);

/// Process of the tree whose writes are tracked.
struct TrackedTask {
    HostPid pid;                  ///< pid in criu's pid namespace
    std::uint64_t startTime = 0;  ///< start time in /proc/PID/stat, which identifies a process together with the pid
    UniqueFd userfaultfd;
};

/// Number of bytes in TrackedTree::imagesKey.
inline constexpr std::size_t kImagesKeySize = 128;

/// State of the WP tracker daemon.
struct TrackedTree {
    TrackingId id{};
    std::vector<TrackedTask> tasks;
    /// Key of the images' records (keptKey()); null if the images aren't encrypted.
    std::shared_ptr<crypto::SecretBytes> imagesKey;
};

/// Connection to the WP tracker daemon. The daemon holds the userfaultfds of a tree between two dumps, because the
/// kernel stops tracking when the last descriptor is closed. The daemon holds no images, files or memory of the tree,
/// and no secret key of the user. It ends with the root of the tree, on finish(), or when a dump fails after begin():
/// criu then doesn't know any more which pages are clean.
///
/// The daemon listens in a folder that only criu's user can enter (engine/local_channel.hpp), at a name with the root's
/// pid and start time. Both ends must pass peer authentication, which proves that each may ptrace the other. An equal
/// uid isn't enough, because a process of a container may have this uid. Each end reads keys from the other's memory,
/// so that they are never sent. Every wait for the daemon ends after --timeout, and at a stop request.
class WpTrackerLink {
public:
    /// Connects to the daemon of a tree. Returns nothing if no daemon exists, if it doesn't answer, or if it fails peer
    /// authentication. Throws Error when a stop is requested.
    static std::optional<WpTrackerLink> find(const GuardedRoot& root, Run& run);
    /// Starts a daemon without state. The calling process must have one thread. The daemon erases its copy of run.keys.
    /// After a failure, warns and returns nothing.
    static std::optional<WpTrackerLink> start(const GuardedRoot& root, Run& run);

    /// Returns the daemon's state without `imagesKey`.
    [[nodiscard]] TrackedTree list();
    /// Returns the key of the images' records; null if the daemon has none. Throws Error.
    [[nodiscard]] std::shared_ptr<crypto::SecretBytes> imagesKey();
    /// Makes the daemon's state invalid until commit(). If this process ends before commit(), the daemon ends, too.
    void begin();
    /// Replaces the daemon's state. Throws Error.
    void commit(const TrackedTree& tree);
    /// Ends the daemon.
    void finish();

private:
    WpTrackerLink(UniqueFd socket, const WaitLimit& limit) noexcept;

    UniqueFd socket_;
    StopRequest* stop_;
    std::optional<std::chrono::milliseconds> timeout_;  ///< maximum time until a reply of the daemon
};

}  // namespace criu::engine
