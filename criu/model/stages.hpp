// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::model {

/// Stages of a command at which criu notifies listeners, in order, with the effect of an objection:
///
///     dump     PreDump            before tasks are frozen; fails the dump
///              QueryExtFiles      the tree is frozen, listeners may name external resources; fails the dump
///              NetworkLock        before criu locks a private network namespace of the tree; fails the dump
///              PostDump           the images are complete; resumes the tree, and the dump ends with the status
///              NetworkUnlock      after NetworkLock, if the tree is resumed, also after a failure; is only logged
///     restore  PreRestore         before criu creates anything; fails the restore
///              SetupNamespaces    the root exists, its namespaces are empty; fails the restore
///              PostSetupNamespaces  the namespaces are filled; fails the restore
///              PostRestore        all processes are complete and stopped; fails the restore
///              NetworkUnlock      the tree has a private network namespace; is only logged, like the next two
///              PreResume          before processes run
///              PostResume         processes run
///
/// PreStream, StatusReady (a server listens) and OrphanPtsMaster are further names of CRIU's protocol. Dump and restore
/// don't reach them: takeOrphanMaster() offers a master, and nameExternals() asks for external resources.
enum class Stage : std::uint8_t {
    PreStream,
    PreDump,
    PostDump,
    PreRestore,
    PostRestore,
    NetworkLock,
    NetworkUnlock,
    SetupNamespaces,
    PostSetupNamespaces,
    PostResume,
    PreResume,
    OrphanPtsMaster,
    StatusReady,
    QueryExtFiles,
};

/// Returns the name in scripts and requests, for instance "post-dump".
std::string_view stageName(Stage stage) noexcept;

/// Data of a notification.
struct StageEvent {
    Stage stage{};
    HostPid root;            ///< root of the tree; none before it exists
    int imagesDir = -1;      ///< descriptor of the images directory, open during the notification
    std::uint16_t port = 0;  ///< port of a server at StatusReady; 0 without a port
};

/// Listener for stages: the user's programs, a client of the service, or a device subsystem.
class StageListener {
public:
    virtual ~StageListener() = default;

    /// Handles a stage. Returns 0 to continue, or another status (of a program) to object. Throws Error if the
    /// notification fails or the user requests a stop.
    virtual int reached(const StageEvent& event) = 0;

    /// Offers an orphan master that a restore made (Options::orphanPtsMaster), before the tree runs. Returns true if
    /// the listener has taken it out of `master`. Throws Error to fail the restore.
    virtual bool takeOrphanMaster(UniqueFd& /*master*/) { return false; }

    /// True if nameExternals() may return resources.
    [[nodiscard]] virtual bool namesExternals() const noexcept { return false; }
    /// Returns names of external resources at stage QueryExtFiles, as arguments of --external. Throws Error to fail
    /// the dump.
    virtual std::vector<std::string> nameExternals() { return {}; }
};

/// Listeners of a command in the order of notification. They must outlive this object.
class StageListeners {
public:
    StageListeners() = default;
    explicit StageListeners(std::vector<StageListener*> listeners) noexcept : listeners_(std::move(listeners)) {}

    /// Appends the listeners of another list.
    void append(const StageListeners& others);

    void setRoot(HostPid root) noexcept { root_ = root; }
    void setImagesDir(int fd) noexcept { imagesDir_ = fd; }
    void setPort(std::uint16_t port) noexcept { port_ = port; }

    /// Notifies listeners until one objects, and returns its status; 0 without objection. Notifies all listeners of
    /// NetworkUnlock in any case, because it reverts their actions. Rethrows exceptions of a listener.
    int notify(Stage stage);

    /// Notifies listeners, and throws Error if one objects.
    void require(Stage stage);

    /// Gives the master to the first listener that takes it; throws Error if none does.
    void handOverOrphanMaster(UniqueFd master);

    /// Combine the results of all listeners, as in StageListener.
    [[nodiscard]] bool namesExternals() const noexcept;
    std::vector<std::string> nameExternals();

private:
    std::vector<StageListener*> listeners_;
    HostPid root_;
    int imagesDir_ = -1;
    std::uint16_t port_ = 0;
};

/// Throws Error for a status other than 0, which is an objection.
void requireConsent(Stage stage, int status);

}  // namespace criu::model
