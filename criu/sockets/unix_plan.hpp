// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "criu/files/file_restore.hpp"
#include "criu/sockets/unix_group.hpp"

namespace criu::sockets {

/// All Unix sockets of the images, in groups that have to be opened together.
class UnixPlan {
public:
    /// `remaps`: knows the directories of names that other mounts cover.
    UnixPlan(const ExternalSocketRestore& carried, const files::PathRemaps& remaps)
        : carried_(carried), remaps_(remaps) {}

    /// Throws Error where the images contradict themselves.
    void load(files::FileRestore& restore);

    /// The group of a socket; throws Error for an unknown one.
    [[nodiscard]] std::shared_ptr<UnixGroup> groupOf(FileId id) const;

private:
    void linkPeer(UnixSocket& socket);
    void linkListeners();
    void linkSenders();
    void makeGroups();

    const ExternalSocketRestore& carried_;
    const files::PathRemaps& remaps_;
    ProcessLock lock_;
    SocketQueues queues_;
    std::deque<UnixSocket> sockets_;
    std::map<FileId, UnixSocket*> byId_;
    std::map<std::uint32_t, UnixSocket*> byInode_;
    std::map<FileId, std::shared_ptr<UnixGroup>> groups_;
};

/// The directories that sockets of the tree have their names in, by the mounts that these are on, and whether a name is
/// still there. Throws Error.
[[nodiscard]] std::map<int, std::map<std::string, bool>> directoriesOfNames(std::span<const FileEntry* const> entries);

}  // namespace criu::sockets
