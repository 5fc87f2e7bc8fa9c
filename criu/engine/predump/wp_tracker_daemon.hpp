// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
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

/// Random name of a memory state: the one from which on writes are tracked, and which the images of one dump have.
using TrackingId = std::array<std::byte, 16>;

/// Returns the id for the inventory: 32 hexadecimal digits.
[[nodiscard]] std::string describe(const TrackingId& id);

/// A process of the tree whose writes are tracked.
struct TrackedTask {
    HostPid pid;                  ///< pid in the namespace of the dumping process
    std::uint64_t startTime = 0;  ///< from /proc/PID/stat; together with the pid it identifies a process
    UniqueFd userfaultfd;
};

/// Number of bytes in TrackedTree::imagesKey.
inline constexpr std::size_t kImagesKeySize = 128;

/// State that the daemon holds.
struct TrackedTree {
    TrackingId id{};
    std::vector<TrackedTask> tasks;
    /// Key of the images' records; null if they aren't encrypted (keptKey())
    std::shared_ptr<crypto::SecretBytes> imagesKey;
};

/// Connection to the WP tracker daemon. This process of criu holds the userfaultfds of a tree between two dumps,
/// because the kernel stops tracking when the last descriptor is closed. It holds no images, files or memory of the
/// tree, and no secret key of the user. It ends with the root of the tree, on finish(), and when a dump fails after
/// begin(): the state of clean pages is lost then.
///
/// An abstract socket name with the root's pid and start time identifies the daemon. Any process in the network
/// namespace may listen or connect there. So both sides pass peer authentication, which proves that each may ptrace the
/// other. An equal user isn't enough, as a process of a container may have it. A process that may ptrace the daemon may
/// ptrace the tree anyway. The key of encrypted images is read from memory, too, and never sent. The id in the images
/// shows whether the daemon's state belongs to them.
class WpTrackerLink {
public:
    /// Connects to the daemon of a tree. Returns nothing if there is none, or if it fails peer authentication.
    static std::optional<WpTrackerLink> find(const GuardedRoot& root, Log& log);
    /// Starts a daemon without any state. The calling process has no other threads. The daemon drops its copy of
    /// `keys`. Warns and returns nothing if that fails.
    static std::optional<WpTrackerLink> start(const GuardedRoot& root, ImageKeys& keys, Log& log);

    /// Returns the daemon's state without the key of images.
    [[nodiscard]] TrackedTree list();
    /// Returns the key of images; null if the daemon has none. Throws Error.
    [[nodiscard]] std::shared_ptr<crypto::SecretBytes> imagesKey();
    /// Makes the daemon's state invalid until commit(). If this process ends before commit(), the daemon ends, too.
    void begin();
    /// Replaces the daemon's state. Throws Error.
    void commit(const TrackedTree& tree);
    /// Ends the daemon.
    void finish();

private:
    explicit WpTrackerLink(UniqueFd socket) noexcept : socket_(std::move(socket)) {}

    UniqueFd socket_;
};

}  // namespace criu::engine
