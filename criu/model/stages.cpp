// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/stages.hpp"

#include <algorithm>
#include <utility>

#include "criu/base/error.hpp"

namespace criu::model {

std::string_view stageName(Stage stage) noexcept {
    switch (stage) {
        case Stage::PreStream:
            return "pre-stream";
        case Stage::PreDump:
            return "pre-dump";
        case Stage::PostDump:
            return "post-dump";
        case Stage::PreRestore:
            return "pre-restore";
        case Stage::PostRestore:
            return "post-restore";
        case Stage::NetworkLock:
            return "network-lock";
        case Stage::NetworkUnlock:
            return "network-unlock";
        case Stage::SetupNamespaces:
            return "setup-namespaces";
        case Stage::PostSetupNamespaces:
            return "post-setup-namespaces";
        case Stage::PostResume:
            return "post-resume";
        case Stage::PreResume:
            return "pre-resume";
        case Stage::OrphanPtsMaster:
            return "orphan-pts-master";
        case Stage::StatusReady:
            return "status-ready";
        case Stage::QueryExtFiles:
            return "query-ext-files";
        case Stage::PostMounts:
            return "post-mounts";
    }
    return "";
}

void StageListeners::append(const StageListeners& others) {
    listeners_.insert(listeners_.end(), others.listeners_.begin(), others.listeners_.end());
}

int StageListeners::notify(Stage stage) {
    const StageEvent event{stage, root_, imagesDir_, port_};
    int status = 0;
    for (StageListener* const listener : listeners_) {
        status |= listener->reached(event);
        if (status != 0 && stage != Stage::NetworkUnlock)
            break;
    }
    return status;
}

void StageListeners::require(Stage stage) {
    requireConsent(stage, notify(stage));
}

void StageListeners::handOverOrphanMaster(UniqueFd master) {
    for (StageListener* const listener : listeners_)
        if (listener->takeOrphanMaster(master))
            return;
    fail("no client takes the master of a terminal whose master no process of the tree has");
}

bool StageListeners::mayFreeze() const noexcept {
    return std::any_of(listeners_.begin(), listeners_.end(), [](const auto* each) { return each->mayFreeze(); });
}

bool StageListeners::namesExternals() const noexcept {
    return std::any_of(listeners_.begin(), listeners_.end(), [](const auto* each) { return each->namesExternals(); });
}

std::vector<std::string> StageListeners::nameExternals() {
    std::vector<std::string> all;
    for (StageListener* const listener : listeners_)
        for (std::string& name : listener->nameExternals())
            all.push_back(std::move(name));
    return all;
}

void requireConsent(Stage stage, int status) {
    if (status != 0)
        fail("an action script failed at {} with status {}", stageName(stage), status);
}

}  // namespace criu::model
