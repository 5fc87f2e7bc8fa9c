// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "criu/files/file_restore.hpp"
#include "criu/sockets/fresh_options.hpp"
#include "criu/sockets/unix/unix_group.hpp"

namespace criu::sockets {

/// All Unix sockets of the images, as Unix groups.
class UnixPlan {
public:
    /// `remaps`: contains the covered directories in which sockets have names.
    UnixPlan(const ExternalSocketRestore& externalSockets, const files::PathRemaps& remaps)
        : externalSockets_(externalSockets), remaps_(remaps) {}

    /// Throws Error if the images are inconsistent.
    void load(files::FileRestore& restore);

    /// Returns the Unix group of a socket. Throws Error for an unknown socket.
    [[nodiscard]] std::shared_ptr<UnixGroup> groupOf(FileId id) const;

private:
    void linkPeer(UnixSocket& socket);
    void linkListeners();
    void linkSenders();
    void makeGroups();

    const ExternalSocketRestore& externalSockets_;
    const files::PathRemaps& remaps_;
    ProcessLock lock_;
    FreshOptions fresh_;
    SocketQueues queues_;
    std::deque<UnixSocket> sockets_;
    std::map<FileId, UnixSocket*> byId_;
    std::map<std::uint32_t, UnixSocket*> byInode_;
    std::map<FileId, std::shared_ptr<UnixGroup>> groups_;
};

/// Returns the directories that contain socket files. The key is a mount id and a directory path. The value is true if
/// at least one socket file in the directory isn't deleted. Throws Error.
[[nodiscard]] std::map<int, std::map<std::string, bool>> directoriesOfNames(std::span<const FileEntry* const> entries);

}  // namespace criu::sockets
