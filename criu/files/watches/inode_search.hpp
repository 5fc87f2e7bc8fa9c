// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/files/tree_root.hpp"

namespace criu::files {

/// Search for the path of an inode by walking directories. Needed for watches of which only the inode number is known.
/// Reads each directory at most once, and only when it is needed.
class InodeSearch {
public:
    /// Limits of a search. Needed because the tree is frozen during a search, and because programs of the tree
    /// influence how many directories exist.
    struct Limits {
        StopRequest* stop = nullptr;  ///< find() throws if this stop is requested; may be null
        /// Maximum total time of all searches; 0 means no limit. After this time, find() returns only paths that it
        /// already knows.
        std::chrono::seconds longest{0};
        std::set<dev_t> avoided;  ///< devices of userspace file systems, which the search doesn't enter
    };

    /// `first`: directories of --irmap-scan-path, which are walked before common directories. `tree`: root of the
    /// paths, which must outlive this object.
    InodeSearch(std::vector<std::string> first, const TreeRoot& tree, Log& log, Limits limits);

    /// Returns a path that leads to the inode. Returns nullopt if no walked directory contains the inode.
    std::optional<std::string> find(dev_t device, ino_t inode);

    /// Adds all directories of a mount to the search, but no other file systems that are mounted below.
    void addMount(const std::string& mountPoint);

private:
    using Key = std::pair<dev_t, ino_t>;
    struct Directory {
        std::string path;
        std::optional<dev_t> stayOn;  ///< device of the file system in which the walk must stay; unset: no limit
    };

    [[nodiscard]] bool mayGoOn();
    void note(const std::string& path, const std::optional<dev_t>& stayOn);
    void walk(const Directory& directory);

    const TreeRoot& tree_;
    Log& log_;
    Limits limits_;
    std::chrono::steady_clock::duration taken_{};
    std::chrono::steady_clock::time_point began_{};  ///< start time of the find() call that is running
    std::deque<Directory> pending_;
    std::map<Key, std::string> known_;
    std::set<Key> walked_;
    std::set<std::string> mounts_;
};

}  // namespace criu::files
