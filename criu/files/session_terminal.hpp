// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/base/ids.hpp"

namespace criu::files {

class FileOpener;
class PlacedFiles;

/// Interface of a restored terminal that may be the controlling terminal of a session.
class SessionTerminal {
public:
    virtual ~SessionTerminal() = default;

    /// Returns the session whose controlling terminal this is, as a tree pid. If the tree contains the session leader,
    /// it counts as a user of the file, and has the file open in beginSession() and groupsJoined().
    [[nodiscard]] virtual std::optional<TreePid> session() const = 0;

    /// Returns true for a late file that only a process of the session can open. If no process of the session uses the
    /// file, the session leader opens it.
    [[nodiscard]] virtual bool opensOnlyInSession() const { return false; }

    /// Runs in the session leader after it has created the session, and before another process joins the session.
    virtual void beginSession(FileOpener&) {}

    /// Runs in the session leader after all processes have joined their process groups. For an external session, runs
    /// in the tree's root, if the root is in criu's session.
    virtual void groupsJoined(PlacedFiles&) {}
};

}  // namespace criu::files
