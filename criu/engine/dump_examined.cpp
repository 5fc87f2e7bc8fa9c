// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump_examined.hpp"

#include "criu/base/error.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/engine/client_rules.hpp"
#include "criu/engine/dump_frozen.hpp"
#include "criu/engine/dump_refusals.hpp"
#include "criu/engine/file_servers.hpp"
#include "criu/engine/frozen_tree.hpp"
#include "criu/engine/guarded.hpp"

namespace criu::engine {

/// Before anything else is asked: who may have the tree dumped, and whether its files can answer.
std::unique_ptr<AnswerWatch> ExaminedPhase::watchAnswers() {
    requireClientsTree(frozen_.client(), frozen_.tree());
    const FileServers servers(frozen_.tree());
    if (!servers.used())
        return nullptr;
    auto watch =
        std::make_unique<AnswerWatch>(frozen_.options().timeout, frozen_.stop(), frozen_.log(), [this] { undo(); });
    servers.requireAnswers();
    served_ = servers.devices();
    return watch;
}

/// What has been changed outside of the processes, in a thread of the watch: the one that dumps is in a system call,
/// and won't return from it.
void ExaminedPhase::undo() {
    frozen_.guardian().abandon();
    frozen_.tree().restoreGroup();
    if (DumpNamespaces* const namespaces = locked_.exchange(nullptr); namespaces != nullptr)
        namespaces->undo();
}

ExaminedPhase::ExaminedPhase(FrozenPhase& frozen)
    : frozen_(frozen),
      answers_(watchAnswers()),
      namespaces_(frozen.options(), frozen.log(), frozen.stop(), frozen.tree(), frozen.cgroupProperties(),
                  frozen.guardian(), frozen.devices()) {
    refuseUnsupported(frozen.tree(), frozen.options());
    locked_ = &namespaces_;
    namespaces_.lock();
    frozen.log().stage("devices");
    std::vector<compel::FrozenProcess*> processes;
    for (const auto& task : frozen.tree().tasks())
        if (task->alive())
            processes.push_back(&*task->process);
    frozen.devices().checkpoint(processes);
}

ExaminedPhase::~ExaminedPhase() {
    locked_ = nullptr;
}

}  // namespace criu::engine
