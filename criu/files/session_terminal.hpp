// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/base/ids.hpp"

namespace criu::files {

class FileOpener;
class PlacedFiles;

/// Interface of a restored terminal, which may control a session.
class SessionTerminal {
public:
    virtual ~SessionTerminal() = default;

    /// Returns the session whose controlling terminal this is, as images number it. If its leader is in the tree, it
    /// counts as a user of the file and has it open in beginSession() and groupsJoined().
    [[nodiscard]] virtual std::optional<TreePid> session() const = 0;

    /// True for a late file that only a process of the session can open. The leader opens it if none of its users can.
    [[nodiscard]] virtual bool opensOnlyInSession() const { return false; }

    /// Runs in the session's leader, when it has begun the session and is alone in it.
    virtual void beginSession(FileOpener&) {}

    /// Runs in the session's leader when all processes are in their groups. For an external session: in the tree's
    /// root, if that is in criu's session.
    virtual void groupsJoined(PlacedFiles&) {}
};

}  // namespace criu::files
