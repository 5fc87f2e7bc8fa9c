// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/model/id_map.hpp"
#include "images/sk-unix.hpp"

namespace criu::files {
struct HiddenDirectory;
}

/// Names of Unix sockets: paths and abstract names.
namespace criu::sockets {

/// Name of a socket, and data that belong to it.
struct UnixName {
    /// As in sun_path: abstract names begin with a zero byte, paths end with one.
    std::string text;
    /// Directory in which bind(2) was called, for relative paths.
    std::string directory;
    /// Absolute path of the file, if `text` and `directory` don't lead to it; else empty. The file was renamed, or the
    /// process had another root directory.
    std::string place;
    /// Further names (hard links) of the file in its directory.
    std::vector<std::string> furtherNames;
    /// Mount id in images of the mount with the path; 0 if unknown. Several mount namespaces may have the same path.
    int mount = 0;
    /// The file has lost its name.
    bool deleted = false;
    const FilePermsEntry* permissions = nullptr;

    static UnixName of(const UnixSkEntry& entry);

    [[nodiscard]] bool empty() const noexcept { return text.empty(); }
    [[nodiscard]] bool isPath() const noexcept { return !text.empty() && text.front() != '\0'; }
    /// Returns the bytes for bind(2) and connect(2) after the family.
    [[nodiscard]] std::string_view address() const;
    /// Returns the absolute path of the file, without "." and "..". The name must be a path.
    [[nodiscard]] std::string path() const;
    /// Returns for instance "/run/x" or "@abstract".
    [[nodiscard]] std::string shown() const;
};

/// Fills file_perms, name_dir, file_path, further_names and deleted for a socket that is bound to a path. Warns of
/// names in other directories, which a restore can't find.
void dumpPath(const files::OpenFd& file, std::string_view name, UnixSkEntry& out, files::FileDump& dump, Arena& arena);

/// State of a path after a socket was bound to it.
enum class PathFate {
    Kept,     ///< exists; a stale socket file with the name is replaced, any other file is an error
    Removed,  ///< removed; other files with the name aren't changed
};

/// Binds `fd` to its name. For paths, sets mode and owner of the file. Returns an O_PATH descriptor that leads to the
/// socket even without the name. `hidden`: covered directory at or above the path; null if a path leads there. Only one
/// process may call this at a time, see ProcessLock.
UniqueFd bindName(int fd, const UnixName& name, PathFate fate, const files::HiddenDirectory* hidden);

/// Removes a stale socket file, like bindName(), so that a plugin can bind a socket there. Does nothing for names that
/// aren't paths.
void freeName(const UnixName& name, const files::HiddenDirectory* hidden);

/// Connects to `name`. `path`: descriptor from bindName() if this restore has bound the path; else -1.
void connectName(int fd, const UnixName& name, int path);

/// Returns the part of an address after the family as text for messages.
std::string showAddress(std::string_view address);

}  // namespace criu::sockets
