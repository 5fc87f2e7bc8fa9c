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

/// Links of restored terminals to processes outside of the tree: criu's terminal, the socket for new masters, and the
/// process groups.
class OutsideTerminals {
public:
    /// `groupFor` maps a process group of the image to the restored one, or to criu's group for a shell job's. It
    /// returns 0 if no process of the tree is in the group.
    explicit OutsideTerminals(std::function<TreePid(TreePid image)> groupFor) : groupFor_(std::move(groupFor)) {}

    /// Opens the terminals that the options ask for, before the first process exists. `toServiceRange` moves a
    /// descriptor out of the number range of restored files. Throws Error.
    void open(const model::Options& options, const std::function<UniqueFd(UniqueFd)>& toServiceRange);

    /// Returns the terminal criu was started from (--shell-job); -1 if there is none. This object owns it.
    [[nodiscard]] int own() const noexcept { return own_.get(); }

    /// Sends an orphan master to the coordinator (Options::orphanPtsMaster). Restored processes call it.
    void handOver(UniqueFd master) const;
    /// Returns the next orphan master, or an invalid descriptor. The coordinator calls it.
    [[nodiscard]] UniqueFd handedOver() const;

    [[nodiscard]] TreePid groupFor(TreePid image) const { return groupFor_(image); }

private:
    std::function<TreePid(TreePid)> groupFor_;
    UniqueFd own_;
    UniqueFd handOverTo_;  ///< a socket pair
    UniqueFd handedOverFrom_;
};

}  // namespace criu::tty
