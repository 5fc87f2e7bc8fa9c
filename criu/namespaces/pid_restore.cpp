// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/pid_restore.hpp"

#include <fcntl.h>
#include <sched.h>

#include "criu/base/error.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/nslinks.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/joined.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "images/pidns.hpp"

namespace criu::namespaces {
namespace {

class PidRestore final : public NamespaceRestore {
public:
    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override {
        return task.parent == nullptr ? CLONE_NEWPID : 0;
    }
};

/// A namespace that others live in, too, which the user gives.
class GivenPidRestore final : public NamespaceRestore {
public:
    explicit GivenPidRestore(std::string name) : name_(std::move(name)) {}

    [[nodiscard]] std::size_t descriptors() const override { return 2; }

    void prepare(kernel::FdStore& store, const Inherited& inherited) override {
        const int given = inherited(name_);
        if (given < 0) {
            Error error(0, fmt::format("the tree was in an external pid namespace, {}", name_));
            error.addHint(fmt::format(
                "give the one to restore it in: --inherit-fd fd[N]:{}, N being a descriptor of criu", name_));
            throw error;
        }
        requireNamespace(given, kernel::NamespaceKind::Pid, fmt::format("what --inherit-fd gives for {}", name_));
        given_ = store.inherit(kernel::FdKey::Namespace,
                               UniqueFd(sys(::fcntl(given, F_DUPFD_CLOEXEC, 0), "copy fd {}", given)));
        home_ = store.inherit(kernel::FdKey::Namespace, kernel::openOwnNamespace(kernel::NamespaceKind::Pid));
    }

    /// The namespace of a process never changes, only that of its children.
    HostPid bearFirst(const std::function<HostPid()>& create) override {
        sys(::setns(given_.get(), CLONE_NEWPID), "have children in the pid namespace {}", name_);
        const GoHome home{home_.get()};
        return create();
    }

private:
    struct GoHome {
        int home;
        ~GoHome() { ::setns(home, CLONE_NEWPID); }  // always allowed: it is the own one
    };

    std::string name_;
    UniqueFd given_;
    UniqueFd home_;
};

}  // namespace

std::unique_ptr<NamespaceRestore> makePidRestore(const RestoreInputs& inputs) {
    const std::uint32_t number = KindNumbers::ofOne(inputs, kernel::NamespaceKind::Pid).own;
    if (number == 0)
        return nullptr;
    inputs.surroundings.ownPids = true;
    if (inputs.images.exists(ImageKind::Pidns, number)) {
        const auto entry = inputs.images.openRequired(ImageKind::Pidns, number).only<PidnsEntry>();
        if (entry->ext_key != nullptr)
            return std::make_unique<GivenPidRestore>(entry->ext_key);
    }
    inputs.surroundings.endsWithFirst = true;
    return std::make_unique<PidRestore>();
}

}  // namespace criu::namespaces
