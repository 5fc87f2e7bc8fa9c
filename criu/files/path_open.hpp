// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/stat.h>

#include <span>
#include <string>

#include "criu/base/unique_fd.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/kernel/file_rights.hpp"
#include "criu/kernel/usernsd.hpp"
#include "criu/model/options.hpp"
#include "images/regfile.fwd.hpp"

/// Opens the paths of images.
/// A user that may write to a directory of the path may have replaced the file since the dump. So a path is opened with
/// the credentials of the processes that use the file. These may have received the file from a process with more
/// capabilities. Then criu opens it with its own credentials, but only if the file can't have been replaced:
/// - it is the dumped inode (device, number and time of birth), or
/// - it belongs to the process, which could change its mode, or
/// - every directory on the path belongs to root and only root can write to it. Images from another machine or from
///   CRIU 4.2 rely on this case.
/// The file is checked before it is opened, since opening a device may have effects, and opening a fifo may block.
namespace criu::files {

/// Users of the file and the checks to make.
struct PathOpening {
    std::span<const kernel::FileRights> users;  ///< empty: the processes may open whatever root may
    PathCheck check = PathCheck::Same;
    const model::Options& options;
    /// does calls for which root of the tree's user namespace lacks capabilities; may be null
    const kernel::Usernsd* usernsd = nullptr;
};

/// Stores the inode's identity in an entry. `file` may be an O_PATH descriptor.
void storeInode(int file, RegFileEntry& out);

/// Opens the file of an entry at `path` with open(2)'s flags `how`. Throws Error.
[[nodiscard]] UniqueFd openPathOf(const RegFileEntry& entry, const std::string& path, int how,
                                  const PathOpening& opening);

}  // namespace criu::files
