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

/// Finds paths of inodes by walking directories, for watches that have only an inode number. Reads each directory at
/// most once, and only as needed.
class InodeSearch {
public:
    /// Limits of a search, during which the tree is frozen. The tree decides how much there is to search.
    struct Limits {
        StopRequest* stop = nullptr;      ///< find() throws when it is requested; may be null
        std::chrono::seconds longest{0};  ///< total time of all searches, after which no more is found; 0: no limit
        std::set<dev_t> avoided;          ///< devices of userspace file systems, which aren't entered
    };

    /// `first`: directories of the user (--irmap-scan-path), walked before common directories. `tree`: root of the
    /// paths; outlives this object.
    InodeSearch(std::vector<std::string> first, const TreeRoot& tree, Log& log, Limits limits);

    /// Returns a path that leads to the inode now; nothing if no walked directory has it.
    std::optional<std::string> find(dev_t device, ino_t inode);

    /// Adds a whole mount to the search, without other file systems below it.
    void addMount(const std::string& mountPoint);

private:
    using Key = std::pair<dev_t, ino_t>;
    struct Directory {
        std::string path;
        std::optional<dev_t> stayOn;  ///< stay on this file system
    };

    [[nodiscard]] bool mayGoOn();
    void note(const std::string& path, const std::optional<dev_t>& stayOn);
    void walk(const Directory& directory);

    const TreeRoot& tree_;
    Log& log_;
    Limits limits_;
    std::chrono::steady_clock::duration taken_{};
    std::chrono::steady_clock::time_point began_{};  ///< start of the present find()
    std::deque<Directory> pending_;
    std::map<Key, std::string> known_;
    std::set<Key> walked_;
    std::set<std::string> mounts_;
};

}  // namespace criu::files
