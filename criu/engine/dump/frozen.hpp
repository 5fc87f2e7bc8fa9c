// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"

namespace criu {
class ImageDir;
class Log;
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

/// Lists a process and its descendants while they run. Processes may end and be created during the call.
std::vector<HostPid> runningTree(HostPid root);

/// First phase of a dump: the tree is frozen, and devices of its processes are paused. The inventory of an earlier dump
/// is removed, so that an incomplete dump isn't taken for a checkpoint. Nothing has been examined yet.
///
/// Each phase takes the phase before it and uses its state. Phases are destroyed in reverse order. After a failure the
/// destructors revert all changes, and the tasks continue.
class FrozenPhase {
public:
    enum class Purpose {
        Dump,
        PreDump,  ///< the tree is resumed soon: no stage notifications, devices aren't paused
    };

    /// Freezes the tree of Options::tree. `run` and `guardian` outlive this object. `link` leads to the WP tracker
    /// daemon of the tree, if there is one. Throws Error.
    FrozenPhase(Run& run, Guardian& guardian, Purpose purpose, std::optional<WpTrackerLink> link);
    ~FrozenPhase();
    FrozenPhase(const FrozenPhase&) = delete;
    FrozenPhase& operator=(const FrozenPhase&) = delete;

    [[nodiscard]] const model::Options& options() const noexcept;
    [[nodiscard]] const model::Client& client() const noexcept;
    [[nodiscard]] Log& log() const noexcept;
    [[nodiscard]] StopRequest& stop() const noexcept;
    [[nodiscard]] Guardian& guardian() const noexcept { return guardian_; }
    /// Sends all images to their outlet (--stream, --stream-to, encryption), if they have one, and signs them. Throws
    /// Error.
    void sendImages();
    /// Removes the inventory after a failed dump. Logs failures.
    void revokeImages() noexcept;
    [[nodiscard]] const ImageDir& images() const noexcept;
    /// Statistics of all phases.
    [[nodiscard]] DumpStatistics& statistics() noexcept;
    [[nodiscard]] FrozenTree& tree() noexcept;
    [[nodiscard]] device::DumpDevices& devices() noexcept;
    [[nodiscard]] MemoryTracking& tracking() noexcept;
    /// Makes tracking count from this dump on, because the images are complete. Throws Error.
    void commitTracking();
    /// Returns the page sinks: of the images directory, or of a page server.
    [[nodiscard]] memory::PageSinks& pages() noexcept;
    /// Returns the page server for lazy pages; null without --lazy-pages.
    [[nodiscard]] ListeningPageServer* lazyPageServer() noexcept;
    /// Returns the cgroup properties of --cgroup-props and --cgroup-props-file. They are read before the freeze, so
    /// that a mistake in them changes nothing.
    [[nodiscard]] const cgroup::PropertyTable& cgroupProperties() const noexcept;

    /// Resumes the tree, or leaves it stopped. Throws Error.
    void resume(model::FinalState state);
    /// Kills the tree.
    void end();

private:
    struct Impl;

    void noteTime() noexcept;
    /// Reads the parent pagemaps of tracked processes ahead.
    void readParentsAhead();
    /// Adds resources that listeners name to Options::externals.
    void takeExternals(const std::vector<std::string>& names);

    Run& run_;
    Guardian& guardian_;
    std::unique_ptr<Impl> impl_;
};

}  // namespace criu::engine
