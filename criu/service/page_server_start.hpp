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

/// A page server that listens, and its number as criu sees it.
struct StartedPageServer {
    pid_t pid = 0;
    std::uint16_t port = 0;  ///< 0 if it was given a connection instead
};

/// In the process of a page server: reports to the one that has been asked for it.
class PageServerReport final : public model::StageListener {
public:
    explicit PageServerReport(UniqueFd pipe) noexcept : pipe_(std::move(pipe)) {}

    /// Has the server serve in this process, and this object be told when it is ready.
    void take(model::Options& options, std::vector<model::StageListener*>& listeners);
    [[nodiscard]] bool isReady() const noexcept { return ready_; }
    /// Called when the report has been made.
    void whenReady(std::function<void()> then) { then_ = std::move(then); }

    int reached(const model::StageEvent& event) override;

private:
    UniqueFd pipe_;
    std::function<void()> then_ = [] {};
    bool ready_ = false;
};

/// Starts a page server: `serve` does its work in a new process and returns whether it has succeeded. `ofCaller`: as a
/// child of the calling process, else as a daemon. Returns when the server listens; nothing if it has ended before.
/// Throws Error, also if a stop is requested meanwhile.
std::optional<StartedPageServer> startPageServer(bool ofCaller, StopRequest& stop,
                                                 const std::function<bool(PageServerReport&)>& serve);

}  // namespace criu::service
