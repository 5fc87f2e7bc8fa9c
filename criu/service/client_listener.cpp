// SPDX-License-Identifier: GPL-2.0-only
#include "criu/service/client_listener.hpp"

#include <poll.h>

#include <string>

#include "criu/base/error.hpp"
#include "criu/base/ready_wait.hpp"
#include "criu/service/connection.hpp"

namespace criu::service {

using model::Stage;

int ClientListener::reached(const model::StageEvent& event) {
    root_ = event.root;
    if (!wanted_)
        return 0;
    // Passes a pid only at these two stages, because clients assume that it is the first process of a starting
    // container.
    const bool withPid =
        event.stage == Stage::SetupNamespaces || event.stage == Stage::PostMounts || event.stage == Stage::PostRestore;
    return ask(event.stage, withPid ? event.root.value : 0, -1) ? 0 : 1;
}

bool ClientListener::takeOrphanMaster(UniqueFd& master) {
    if (!wanted_)
        return false;
    if (!ask(Stage::OrphanPtsMaster, 0, master.get()))
        fail("{}", objection_);
    master.reset();
    return true;
}

std::vector<std::string> ClientListener::nameExternals() {
    const auto answer = answerTo(Stage::QueryExtFiles, 0, -1);
    if (!agrees(Stage::QueryExtFiles, *answer))
        fail("{}", objection_);
    if (answer->opts == nullptr)
        return {};
    return {answer->opts->external, answer->opts->external + answer->opts->n_external};
}

Record<CriuReq> ClientListener::answerTo(Stage stage, pid_t pid, int passed) {
    const ErrorContext context([&] { return fmt::format("notification of {}", model::stageName(stage)); });
    std::string name(model::stageName(stage));
    CriuNotify notify = CRIU_NOTIFY__INIT;
    notify.script = name.data();
    notify.has_pid = pid != 0 ? 1 : 0;
    notify.pid = pid;
    CriuResp message = CRIU_RESP__INIT;
    message.type = CRIU_REQ_TYPE__NOTIFY;
    message.success = 1;
    message.notify = &notify;
    connection_.send(message, passed);

    if (limit_ && stage != Stage::PostResume && !waitReady(connection_.fd(), POLLIN, stop_, *limit_))
        failWith(ETIMEDOUT, "the client hasn't answered within {} s", limit_->count());
    auto answer = connection_.receive(stop_);
    if (!answer)
        fail("the client has left without an answer");
    if ((*answer)->type != CRIU_REQ_TYPE__NOTIFY)
        failWith(EBADRQC, "the client answers with a request of type {}", static_cast<int>((*answer)->type));
    return std::move(*answer);
}

bool ClientListener::agrees(Stage stage, const CriuReq& answer) {
    if (answer.has_notify_success != 0 && answer.notify_success != 0)
        return true;
    objection_ = fmt::format("the client has objected at {}", model::stageName(stage));
    return false;
}

}  // namespace criu::service
