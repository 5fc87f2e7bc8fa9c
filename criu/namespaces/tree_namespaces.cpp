// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/tree_namespaces.hpp"

#include <fcntl.h>
#include <sched.h>

#include <functional>

#include "criu/base/error.hpp"
#include "criu/kernel/features.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/namespaces/image_order.hpp"

namespace criu::namespaces {

using kernel::NamespaceKind;

namespace {

/// Runs `work` in a process' namespace.
void visit(const kernel::ProcPid& process, NamespaceKind kind, const std::function<void()>& work) {
    const std::string_view name = kernel::namespaceName(kind);
    const UniqueFd space = process.open(fmt::format("ns/{}", name), O_RDONLY);
    inContext([&] { return fmt::format("in the {} namespace of the tree", name); },
              [&] {
                  kernel::inOwnThread([&] {
                      sys(::setns(space.get(), kernel::namespaceCloneFlag(kind)), "enter it");
                      work();
                  });
              });
}

}  // namespace

TreeNamespaces::TreeNamespaces(const JoinedNamespaces& joined, const ImageDir& images, const TaskKobjIdsEntry* outside,
                               const TaskKobjIdsEntry* tree, const model::IdMap& ids, Log& log)
    : joined_(joined), log_(log) {
    const auto wanted = [&](NamespaceKind kind) { return joined.has(kind) ? 0 : ownNumberOf(outside, tree, kind); };
    if (const std::uint32_t number = wanted(NamespaceKind::Uts); number != 0)
        uts_.emplace(images, number);
    if (const std::uint32_t number = wanted(NamespaceKind::Ipc); number != 0)
        ipc_.emplace(images, number, ids, log);
    const std::uint32_t time = wanted(NamespaceKind::Time);
    if (time != 0)
        kernel::Features().require(kernel::Feature::TimeNs);
    const bool known = time != 0 || images.exists(ImageKind::Timens, 0);
    if (known && !joined.has(NamespaceKind::Time) && kernel::Features().has(kernel::Feature::TimeNs))
        clocks_.emplace(images, time);
}

int TreeNamespaces::newKinds() const noexcept {
    return (uts_ ? CLONE_NEWUTS : 0) | (ipc_ ? CLONE_NEWIPC : 0);
}

void TreeNamespaces::fill(const kernel::ProcPid& root, const ImageDir& images) {
    if (uts_)
        visit(root, NamespaceKind::Uts, [this] { uts_->fill(); });
    if (ipc_)
        visit(root, NamespaceKind::Ipc, [&] { ipc_->fill(images); });
}

void TreeNamespaces::finish(const kernel::ProcPid& root) const {
    if (ipc_)
        visit(root, NamespaceKind::Ipc, [this] { ipc_->finish(); });
}

void TreeNamespaces::enter() const {
    joined_.enter(NamespaceKind::Uts);
    joined_.enter(NamespaceKind::Ipc);
    joined_.enter(NamespaceKind::Time);
    if (clocks_ && !clocks_->enterNew())
        log_.warn("No right to make a time namespace: monotonic clocks don't go on from where they were");
}

}  // namespace criu::namespaces
