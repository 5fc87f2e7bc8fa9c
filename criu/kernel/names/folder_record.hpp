// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "criu/base/names.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::kernel {

/// Names a directory in a journal. Another process can open the same directory by it, even if the directory has another
/// path in the mount namespace of this process.
class FolderRecord {
public:
    /// Describes an open directory by its path in /proc. Throws Error.
    static FolderRecord of(int directory);
    /// Does the same with a path that the caller knows, for a process that can't open /proc. Throws Error.
    static FolderRecord of(int directory, std::string path);
    /// Reads the two fields of a journal. Throws Error if `identity` isn't one of identity().
    FolderRecord(const std::string& identity, std::string path);

    /// Returns device, inode and file handle of the directory, without blanks.
    [[nodiscard]] std::string identity() const;
    /// Returns the path of the directory for the process that described it.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    /// Opens the directory (O_PATH): at its path, at its path below `root`, or by its file handle. Returns an invalid
    /// descriptor if none of them leads to the same inode.
    [[nodiscard]] UniqueFd open(const std::string& root) const;

private:
    FolderRecord() = default;
    [[nodiscard]] UniqueFd openByHandle() const;

    Inode inode_;
    int handleType_ = 0;
    std::string handle_;  ///< bytes of the file handle (name_to_handle_at(2)); empty if the file system has no handles
    std::string path_;
};

}  // namespace criu::kernel
