// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/kernel/nslinks.hpp"

namespace criu::namespaces {

/// Images number namespaces by one count over all kinds; those of criu come first, in this order, from 1.
inline constexpr kernel::NamespaceKind kImageOrder[] = {
    kernel::NamespaceKind::Pid,  kernel::NamespaceKind::Net,    kernel::NamespaceKind::Ipc,
    kernel::NamespaceKind::Uts,  kernel::NamespaceKind::Time,   kernel::NamespaceKind::Mount,
    kernel::NamespaceKind::User, kernel::NamespaceKind::Cgroup,
};

}  // namespace criu::namespaces
