// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "criu/files/file_restore.hpp"
#include "criu/sockets/unix_group.hpp"

namespace criu::sockets {

/// All Unix sockets of the images, in groups that have to be opened together.
class UnixPlan {
public:
    explicit UnixPlan(const CarriedSockets& carried) : carried_(carried) {}

    /// Throws Error where the images contradict themselves.
    void load(files::FileRestore& restore);

    /// The group of a socket; throws Error for an unknown one.
    [[nodiscard]] std::shared_ptr<UnixGroup> groupOf(FileId id) const;

private:
    void linkPeer(UnixSocket& socket);
    void linkListeners();
    void linkSenders();
    void makeGroups();

    const CarriedSockets& carried_;
    ProcessLock lock_;
    SocketQueues queues_;
    std::deque<UnixSocket> sockets_;
    std::map<FileId, UnixSocket*> byId_;
    std::map<std::uint32_t, UnixSocket*> byInode_;
    std::map<FileId, std::shared_ptr<UnixGroup>> groups_;
};

}  // namespace criu::sockets
