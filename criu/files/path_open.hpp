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

/// Opening the paths of images.
///
/// What has a path now may be another file than when it was dumped, put there by whoever may write to a directory on
/// the way. So a path is opened with the rights of the processes that the file is for. They may have it open without
/// being allowed to open it (somebody with more rights did, and handed it down). Then it is opened with criu's rights,
/// but only if it is known not to have been exchanged:
/// - it is the very inode that the images tell of (device, number and time of birth), or
/// - it belongs to the process, which could change its mode, or
/// - every directory on the way belongs to root, and nobody else can have put anything there. That is what images that
///   were carried to another machine, or made by CRIU 4.2, have to rely on.
/// The file is looked at before it is opened: opening alone may have effects on a device, or wait for ever on a fifo.
namespace criu::files {

/// Who the file is for, and what is looked at.
struct PathOpening {
    std::span<const kernel::FileRights> users;  ///< none: processes that may open what root may
    PathCheck check = PathCheck::Same;
    const model::Options& options;
    const kernel::Usernsd* usernsd = nullptr;  ///< who has rights that root of the tree's user namespace lacks; or null
};

/// Notes in an entry which inode it is. `file` may be an O_PATH descriptor.
void storeInode(int file, RegFileEntry& out);

/// Opens the file of an entry at `path`, with open(2)'s flags `how`. Throws Error.
[[nodiscard]] UniqueFd openPathOf(const RegFileEntry& entry, const std::string& path, int how,
                                  const PathOpening& opening);

}  // namespace criu::files
