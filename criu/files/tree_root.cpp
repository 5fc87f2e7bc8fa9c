// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/tree_root.hpp"

#include <fmt/format.h>

namespace criu::files {

namespace {

bool liesBelow(std::string_view directory, std::string_view path) {
    return path.starts_with(directory) && (directory.empty() || directory.back() == '/' ||
                                           path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace

const HiddenDirectory* findHidden(const HiddenMounts& mounts, int mount, std::string_view path) {
    const HiddenDirectory* innermost = nullptr;
    for (auto [at, end] = mounts.equal_range(mount); at != end; ++at)
        if (liesBelow(at->second.path, path) &&
            (innermost == nullptr || at->second.path.size() > innermost->path.size()))
            innermost = &at->second;
    return innermost;
}

std::string pathOnHidden(const HiddenMounts& mounts, int mount, std::string_view path) {
    const HiddenDirectory* hidden = findHidden(mounts, mount, path);
    if (hidden == nullptr)
        hidden = findHidden(mounts, kOtherMounts, path);
    if (hidden == nullptr)
        return {};
    path.remove_prefix(hidden->path.size());
    return fmt::format("/proc/self/fd/{}/{}", hidden->directory->get(), path);
}

TreeRoot::TreeRoot(std::vector<Space> spaces, HiddenMounts hidden, Mounts kind, ProcMounts procs)
    : kind_(kind), spaces_(std::move(spaces)), hidden_(std::move(hidden)), procs_(std::move(procs)) {
    std::vector<kernel::MountInfo> all;
    for (const Space& space : spaces_)
        all.insert(all.end(), space.mounts.all().begin(), space.mounts.all().end());
    mounts_ = kernel::MountTable(std::move(all));
}

std::string TreeRoot::at(std::string_view path) const {
    return isOwn() ? fmt::format("/proc/self/fd/{}{}", spaces_.front().root.get(), path) : std::string(path);
}

std::string TreeRoot::at(std::string_view path, int mount) const {
    if (std::string hidden = pathOnHidden(hidden_, mount, path); !hidden.empty())
        return hidden;
    for (const Space& space : spaces_)
        if (space.mounts.find(mount) != nullptr)
            return fmt::format("/proc/self/fd/{}{}", space.root.get(), path);
    return at(path);
}

std::string TreeRoot::pathInProc(std::string_view path, int mount) const {
    const kernel::MountInfo* const found = mounts_.find(mount);
    if (found == nullptr || !liesBelow(found->mountPoint, path))
        return std::string(path);
    path.remove_prefix(found->mountPoint == "/" ? 0 : found->mountPoint.size());
    return fmt::format("/proc{}{}", found->root == "/" ? "" : found->root, path);
}

}  // namespace criu::files
