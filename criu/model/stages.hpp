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

/// Points of a command at which others are told, and may object. In the order in which they come, with what an
/// objection does:
///
///     dump     PreDump            nothing is stopped yet; fails the dump
///              QueryExtFiles      the tree stands still; listeners may name what is outside of it; fails the dump
///              NetworkLock        the tree has a network namespace of its own, which is about to be locked; fails it
///              PostDump           the images are complete; the tree goes on, and the dump ends with the status
///              NetworkUnlock      after NetworkLock, if the tree goes on, also after a failure; is only logged
///     restore  PreRestore         nothing has been made yet; fails the restore
///              SetupNamespaces    the root exists, its namespaces are empty; fails it
///              PostSetupNamespaces  they are filled; fails it
///              PostRestore        all processes stand still, ready to run; fails it
///              NetworkUnlock      the tree has a network namespace of its own; is only logged, as are the next two
///              PreResume          processes run from now on
///              PostResume         they run
///
/// PreStream, StatusReady (a server listens) and OrphanPtsMaster are further names that clients of CRIU know. Dump and
/// restore don't come by them; a master is offered by takeOrphanMaster(), and what is outside is asked for by
/// nameExternals().
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

/// As programs and clients know it, e.g. "post-dump".
std::string_view stageName(Stage stage) noexcept;

/// What a listener is told.
struct StageEvent {
    Stage stage{};
    HostPid root;            ///< of the tree; none as long as it doesn't exist
    int imagesDir = -1;      ///< descriptor of the images directory, open while the listener is told
    std::uint16_t port = 0;  ///< where a server listens, at StatusReady; 0 if it doesn't listen at a port
};

/// Whoever wants to be told of stages: the user's programs, a client of the service, a driver.
class StageListener {
public:
    virtual ~StageListener() = default;

    /// Returns 0 to go on, or any other status (that of a program) to object. Throws Error if it can't be told, or the
    /// user wants a stop meanwhile.
    virtual int reached(const StageEvent& event) = 0;

    /// Offers the master of a pseudoterminal that a restore has made since nobody in the tree has one
    /// (Options::orphanPtsMaster), before the tree runs. Returns whether it has been taken out of `master`. Throws
    /// Error to fail the restore.
    virtual bool takeOrphanMaster(UniqueFd& /*master*/) { return false; }

    /// Whether nameExternals() is worth being called.
    [[nodiscard]] virtual bool namesExternals() const noexcept { return false; }
    /// Stage QueryExtFiles: names resources outside of the tree, as arguments of --external. Throws Error to fail the
    /// dump.
    virtual std::vector<std::string> nameExternals() { return {}; }
};

/// The listeners of a command, in the order in which they are told. They must outlive it.
class StageListeners {
public:
    StageListeners() = default;
    explicit StageListeners(std::vector<StageListener*> listeners) noexcept : listeners_(std::move(listeners)) {}

    /// Adds those of another list behind the own.
    void append(const StageListeners& others);

    void setRoot(HostPid root) noexcept { root_ = root; }
    void setImagesDir(int fd) noexcept { imagesDir_ = fd; }
    void setPort(std::uint16_t port) noexcept { port_ = port; }

    /// Tells all until one objects, and returns its status; 0 if nobody does. Of NetworkUnlock all are told in any
    /// case: it takes back what they have done. Throws what a listener throws.
    int notify(Stage stage);

    /// Same, where an objection fails the command: throws Error.
    void require(Stage stage);

    /// Gives the master to the first who takes it; throws Error if nobody does.
    void handOverOrphanMaster(UniqueFd master);

    /// Of all listeners. Both as in StageListener.
    [[nodiscard]] bool namesExternals() const noexcept;
    std::vector<std::string> nameExternals();

private:
    std::vector<StageListener*> listeners_;
    HostPid root_;
    int imagesDir_ = -1;
    std::uint16_t port_ = 0;
};

/// Throws the Error of an objection with a status other than 0.
void requireConsent(Stage stage, int status);

}  // namespace criu::model
