// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/ready_wait.hpp"

#include <poll.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/stop_request.hpp"

namespace criu {

bool waitReady(int fd, short events, StopRequest& stop, std::optional<std::chrono::milliseconds> limit) {
    using std::chrono::milliseconds;
    using Clock = std::chrono::steady_clock;
    // Checks the stop request at intervals, because the descriptor of the request may never become readable: the thread
    // that handles the request disables the descriptor for all threads.
    constexpr milliseconds kLookEvery{250};
    const Clock::time_point end = Clock::now() + limit.value_or(milliseconds(0));
    for (;;) {
        const milliseconds left = limit ? std::chrono::ceil<milliseconds>(end - Clock::now()) : kLookEvery;
        pollfd waiting[] = {{fd, events, 0}, {stop.fd(), POLLIN, 0}};
        const auto pause = static_cast<int>(std::clamp(left, milliseconds(0), kLookEvery).count());
        const int ready = ::poll(waiting, std::size(waiting), pause);
        if (ready < 0 && errno != EINTR)
            failErrno("wait for fd {}", fd);
        if (ready <= 0 || waiting[1].revents != 0)
            stop.throwIfRequested();
        if (ready > 0 && waiting[0].revents != 0)
            return true;
        if (limit && Clock::now() >= end)
            return false;
    }
}

}  // namespace criu
