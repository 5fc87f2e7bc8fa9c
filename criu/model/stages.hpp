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

/// Stages of a command at which criu notifies listeners. The table lists them in order. The last column is the effect
/// if a listener objects:
///
///     dump     PreDump            before tasks are frozen; fails the dump
///              QueryExtFiles      the tree is frozen, listeners may name external resources; fails the dump
///              NetworkLock        before criu locks a private network namespace of the tree; fails the dump
///              PostDump           the images are complete; resumes the tree, and the dump ends with the status
///              NetworkUnlock      after NetworkLock, if the tree is resumed, also after a failure; is only logged
///     restore  PreRestore         before criu creates anything; fails the restore
///              SetupNamespaces    the root exists, its namespaces are empty; fails the restore
///              PostSetupNamespaces  the namespaces are filled, except mount namespaces; fails the restore
///              PostMounts         only with Options::notifyMounts: the mounts of the tree exist, and the root process
///                                 still has criu's root directory if the user passed --root; fails the restore
///              PostRestore        all processes are complete and stopped; fails the restore
///              NetworkUnlock      the tree has a private network namespace; is only logged, like the next two
///              PreResume          before processes run
///              PostResume         processes run
///
/// PreStream, StatusReady (a server listens) and OrphanPtsMaster are also names in CRIU's protocol, but a dump or
/// restore doesn't notify listeners of these stages. takeOrphanMaster() offers an orphan master, and nameExternals()
/// asks for external resources.
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
    PostMounts,
};

/// Returns the name of a stage in action scripts and requests, for instance "post-dump".
std::string_view stageName(Stage stage) noexcept;

/// Data of a notification.
struct StageEvent {
    Stage stage{};
    HostPid root;            ///< root of the tree; 0 before it exists
    int imagesDir = -1;      ///< descriptor of the images directory, which is open during the notification
    std::uint16_t port = 0;  ///< port of a server at StatusReady; 0 if it has no port
};

/// Listener for stages: the user's action scripts, a client of the service, or a device subsystem.
class StageListener {
public:
    virtual ~StageListener() = default;

    /// Handles a stage. Returns 0 if the command may continue. Any other value, such as the exit status of a program,
    /// is an objection. Throws Error if the notification fails or the user requests a stop.
    virtual int reached(const StageEvent& event) = 0;

    /// Offers an orphan master that a restore has created (Options::orphanPtsMaster), before criu resumes the tree.
    /// Returns true if the listener has moved the descriptor out of `master`. If it throws Error, the restore fails.
    virtual bool takeOrphanMaster(UniqueFd& /*master*/) { return false; }

    /// Returns true if reached() runs code of the user, which may freeze the tree.
    [[nodiscard]] virtual bool mayFreeze() const noexcept { return false; }

    /// Returns true if nameExternals() can return any resources.
    [[nodiscard]] virtual bool namesExternals() const noexcept { return false; }
    /// Returns the names of external resources, in the form of arguments of --external. Called at the stage
    /// QueryExtFiles. If it throws Error, the dump fails.
    virtual std::vector<std::string> nameExternals() { return {}; }
};

/// Listeners of a command, in the order of notification. The listeners must outlive this object.
class StageListeners {
public:
    StageListeners() = default;
    explicit StageListeners(std::vector<StageListener*> listeners) noexcept : listeners_(std::move(listeners)) {}

    /// Appends all listeners of another list.
    void append(const StageListeners& others);

    void setRoot(HostPid root) noexcept { root_ = root; }
    void setImagesDir(int fd) noexcept { imagesDir_ = fd; }
    void setPort(std::uint16_t port) noexcept { port_ = port; }

    /// Notifies listeners until one objects, and returns its status; 0 if none objects. At the stage NetworkUnlock,
    /// always notifies all listeners, because they revert their actions there. Rethrows exceptions of a listener.
    int notify(Stage stage);

    /// Calls notify(), and throws Error if a listener objects.
    void require(Stage stage);

    /// Gives the orphan master to the first listener that accepts it. Throws Error if no listener accepts it.
    void handOverOrphanMaster(UniqueFd master);

    /// Returns true if any listener may freeze the tree.
    [[nodiscard]] bool mayFreeze() const noexcept;

    /// Returns true if any listener names external resources.
    [[nodiscard]] bool namesExternals() const noexcept;
    std::vector<std::string> nameExternals();

private:
    std::vector<StageListener*> listeners_;
    HostPid root_;
    int imagesDir_ = -1;
    std::uint16_t port_ = 0;
};

/// Throws Error if `status` isn't 0: a listener has objected.
void requireConsent(Stage stage, int status);

}  // namespace criu::model
