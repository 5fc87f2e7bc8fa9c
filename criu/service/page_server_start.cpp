// SPDX-License-Identifier: GPL-2.0-only
#include "criu/service/page_server_start.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/base/process_title.hpp"
#include "criu/base/ready_wait.hpp"
#include "criu/model/options.hpp"

namespace criu::service {
namespace {

/// Detaches the daemon from the client's session and standard streams. Readers of the client's output then see the end
/// of the output when the client ends.
void leaveClient() {
    ::setsid();
    const UniqueFd nothing(sys(::open("/dev/null", O_RDWR | O_CLOEXEC), "open /dev/null"));
    for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; ++standard)
        sys(::dup2(nothing.get(), standard), "close standard streams");
}

/// Runs the server in the new process.
[[noreturn]] void becomeServer(bool ofCaller, UniqueFd pipe, const std::function<bool(PageServerReport&)>& serve) {
    bool served = false;
    try {
        if (!ofCaller) {
            leaveClient();
            if (sys(::fork(), "create the daemon") != 0)
                ::_exit(0);
        }
        setProcessTitle("page server");
        PageServerReport report(std::move(pipe));
        served = serve(report);
    } catch (const std::exception&) {
        // Ignores the failure, because the process that handles the request sees the end of the pipe.
    }
    ::_exit(served ? 0 : 1);
}

void reap(pid_t child) noexcept {
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace

void PageServerReport::take(model::Options& options, std::vector<model::StageListener*>& listeners) {
    options.detached = false;
    listeners.push_back(this);
}

int PageServerReport::reached(const model::StageEvent& event) {
    if (event.stage != model::Stage::StatusReady)
        return 0;
    const StartedPageServer self{::getpid(), event.port};
    if (::write(pipe_.get(), &self, sizeof(self)) != sizeof(self))
        failErrno("tell the client's process that the page server is ready");
    ready_ = true;
    pipe_.reset();
    then_();
    return 0;
}

std::optional<StartedPageServer> startPageServer(bool ofCaller, StopRequest& stop,
                                                 const std::function<bool(PageServerReport&)>& serve) {
    int ends[2];
    sys(::pipe2(ends, O_CLOEXEC), "make a pipe to a page server");
    const UniqueFd readEnd(ends[0]);
    UniqueFd writeEnd(ends[1]);
    const pid_t child = sys(::fork(), "create a page server");
    if (child == 0)
        becomeServer(ofCaller, std::move(writeEnd), serve);
    writeEnd.reset();
    if (!ofCaller)
        reap(child);
    (void)waitReady(readEnd.get(), POLLIN, stop, std::nullopt);
    StartedPageServer started;
    if (::read(readEnd.get(), &started, sizeof(started)) == sizeof(started))
        return started;
    if (ofCaller)
        reap(child);
    return std::nullopt;
}

}  // namespace criu::service
