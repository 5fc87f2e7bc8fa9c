// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/files/seen_sessions.hpp"

#include <algorithm>
#include <set>

#include "criu/base/loss.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/kernel/device_number.hpp"

namespace criu::engine {
namespace {

bool hasTerminal(const std::vector<tty::SeenSession>& sessions, TreePid sid) {
    return std::any_of(sessions.begin(), sessions.end(),
                       [&](const tty::SeenSession& session) { return session.sid == sid && session.terminal != 0; });
}

}  // namespace

std::vector<tty::SeenSession> sessionsOf(FrozenTree& tree, Log& log) {
    std::set<TreePid> processes;
    for (const auto& task : tree.tasks())
        processes.insert(task->treePid());
    std::vector<tty::SeenSession> sessions;
    for (const auto& task : tree.tasks()) {
        if (!task->alive())
            continue;
        const kernel::TaskStat& stat = task->stat;
        const TreePid sid = task->session();
        auto found = std::find_if(sessions.begin(), sessions.end(),
                                  [&](const tty::SeenSession& session) { return session.sid == sid; });
        if (found == sessions.end())
            found = sessions.insert(found, {sid, processes.contains(sid), 0, TreePid()});
        // Gets the terminal from any process of the session. One process may have given up its controlling terminal
        // (TIOCNOTTY) while another process of the session still has it.
        if (stat.ttyNumber != 0 && found->terminal == 0) {
            found->terminal = kernel::decodeDevice(static_cast<std::uint32_t>(stat.ttyNumber));
            found->foreground = tree.pids().inside(HostPid(stat.ttyPgrp));
        }
    }
    for (const auto& task : tree.tasks())
        if (task->alive() && task->stat.ttyNumber == 0 && hasTerminal(sessions, task->session()))
            log.loss(Loss::Terminals, "{} has no controlling terminal, but gets that of its session by a restore",
                     task->describe());
    return sessions;
}

}  // namespace criu::engine
