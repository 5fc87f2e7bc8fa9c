// SPDX-License-Identifier: GPL-2.0-only
#pragma once

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

/// The client of a request, told of the stages of its run and asked to go on. All arguments outlive this object.
class ClientListener final : public model::StageListener {
public:
    /// `wanted`: the client has asked for notifications; without, it is told nothing and agrees to everything.
    ClientListener(Connection& connection, StopRequest& stop, bool wanted) noexcept
        : connection_(connection), stop_(stop), wanted_(wanted) {}

    /// Returns 0, or 1 if the client objects. Throws Error when it has left, or answers with something else.
    int reached(const model::StageEvent& event) override;
    bool takeOrphanMaster(UniqueFd& master) override;
    [[nodiscard]] bool namesExternals() const noexcept override { return wanted_; }
    std::vector<std::string> nameExternals() override;

    /// The root of the tree, as soon as it is known.
    [[nodiscard]] HostPid root() const noexcept { return root_; }
    /// The last objection as a message, "" if there was none.
    [[nodiscard]] const std::string& objection() const noexcept { return objection_; }

private:
    /// Whether the client agrees. `pid`: 0 for none. `passed`: a descriptor, -1 for none.
    bool ask(model::Stage stage, pid_t pid, int passed) { return agrees(stage, *answerTo(stage, pid, passed)); }
    /// Notifies it, and waits for what it says.
    Record<CriuReq> answerTo(model::Stage stage, pid_t pid, int passed);
    bool agrees(model::Stage stage, const CriuReq& answer);

    Connection& connection_;
    StopRequest& stop_;
    bool wanted_;
    HostPid root_;
    std::string objection_;
};

}  // namespace criu::service
