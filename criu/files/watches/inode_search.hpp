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

/// Search for the path of an inode by walking directories, for watches of which only the inode number is known. It
/// reads each directory at most once, and only when needed.
class InodeSearch {
public:
    /// Limits of a search. The tree is frozen during a search, and decides how many directories must be walked.
    struct Limits {
        StopRequest* stop = nullptr;  ///< find() throws if this stop is requested; may be null
        /// Maximum total time of all searches; after it, find() returns only known paths; 0: no limit.
        std::chrono::seconds longest{0};
        std::set<dev_t> avoided;  ///< devices of userspace file systems; the search doesn't enter these
    };

    /// `first`: directories of --irmap-scan-path, which are walked before common directories. `tree`: root of the
    /// paths, which must outlive this object.
    InodeSearch(std::vector<std::string> first, const TreeRoot& tree, Log& log, Limits limits);

    /// Returns a path that leads to the inode now. Returns nullopt if no walked directory contains the inode.
    std::optional<std::string> find(dev_t device, ino_t inode);

    /// Adds a whole mount to the search, but not other file systems below it.
    void addMount(const std::string& mountPoint);

private:
    using Key = std::pair<dev_t, ino_t>;
    struct Directory {
        std::string path;
        std::optional<dev_t> stayOn;  ///< device of the file system that the walk must not leave; unset: no limit
    };

    [[nodiscard]] bool mayGoOn();
    void note(const std::string& path, const std::optional<dev_t>& stayOn);
    void walk(const Directory& directory);

    const TreeRoot& tree_;
    Log& log_;
    Limits limits_;
    std::chrono::steady_clock::duration taken_{};
    std::chrono::steady_clock::time_point began_{};  ///< start time of the current find()
    std::deque<Directory> pending_;
    std::map<Key, std::string> known_;
    std::set<Key> walked_;
    std::set<std::string> mounts_;
};

}  // namespace criu::files
