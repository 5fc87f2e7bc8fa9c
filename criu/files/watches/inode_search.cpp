// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/watches/inode_search.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstring>
#include <memory>

namespace criu::files {
namespace {

/// Directories that daemons often watch, which are searched early.
constexpr const char* kLikely[] = {
    "/etc", "/var/log", "/var/spool", "/usr/lib/udev", "/usr/share/dbus-1", "/usr/share/polkit-1", "/var/lib/polkit-1",
};

struct CloseDirectory {
    void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

struct Seen {
    dev_t device = 0;
    ino_t inode = 0;
    bool directory = false;
};

/// Returns device and inode from cached data. AT_STATX_DONT_SYNC prevents a request to a file server (Linux 4.11; for
/// FUSE Linux 4.20).
std::optional<Seen> lookAt(const std::string& path) {
    struct statx status {};
    constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
    if (::statx(AT_FDCWD, path.c_str(), kFlags, STATX_TYPE | STATX_INO, &status) != 0)
        return std::nullopt;
    return Seen{makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino, S_ISDIR(status.stx_mode)};
}

}  // namespace

InodeSearch::InodeSearch(std::vector<std::string> first, const TreeRoot& tree, Log& log, Limits limits)
    : tree_(tree), log_(log), limits_(std::move(limits)) {
    for (std::string& path : first)
        pending_.push_back({std::move(path), std::nullopt});
    for (const char* const path : kLikely)
        pending_.push_back({path, std::nullopt});
}

void InodeSearch::addMount(const std::string& mountPoint) {
    if (!mounts_.insert(mountPoint).second)
        return;
    const auto seen = lookAt(tree_.at(mountPoint));
    if (!seen)
        return;
    log_.info("Searching all of {} for watched files", mountPoint);
    pending_.push_back({mountPoint, seen->device});
}

bool InodeSearch::mayGoOn() {
    if (limits_.stop != nullptr)
        limits_.stop->throwIfRequested();
    return limits_.longest.count() == 0 || taken_ + (std::chrono::steady_clock::now() - began_) < limits_.longest;
}

std::optional<std::string> InodeSearch::find(dev_t device, ino_t inode) {
    began_ = std::chrono::steady_clock::now();
    for (;;) {
        if (const auto found = known_.find(Key{device, inode}); found != known_.end()) {
            const auto now = lookAt(tree_.at(found->second));
            if (now && now->device == device && now->inode == inode) {
                taken_ += std::chrono::steady_clock::now() - began_;
                return found->second;
            }
            known_.erase(found);
        }
        if (!pending_.empty() && !mayGoOn()) {
            log_.warn("Watched files have been searched for {} seconds (--timeout); {} directories are left out",
                      limits_.longest.count(), pending_.size());
            pending_.clear();
        }
        if (pending_.empty()) {
            taken_ += std::chrono::steady_clock::now() - began_;
            return std::nullopt;
        }
        const Directory next = std::move(pending_.front());
        pending_.pop_front();
        walk(next);
    }
}

void InodeSearch::note(const std::string& path, const std::optional<dev_t>& stayOn) {
    const auto seen = lookAt(tree_.at(path));
    if (!seen)
        return;  // the file was removed since readdir(3)
    known_.emplace(Key{seen->device, seen->inode}, path);
    if (seen->directory && (!stayOn || seen->device == *stayOn))
        pending_.push_back({path, stayOn});
}

void InodeSearch::walk(const Directory& directory) {
    const auto seen = lookAt(tree_.at(directory.path));
    if (!seen || !seen->directory || limits_.avoided.contains(seen->device))
        return;
    known_.emplace(Key{seen->device, seen->inode}, directory.path);
    if (!walked_.insert(Key{seen->device, seen->inode}).second)
        return;
    const std::unique_ptr<DIR, CloseDirectory> open(::opendir(tree_.at(directory.path).c_str()));
    if (!open) {
        log_.warn("{} can't be searched: {}", directory.path, std::strerror(errno));
        return;
    }
    const std::string prefix = directory.path.ends_with('/') ? directory.path : directory.path + '/';
    constexpr unsigned kBetweenLooks = 512;
    unsigned count = 0;
    while (const dirent* const entry = ::readdir(open.get())) {
        if (++count % kBetweenLooks == 0 && !mayGoOn())
            return;
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..")
            note(prefix + std::string(name), directory.stayOn);
    }
}

}  // namespace criu::files
