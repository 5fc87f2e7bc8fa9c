// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>

#include "criu/base/ids.hpp"

namespace criu::files {

class FileOpener;
class PlacedFiles;

/// What a restored file is beside RestoredFile if it is a terminal: it may control a session.
class SessionTerminal {
public:
    virtual ~SessionTerminal() = default;

    /// The session, as the image numbers it, whose terminal this is. If its leader is of the tree, it counts as a user
    /// of the file, and has it open when beginSession() and groupsJoined() are called there.
    [[nodiscard]] virtual std::optional<TreePid> session() const = 0;

    /// Of a late file: whether only a process of the session can open it. Its leader does if none of its users can.
    [[nodiscard]] virtual bool opensOnlyInSession() const { return false; }

    /// Runs in the session's leader, when that has begun the session and is alone in it.
    virtual void beginSession(FileOpener&) {}

    /// Runs in the session's leader, when all processes are in their groups. For a session that isn't of the tree: in
    /// the tree's root, if that has been put into the session of criu.
    virtual void groupsJoined(PlacedFiles&) {}
};

}  // namespace criu::files
