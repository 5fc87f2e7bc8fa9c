// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "criu/base/ids.hpp"
#include "criu/base/mapping.hpp"

namespace criu::engine {

/// Where a descriptor of an open file is to be had.
struct FileHolder {
    TreePid pid;
    int fd = -1;
};

/// Files that are opened after all processes exist can't be inherited: here their opener says where others find them.
/// Made before the first process; the board is memory shared by all of them.
class RetriedFiles {
public:
    /// Before sharing.
    void add(FileId id);
    void share();

    [[nodiscard]] bool contains(FileId id) const { return slots_.contains(id); }

    /// From the opener.
    void announce(FileId id, const FileHolder& holder) const;
    /// Nothing if it isn't (yet) announced.
    [[nodiscard]] std::optional<FileHolder> find(FileId id) const;

private:
    std::map<FileId, std::size_t> slots_;
    Mapping board_;
};

}  // namespace criu::engine
