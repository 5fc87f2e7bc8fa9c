// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mount_covered.hpp"

#include <fcntl.h>

#include <memory>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/kernel/fd_store.hpp"

namespace criu::namespaces {

void CoveredDirectories::openBelow(const Mount& parent, int open, const Mount& child) {
    const auto named = named_.find(parent.id);
    if (named == named_.end())
        return;
    for (const auto& [path, use] : named->second) {
        const auto below = pathBelow(parent.mountPoint, path);
        if (!below || !pathBelow(child.mountPoint, path) || opened_[parent.id].contains(path))
            continue;
        const ErrorContext context([&] { return fmt::format("{} on {}", path, parent.describe()); });
        try {
            opened_[parent.id][path] = criu::openBelow(open, *below, O_PATH | O_DIRECTORY);
        } catch (const Error& error) {
            if (error.code() != ENOENT || use == DirectoryUse::Kept)
                throw;
        }
    }
}

void CoveredDirectories::requireNone(const Mount& parent, const Mount& child) const {
    const auto named = named_.find(parent.id);
    if (named == named_.end())
        return;
    for (const auto& [path, use] : named->second)
        if (use == DirectoryUse::Kept && pathBelow(parent.mountPoint, path) && pathBelow(child.mountPoint, path))
            fail("{} on {} is covered in a further mount namespace, and a socket can't be bound there", path,
                 parent.describe());
}

void CoveredDirectories::moveTo(files::HiddenMounts& hidden, kernel::FdStore& store) {
    for (auto& [mount, directories] : std::exchange(opened_, {}))
        for (auto& [path, directory] : directories)
            hidden.emplace(mount, files::HiddenDirectory{path, std::make_shared<const UniqueFd>(store.inherit(
                                                                   kernel::FdKey::Mount, std::move(directory)))});
}

}  // namespace criu::namespaces
