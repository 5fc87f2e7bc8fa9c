// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/pipe_ends.hpp"

#include <fcntl.h>
#include <poll.h>

#include "criu/files/open_fd.hpp"

namespace criu::files {

void PipeEnds::add(std::uint32_t pipe, const OpenFd& file) {
    Pipe& known = pipes_[pipe];
    if (known.shown.empty())
        known.shown = file.describe();
    const std::uint32_t access = file.info.flags & O_ACCMODE;
    known.reads = known.reads || access != O_WRONLY;
    known.writes = known.writes || access != O_RDONLY;
    if (known.reads && known.writes)
        return;  // both ends are in the tree
    // If no process has the other end, poll(2) reports POLLHUP for a read end and POLLERR for a write end (pipe(7)).
    pollfd events{file.copy.get(), POLLIN | POLLOUT, 0};
    known.connected = known.connected || (::poll(&events, 1, 0) >= 0 && (events.revents & (POLLHUP | POLLERR)) == 0);
}

std::vector<std::pair<std::uint32_t, std::string>> PipeEnds::outside() const {
    std::vector<std::pair<std::uint32_t, std::string>> found;
    for (const auto& [pipe, known] : pipes_)
        if (known.connected && known.reads != known.writes)
            found.emplace_back(pipe, known.shown);
    return found;
}

}  // namespace criu::files
