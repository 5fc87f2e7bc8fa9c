// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "criu/base/ids.hpp"
#include "criu/base/mapping.hpp"

namespace criu::engine {

/// A process, and its descriptor of an open file description.
struct FileHolder {
    TreePid pid;
    int fd = -1;
};

/// Late files. Children can't inherit them, so their opener announces its descriptor here for other processes. The
/// object is made before the root, and the announcements are in shared memory.
class LateFiles {
public:
    /// Adds a late file. Called before share().
    void add(FileId id);
    /// Allocates the shared memory for all added files.
    void share();

    [[nodiscard]] bool contains(FileId id) const { return slots_.contains(id); }

    /// Announces the opener's descriptor to all processes.
    void announce(FileId id, const FileHolder& holder) const;
    /// Returns the announced descriptor; nothing before the announcement.
    [[nodiscard]] std::optional<FileHolder> find(FileId id) const;

private:
    std::map<FileId, std::size_t> slots_;
    Mapping board_;
};

}  // namespace criu::engine
