// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/inode_search.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <cstring>
#include <memory>

namespace criu::files {
namespace {

/// What daemons like to watch.
constexpr const char* kLikely[] = {
    "/etc", "/var/log", "/var/spool", "/usr/lib/udev", "/usr/share/dbus-1", "/usr/share/polkit-1", "/var/lib/polkit-1",
};

struct CloseDirectory {
    void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

}  // namespace

InodeSearch::InodeSearch(std::vector<std::string> first, const TreeRoot& tree, Log& log) : tree_(tree), log_(log) {
    for (std::string& path : first)
        pending_.push_back({std::move(path), std::nullopt});
    for (const char* const path : kLikely)
        pending_.push_back({path, std::nullopt});
}

void InodeSearch::addMount(const std::string& mountPoint) {
    struct stat stat {};
    if (!mounts_.insert(mountPoint).second || ::lstat(tree_.at(mountPoint).c_str(), &stat) != 0)
        return;
    log_.info("Searching all of {} for watched files", mountPoint);
    pending_.push_back({mountPoint, stat.st_dev});
}

std::optional<std::string> InodeSearch::find(dev_t device, ino_t inode) {
    for (;;) {
        if (const auto found = known_.find(Key{device, inode}); found != known_.end()) {
            struct stat now {};
            if (::lstat(tree_.at(found->second).c_str(), &now) == 0 && now.st_dev == device && now.st_ino == inode)
                return found->second;
            known_.erase(found);
        }
        if (pending_.empty())
            return std::nullopt;
        const Directory next = std::move(pending_.front());
        pending_.pop_front();
        walk(next);
    }
}

void InodeSearch::note(const std::string& path, const std::optional<dev_t>& stayOn) {
    struct stat stat {};
    if (::lstat(tree_.at(path).c_str(), &stat) != 0)
        return;  // gone meanwhile
    known_.emplace(Key{stat.st_dev, stat.st_ino}, path);
    if (S_ISDIR(stat.st_mode) && (!stayOn || stat.st_dev == *stayOn))
        pending_.push_back({path, stayOn});
}

void InodeSearch::walk(const Directory& directory) {
    struct stat stat {};
    if (::lstat(tree_.at(directory.path).c_str(), &stat) != 0 || !S_ISDIR(stat.st_mode))
        return;
    known_.emplace(Key{stat.st_dev, stat.st_ino}, directory.path);
    if (!walked_.insert(Key{stat.st_dev, stat.st_ino}).second)
        return;
    const std::unique_ptr<DIR, CloseDirectory> open(::opendir(tree_.at(directory.path).c_str()));
    if (!open) {
        log_.warn("{} can't be searched: {}", directory.path, std::strerror(errno));
        return;
    }
    const std::string prefix = directory.path.ends_with('/') ? directory.path : directory.path + '/';
    while (const dirent* const entry = ::readdir(open.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..")
            note(prefix + std::string(name), directory.stayOn);
    }
}

}  // namespace criu::files
