// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>

#include "criu/base/unique_fd.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/kernel/file_rights.hpp"
#include "criu/kernel/usernsd.hpp"
#include "criu/model/options.hpp"
#include "images/regfile.fwd.hpp"

/// Opens files by the paths of images. A user that may write to a directory of the path may have replaced the file
/// since the dump. Thus criu opens a path with the credentials of the processes that use the file.
///
/// These processes may have got the file from a process with more capabilities. Then criu opens the path with its own
/// credentials, but only if one of these conditions shows that the file wasn't replaced:
/// - The file is the dumped inode (same device, number and time of birth).
/// - The file belongs to the user of each process, which could change its mode anyway.
/// - Every directory of the path belongs to root, and only root can write to it. Images from another machine or from
///   CRIU 4.2 rely on this case.
///
/// criu checks the file before it opens it, because opening a device may have effects, and opening a fifo may block.
namespace criu::files {

/// O_PATH descriptors of paths that criu opens again and again. criu looks up and checks such a path once.
///
/// Call clear() before the process changes its mount namespace, root or credentials.
class OpenedPaths {
public:
    /// `keep`: moves a descriptor into the service range.
    explicit OpenedPaths(std::function<UniqueFd(UniqueFd)> keep) : keep_(std::move(keep)) {}

    /// Returns the descriptor of a path that criu has checked for an entry with the same properties; -1 if there is
    /// none. `flags`: flags of open(2) together with O_PATH.
    [[nodiscard]] int find(const RegFileEntry& entry, const std::string& path, int flags, PathCheck check) const;
    /// Keeps the descriptor if the path is opened for the second time.
    void add(const RegFileEntry& entry, const std::string& path, int flags, PathCheck check, UniqueFd file);
    void clear();

private:
    /// Path, flags, check, mode and size; -1 if the entry has no mode or size.
    using Key = std::tuple<std::string, int, PathCheck, std::int64_t, std::int64_t>;
    static Key keyOf(const RegFileEntry& entry, const std::string& path, int flags, PathCheck check);

    std::function<UniqueFd(UniqueFd)> keep_;
    std::map<Key, UniqueFd> paths_;
    std::size_t kept_ = 0;
};

/// Processes that use the file, and checks that criu makes before it opens the file.
struct PathOpening {
    /// Path rights of the users; empty if the processes may open all that root may open.
    std::span<const kernel::FileRights> users;
    PathCheck check = PathCheck::Same;
    const model::Options& options;
    /// Thread that makes calls for which root of the tree's user namespace lacks the capabilities; may be null.
    const kernel::Usernsd* usernsd = nullptr;
    OpenedPaths* opened = nullptr;  ///< paths that were opened before; may be null
};

/// Stores in an entry the properties that identify the inode: device, number, time of birth. `file` may be an O_PATH
/// descriptor.
void storeInode(int file, RegFileEntry& out);

/// Throws Error unless the file at `path` is the one of the entry, by the checks of openPathOf(). Opens it with O_PATH,
/// or for reading if --file-validation needs its build id.
void requireDumpedFile(const RegFileEntry& entry, const std::string& path, const model::Options& options);

/// Opens the file of an entry at `path`. `how`: flags of open(2). Throws Error.
[[nodiscard]] UniqueFd openPathOf(const RegFileEntry& entry, const std::string& path, int how,
                                  const PathOpening& opening);

}  // namespace criu::files
