// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/pid_restore.hpp"

#include <sched.h>

#include "criu/kernel/nslinks.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/namespace_restore.hpp"

namespace criu::namespaces {
namespace {

class PidRestore final : public NamespaceRestore {
public:
    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override {
        return task.parent == nullptr ? CLONE_NEWPID : 0;
    }
};

}  // namespace

std::unique_ptr<NamespaceRestore> makePidRestore(const RestoreInputs& inputs) {
    if (KindNumbers::ofOne(inputs, kernel::NamespaceKind::Pid).own == 0)
        return nullptr;
    inputs.surroundings.ownPids = true;
    return std::make_unique<PidRestore>();
}

}  // namespace criu::namespaces
