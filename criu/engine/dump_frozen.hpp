// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstdint>

#include "criu/cgroup/properties.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/engine/frozen_tree.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/image/image_dir.hpp"

namespace criu {
class Log;
class StopRequest;
}  // namespace criu

namespace criu::engine {
class Guardian;
struct Run;
}  // namespace criu::engine

namespace criu::model {
struct Client;
enum class FinalState : std::uint8_t;
struct Options;
}  // namespace criu::model

namespace criu::model {
enum class FinalState : std::uint8_t;
}

namespace criu::engine {

/// The first phase of a dump: the tree stands still and the devices of its processes are paused; the images directory
/// has no inventory, so nobody takes it for a checkpoint. Nothing has been looked at yet.
///
/// Each phase takes its predecessor and uses what that holds. They are destroyed in reverse order, which is what a
/// failure means: the tasks go on as if nothing had happened.
class FrozenPhase {
public:
    /// Freezes the tree of Options::tree. `run` and `guardian` outlive this object. Throws Error.
    FrozenPhase(Run& run, Guardian& guardian);
    FrozenPhase(const FrozenPhase&) = delete;
    FrozenPhase& operator=(const FrozenPhase&) = delete;

    [[nodiscard]] const model::Options& options() const noexcept;
    [[nodiscard]] const model::Client& client() const noexcept;
    [[nodiscard]] Log& log() const noexcept;
    [[nodiscard]] StopRequest& stop() const noexcept;
    [[nodiscard]] Guardian& guardian() const noexcept { return guardian_; }
    [[nodiscard]] const ImageDir& images() const noexcept { return images_; }
    /// What all phases together took and moved.
    [[nodiscard]] DumpStatistics& statistics() noexcept { return statistics_; }
    [[nodiscard]] FrozenTree& tree() noexcept { return tree_; }
    [[nodiscard]] device::DumpDevices& devices() noexcept { return devices_; }
    /// As --cgroup-props and --cgroup-props-file want them. Read before anything is done, so that mistakes in them
    /// leave everything as it was.
    [[nodiscard]] const cgroup::PropertyTable& cgroupProperties() const noexcept { return cgroupProperties_; }

    /// The end: the tree goes on, or stays stopped. Throws Error.
    void resume(model::FinalState state);
    /// The end of the tree. If the dump is done inside of the tree's pid namespace the root is left, frozen.
    void end();

private:
    void noteTime() noexcept;

    Run& run_;
    Guardian& guardian_;
    cgroup::PropertyTable cgroupProperties_;
    ImageDir images_;
    DumpStatistics statistics_;
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
    FrozenTree tree_;
    device::DumpDevices devices_;  // undone before the processes go on
};

}  // namespace criu::engine
