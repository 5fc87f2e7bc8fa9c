// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "criu/base/ids.hpp"
#include "criu/base/mapping.hpp"

namespace criu::engine {

/// Process that has an open file description, and the number of its descriptor.
struct FileHolder {
    TreePid pid;
    int fd = -1;
};

/// Late files: files that children can't inherit by fork. The opener of a late file announces its descriptor in shared
/// memory, and other processes read this announcement. The object is made before the root exists.
class LateFiles {
public:
    /// Adds a late file. Call it before share().
    void add(FileId id);
    /// Allocates the shared memory for all added files.
    void share();

    [[nodiscard]] bool contains(FileId id) const { return slots_.contains(id); }

    /// Announces to all processes the descriptor that the opener has.
    void announce(FileId id, const FileHolder& holder) const;
    /// Returns the announced descriptor; nothing before the announcement.
    [[nodiscard]] std::optional<FileHolder> find(FileId id) const;

private:
    std::map<FileId, std::size_t> slots_;
    Mapping board_;
};

}  // namespace criu::engine
