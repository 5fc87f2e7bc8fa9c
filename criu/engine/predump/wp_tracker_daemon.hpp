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

namespace criu {
class Log;
}

namespace criu::crypto {
class SecretBytes;
}

namespace criu::engine {

struct GuardedRoot;
struct ImageKeys;

/// Names a state of memory: that from which on writes are tracked, and which the images of one dump have. Random.
using TrackingId = std::array<std::byte, 16>;

/// As text, for the inventory: 32 hexadecimal digits.
[[nodiscard]] std::string describe(const TrackingId& id);

/// A process of the tree whose writes are tracked.
struct TrackedTask {
    HostPid pid;                  ///< as the process that dumps sees it
    std::uint64_t startTime = 0;  ///< /proc/PID/stat's; with the pid it names a process for ever
    UniqueFd userfaultfd;
};

/// Bytes of TrackedTree::imagesKey.
inline constexpr std::size_t kImagesKeySize = 128;

/// What a keeper holds.
struct TrackedTree {
    TrackingId id{};
    std::vector<TrackedTask> tasks;
    std::shared_ptr<crypto::SecretBytes> imagesKey;  ///< of the images' records, if they are encrypted (keptKey())
};

/// The connection to a keeper: the process of criu that holds the userfaultfds of a tree between two dumps, since the
/// kernel stops tracking when the last descriptor is closed. It holds nothing else: no image, no file or memory of the
/// tree, no secret key of the user's. It ends with the root of the tree, when it is told to, and when a dump fails that
/// has begun to track anew: what was clean before needn't be any more.
///
/// It is found by an abstract socket whose name tells of the root's pid and start time, so anybody in the network
/// namespace may answer there, or ask. Each side first tells the other what lies in its memory, which the kernel lets
/// those only see who may trace the other (ptrace(2)). That is more than to be the same user, as a process of a
/// container may be; and who may do that to the keeper may do it to the tree. The key of encrypted images is read in
/// that way, too, and never sent. An id of the images says whether the keeper's state is the one that they mean.
class WpTrackerLink {
public:
    /// The keeper of a tree; none if it has none that may be believed.
    static std::optional<WpTrackerLink> find(const GuardedRoot& root, Log& log);
    /// Starts one, which holds nothing yet. The calling process has no other threads, and these keys, which the keeper
    /// doesn't get. None, with a warning, if that can't be done.
    static std::optional<WpTrackerLink> start(const GuardedRoot& root, ImageKeys& keys, Log& log);

    /// What it holds, without the key of images.
    [[nodiscard]] TrackedTree list();
    /// That key; null if it has none. Throws Error.
    [[nodiscard]] std::shared_ptr<crypto::SecretBytes> imagesKey();
    /// What it holds says nothing any more, until commit(). If this process ends before, so does the keeper.
    void begin();
    /// It holds this from now on, and nothing else. Throws Error.
    void commit(const TrackedTree& tree);
    /// It ends.
    void finish();

private:
    explicit WpTrackerLink(UniqueFd socket) noexcept : socket_(std::move(socket)) {}

    UniqueFd socket_;
};

}  // namespace criu::engine
