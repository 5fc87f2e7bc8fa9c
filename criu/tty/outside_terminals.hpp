// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <functional>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::model {
struct Options;
}

namespace criu::tty {

/// Connections of restored terminals to processes outside of the tree: the shell job terminal, the socket for orphan
/// masters, and the foreground groups.
class OutsideTerminals {
public:
    /// `groupFor`: returns the restored process group for a group of the image. For a group of a shell job session,
    /// returns criu's group. Returns 0 if no process of the tree is in the group.
    explicit OutsideTerminals(std::function<TreePid(TreePid image)> groupFor) : groupFor_(std::move(groupFor)) {}

    /// Opens the terminals that the options need. Call it before the first process exists. `toServiceRange`: moves a
    /// descriptor into the service range. Throws Error.
    void open(const model::Options& options, const std::function<UniqueFd(UniqueFd)>& toServiceRange);

    /// Throws Error if open() with --shell-job would find no terminal.
    static void requireShellJobTerminal();

    /// Returns the shell job terminal (--shell-job); -1 if there is none. This object owns the descriptor.
    [[nodiscard]] int own() const noexcept { return own_.get(); }

    /// Sends an orphan master to the coordinator (Options::orphanPtsMaster). Restored processes call this.
    void handOver(UniqueFd master) const;
    /// Returns the next orphan master, or an invalid descriptor if there is none. The coordinator calls this.
    [[nodiscard]] UniqueFd handedOver() const;

    [[nodiscard]] TreePid groupFor(TreePid image) const { return groupFor_(image); }

private:
    std::function<TreePid(TreePid)> groupFor_;
    UniqueFd own_;
    UniqueFd handOverTo_;  ///< socket by which restored processes send orphan masters
    UniqueFd handedOverFrom_;
};

/// Throws the Error of a shell job without a terminal for it.
[[noreturn]] void failWithoutShellJobTerminal();

}  // namespace criu::tty
