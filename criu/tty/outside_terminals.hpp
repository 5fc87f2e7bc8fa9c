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

/// What connects terminals of a restored tree with those who are outside of it: the terminal criu was started from,
/// the way on which new masters get out, and the process groups of both.
class OutsideTerminals {
public:
    /// `groupFor`: the process group that stands for one of the image, 0 if no process of the tree is in it. It is the
    /// same one, or criu's own for that which the root was put into.
    explicit OutsideTerminals(std::function<TreePid(TreePid image)> groupFor) : groupFor_(std::move(groupFor)) {}

    /// Before the first process exists: takes over what the options ask for. `toServiceRange` moves a descriptor out
    /// of the numbers that restored files need. Throws Error.
    void open(const model::Options& options, const std::function<UniqueFd(UniqueFd)>& toServiceRange);

    /// The terminal criu was started from (--shell-job); -1 if there is none. It stays this object's.
    [[nodiscard]] int own() const noexcept { return own_.get(); }

    /// In a restored process: gives a master to whoever wants those that the tree hasn't got
    /// (Options::orphanPtsMaster).
    void handOver(UniqueFd master) const;
    /// In the process that directs the restore, which asks for one after the other; none: invalid.
    [[nodiscard]] UniqueFd handedOver() const;

    [[nodiscard]] TreePid groupFor(TreePid image) const { return groupFor_(image); }

private:
    std::function<TreePid(TreePid)> groupFor_;
    UniqueFd own_;
    UniqueFd handOverTo_;  ///< a pair of sockets
    UniqueFd handedOverFrom_;
};

}  // namespace criu::tty
