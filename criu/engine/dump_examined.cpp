// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump_examined.hpp"

#include "criu/base/error.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/engine/client_rules.hpp"
#include "criu/engine/dump_frozen.hpp"
#include "criu/engine/dump_refusals.hpp"
#include "criu/engine/file_servers.hpp"
#include "criu/engine/frozen_tree.hpp"

namespace criu::engine {

/// Before anything else is asked: who may have the tree dumped, and whether its files can answer.
std::unique_ptr<AnswerWatch> ExaminedPhase::watchAnswers(FrozenPhase& frozen) {
    requireClientsTree(frozen.client(), frozen.tree());
    const FileServers servers(frozen.tree());
    if (!servers.used())
        return nullptr;
    auto watch = std::make_unique<AnswerWatch>(frozen.options().timeout, frozen.stop(), frozen.log());
    servers.requireAnswers();
    return watch;
}

ExaminedPhase::ExaminedPhase(FrozenPhase& frozen)
    : frozen_(frozen),
      answers_(watchAnswers(frozen)),
      namespaces_(frozen.options(), frozen.log(), frozen.stop(), frozen.tree(), frozen.cgroupProperties(),
                  frozen.guardian(), frozen.devices()) {
    refuseUnsupported(frozen.tree(), frozen.options());
    namespaces_.lock();
    std::vector<compel::FrozenProcess*> processes;
    for (const auto& task : frozen.tree().tasks())
        if (task->alive())
            processes.push_back(&*task->process);
    frozen.devices().checkpoint(processes);
}

ExaminedPhase::~ExaminedPhase() = default;

}  // namespace criu::engine
