// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/model/stages.hpp"

namespace criu {
class StopRequest;
}

namespace criu::model {
struct Options;
}

namespace criu::service {

/// Page server that listens, with its pid in criu's pid namespace.
struct StartedPageServer {
    pid_t pid = 0;
    std::uint16_t port = 0;  ///< port of the server; 0 if the server got a connection and doesn't listen
};

/// Listener in the process of a page server. It reports to the process that handles the request when the server is
/// ready.
class PageServerReport final : public model::StageListener {
public:
    explicit PageServerReport(UniqueFd pipe) noexcept : pipe_(std::move(pipe)) {}

    /// Makes the server run in this process, not in the background. Adds this object to the listeners.
    void take(model::Options& options, std::vector<model::StageListener*>& listeners);
    [[nodiscard]] bool isReady() const noexcept { return ready_; }
    /// Sets a function that is called after the report.
    void whenReady(std::function<void()> then) { then_ = std::move(then); }

    int reached(const model::StageEvent& event) override;

private:
    UniqueFd pipe_;
    std::function<void()> then_ = [] {};
    bool ready_ = false;
};

/// Starts a page server. `serve` runs in a new process, and returns true on success. If `ofCaller` is true, the new
/// process is a child of the calling process. If it is false, the new process is a daemon.
/// Returns when the server is ready; nullopt if it ended before. Throws Error, also if a stop is requested.
std::optional<StartedPageServer> startPageServer(bool ofCaller, StopRequest& stop,
                                                 const std::function<bool(PageServerReport&)>& serve);

}  // namespace criu::service
