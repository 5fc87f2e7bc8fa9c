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

/// A process and its descendants while they run: some may have ended, and others been born.
std::vector<HostPid> runningTree(HostPid root);

/// The first phase of a dump: the tree stands still and the devices of its processes are paused; the images directory
/// has no inventory, so nobody takes it for a checkpoint. Nothing has been looked at yet.
///
/// Each phase takes its predecessor and uses what that holds. They are destroyed in reverse order, which is what a
/// failure means: the tasks go on as if nothing had happened.
class FrozenPhase {
public:
    enum class Purpose {
        Dump,
        PreDump,  ///< the tree goes on soon: nobody is notified, and devices aren't paused
    };

    /// Freezes the tree of Options::tree. `run` and `guardian` outlive this object. `link`: to whatever tracks the
    /// tree's memory, if anything does. Throws Error.
    FrozenPhase(Run& run, Guardian& guardian, Purpose purpose, std::optional<WpTrackerLink> link);
    ~FrozenPhase();
    FrozenPhase(const FrozenPhase&) = delete;
    FrozenPhase& operator=(const FrozenPhase&) = delete;

    [[nodiscard]] const model::Options& options() const noexcept;
    [[nodiscard]] const model::Client& client() const noexcept;
    [[nodiscard]] Log& log() const noexcept;
    [[nodiscard]] StopRequest& stop() const noexcept;
    [[nodiscard]] Guardian& guardian() const noexcept { return guardian_; }
    /// All images are made: they go where they are to go (--stream, --stream-to). Throws Error.
    void sendImages();
    /// The dump has failed: what there is of it is no checkpoint. What goes wrong in that is logged.
    void revokeImages() noexcept;
    [[nodiscard]] const ImageDir& images() const noexcept;
    /// What all phases together took and moved.
    [[nodiscard]] DumpStatistics& statistics() noexcept;
    [[nodiscard]] FrozenTree& tree() noexcept;
    [[nodiscard]] device::DumpDevices& devices() noexcept;
    [[nodiscard]] MemoryTracking& tracking() noexcept;
    /// The images are complete: what is tracked from now on is what changes after them. Throws Error.
    void commitTracking();
    /// Where pages go: into the images directory, or to a page server.
    [[nodiscard]] memory::PageSinks& pages() noexcept;
    /// Where pages are asked for that the dump leaves where they are; null without --lazy-pages.
    [[nodiscard]] ListeningPageServer* lazyPageServer() noexcept;
    /// As --cgroup-props and --cgroup-props-file want them. Read before anything is done, so that mistakes in them
    /// leave everything as it was.
    [[nodiscard]] const cgroup::PropertyTable& cgroupProperties() const noexcept;

    /// The end: the tree goes on, or stays stopped. Throws Error.
    void resume(model::FinalState state);
    /// The end of the tree.
    void end();

private:
    struct Impl;

    void noteTime() noexcept;
    /// Adds to the options what is outside of the tree (--external).
    void readParentsAhead();
    void takeExternals(const std::vector<std::string>& names);

    Run& run_;
    Guardian& guardian_;
    std::unique_ptr<Impl> impl_;
};

}  // namespace criu::engine
