// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/tree_namespaces.hpp"

#include <sched.h>

#include "criu/base/error.hpp"
#include "criu/kernel/features.hpp"
#include "criu/namespaces/image_order.hpp"

namespace criu::namespaces {

using kernel::NamespaceKind;

TreeNamespaces::TreeNamespaces(const JoinedNamespaces& joined, const ImageDir& images, const TaskKobjIdsEntry* outside,
                               const TaskKobjIdsEntry* tree)
    : joined_(joined) {
    const auto wanted = [&](NamespaceKind kind) { return joined.has(kind) ? 0 : ownNumberOf(outside, tree, kind); };
    if (const std::uint32_t number = wanted(NamespaceKind::Uts); number != 0)
        uts_.emplace(images, number);
    const std::uint32_t time = wanted(NamespaceKind::Time);
    if (time != 0)
        kernel::Features().require(kernel::Feature::TimeNs);
    const bool known = time != 0 || images.exists(ImageKind::Timens, 0);
    if (known && !joined.has(NamespaceKind::Time) && kernel::Features().has(kernel::Feature::TimeNs))
        clocks_.emplace(images, time);
}

int TreeNamespaces::newKinds() const noexcept {
    return uts_ ? CLONE_NEWUTS : 0;
}

void TreeNamespaces::fill() const {
    if (uts_)
        uts_->fill();
}

void TreeNamespaces::enter() const {
    joined_.enter(NamespaceKind::Uts);
    if (newKinds() != 0)
        sys(::unshare(newKinds()), "create namespaces for the tree ({:#x})", newKinds());
    fill();
    joined_.enter(NamespaceKind::Time);
    if (clocks_)
        clocks_->enterNew();
}

}  // namespace criu::namespaces
