// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"

namespace criu {
class ImageDir;
class Log;
class Refusals;
class StopRequest;
}  // namespace criu

namespace criu::cgroup {
class PropertyTable;
}

namespace criu::device {
class DumpDevices;
}

namespace criu::engine {
struct DumpStatistics;
class FrozenTree;
class Guardian;
class MemoryTracking;
struct Run;
class WpTrackerLink;
}  // namespace criu::engine

namespace criu::kernel {
class VmaFlagReader;
}

namespace criu::memory {
class PageSinks;
}

namespace criu::engine {
struct ListeningPageServer;
}

namespace criu::model {
struct Client;
enum class FinalState : std::uint8_t;
struct Options;
}  // namespace criu::model

namespace criu::engine {

/// Returns the pids of a process and its descendants while they run. The list may be incomplete, because processes may
/// end and be created during the call. Stops when it has found `most` processes.
std::vector<HostPid> runningTree(HostPid root, std::size_t most = SIZE_MAX);

/// First phase of a dump: the tree is frozen, and devices of its processes are paused. The constructor removes the
/// images of an earlier dump, so that no restore takes incomplete images for complete ones.
///
/// Each later phase gets a reference to the phase before it. After a failure, the destructors of the phases revert all
/// changes in reverse order, and the tasks continue.
class FrozenPhase {
public:
    enum class Purpose {
        Dump,
        PreDump,  ///< doesn't notify listeners and doesn't pause devices
        DryRun,   ///< doesn't notify listeners, and writes images only to memory
    };

    /// Freezes the tree of Options::tree. `run` and `guardian` must outlive this object. `link`: connection to the
    /// tree's WP tracker daemon, if one exists. Throws Error.
    FrozenPhase(Run& run, Guardian& guardian, Purpose purpose, std::optional<WpTrackerLink> link);
    ~FrozenPhase();
    FrozenPhase(const FrozenPhase&) = delete;
    FrozenPhase& operator=(const FrozenPhase&) = delete;

    [[nodiscard]] const model::Options& options() const noexcept;
    [[nodiscard]] const model::Client& client() const noexcept;
    [[nodiscard]] Log& log() const noexcept;
    [[nodiscard]] StopRequest& stop() const noexcept;
    [[nodiscard]] Guardian& guardian() const noexcept { return guardian_; }
    /// Returns the collector for errors of independent checks.
    [[nodiscard]] Refusals& refusals() const noexcept;
    /// Sends all images to their outlet (--stream, --stream-to, encryption) if they have one, then signs them. Throws
    /// Error.
    void sendImages();
    /// Writes the images to the disk if Options::sync is set, or is unset and the dump will end the tree. Throws Error.
    void syncImages();
    /// Declares that the images are complete. Without this call, the destructor removes the images of a client that
    /// isn't the owner of criu.
    void keepImages() noexcept;
    /// Removes the inventory after a failed dump. Logs failures.
    void revokeImages() noexcept;
    [[nodiscard]] const ImageDir& images() const noexcept;
    /// Statistics of all phases.
    [[nodiscard]] DumpStatistics& statistics() noexcept;
    [[nodiscard]] FrozenTree& tree() noexcept;
    [[nodiscard]] device::DumpDevices& devices() noexcept;
    [[nodiscard]] MemoryTracking& tracking() noexcept;
    /// Returns the reader of mapping flags; null if the dump must read smaps.
    [[nodiscard]] const kernel::VmaFlagReader* flagReader() const noexcept;
    /// Makes this dump the state since which the kernel tracks writes for the next dump. Call it when the images are
    /// complete. Throws Error.
    void commitTracking();
    /// Returns the page sinks, which write to the images directory or to a page server.
    [[nodiscard]] memory::PageSinks& pages() noexcept;
    /// Returns the page server for lazy pages; null without --lazy-pages.
    [[nodiscard]] ListeningPageServer* lazyPageServer() noexcept;
    /// Returns the cgroup properties of --cgroup-props and --cgroup-props-file. criu reads them before the freeze, so
    /// that an error in them doesn't affect the tree.
    [[nodiscard]] const cgroup::PropertyTable& cgroupProperties() const noexcept;

    /// Resumes the tree, or leaves it stopped. Throws Error.
    void resume(model::FinalState state);
    /// Kills the tree (Options::finalState).
    void end();

private:
    struct Impl;

    void noteTime() noexcept;
    /// Reads the parent pagemaps of tracked processes ahead.
    void readParentsAhead();
    /// Adds external resources to Options::externals. `names`: external resources that listeners have named.
    void takeExternals(const std::vector<std::string>& names);

    Run& run_;
    Guardian& guardian_;
    Purpose purpose_;
    std::unique_ptr<Impl> impl_;
};

}  // namespace criu::engine
