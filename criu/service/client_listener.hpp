// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "criu/base/ids.hpp"
#include "criu/image/record.hpp"
#include "criu/model/stages.hpp"
#include "images/rpc.hpp"

namespace criu {
class StopRequest;
}

namespace criu::service {
class Connection;

/// Listener that notifies the client of a request of stages, and asks for its consent. All arguments of the constructor
/// must outlive it.
class ClientListener final : public model::StageListener {
public:
    /// `wanted` is true if the client has asked for notifications. If it is false, the client gets none and counts as
    /// consenting.
    ClientListener(Connection& connection, StopRequest& stop, bool wanted) noexcept
        : connection_(connection), stop_(stop), wanted_(wanted) {}

    /// Limits the time for each answer before the tree runs; nullopt means no limit.
    void setLimit(std::optional<std::chrono::seconds> limit) noexcept { limit_ = limit; }

    /// Returns 0, or 1 if the client objects. Throws Error if the client has closed the connection, sends an unexpected
    /// message, or doesn't answer in time.
    int reached(const model::StageEvent& event) override;
    bool takeOrphanMaster(UniqueFd& master) override;
    [[nodiscard]] bool mayFreeze() const noexcept override { return wanted_; }
    [[nodiscard]] bool namesExternals() const noexcept override { return wanted_; }
    std::vector<std::string> nameExternals() override;

    /// Returns the root of the tree; 0 before the listener knows it.
    [[nodiscard]] HostPid root() const noexcept { return root_; }
    /// Returns the last objection as a message; "" if the client hasn't objected.
    [[nodiscard]] const std::string& objection() const noexcept { return objection_; }

private:
    /// Returns true if the client consents. `pid` is passed to the client unless it is 0, and the descriptor `passed`
    /// unless it is -1.
    bool ask(model::Stage stage, pid_t pid, int passed) { return agrees(stage, *answerTo(stage, pid, passed)); }
    /// Notifies the client, and waits for its answer.
    Record<CriuReq> answerTo(model::Stage stage, pid_t pid, int passed);
    bool agrees(model::Stage stage, const CriuReq& answer);

    Connection& connection_;
    StopRequest& stop_;
    bool wanted_;
    std::optional<std::chrono::seconds> limit_;
    HostPid root_;
    std::string objection_;
};

}  // namespace criu::service
