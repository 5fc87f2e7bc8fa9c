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

/// A socket's name and what belongs to it.
struct UnixName {
    /// As in sun_path: abstract names begin with a zero byte, paths end with one.
    std::string text;
    /// For relative paths: the directory that bind(2) was called in.
    std::string directory;
    /// The absolute path of the file, where it isn't what the two above lead to: it may have been renamed, or bound by
    /// a process that had another root directory. Else empty.
    std::string place;
    /// Further names (hard links) of the file in its directory.
    std::vector<std::string> furtherNames;
    /// The mount that the path was found on, by its id in images; 0: unknown. The same path may be there in several
    /// mount namespaces.
    int mount = 0;
    /// The file has lost its name since.
    bool deleted = false;
    const FilePermsEntry* permissions = nullptr;

    static UnixName of(const UnixSkEntry& entry);

    [[nodiscard]] bool empty() const noexcept { return text.empty(); }
    [[nodiscard]] bool isPath() const noexcept { return !text.empty() && text.front() != '\0'; }
    /// What is passed to bind(2) and connect(2) behind the family.
    [[nodiscard]] std::string_view address() const;
    /// Of a name that is a path: where its file is, as an absolute path without "." and "..".
    [[nodiscard]] std::string path() const;
    /// "/run/x", "@abstract".
    [[nodiscard]] std::string shown() const;
};

/// Dump half: fills file_perms, name_dir, file_path, further_names and deleted for a socket that is bound to a path.
/// Warns of names in other directories, which a restore can't find.
void dumpPath(const files::OpenFd& file, std::string_view name, UnixSkEntry& out, files::FileDump& dump, Arena& arena);

/// What a path is to be when a socket has been bound to it.
enum class PathFate {
    Kept,     ///< a socket file in the way that nobody is bound to is replaced; anything else is an error
    Removed,  ///< gone again; whatever else has the name isn't touched
};

/// Gives `fd` its name. For paths: with mode and owner of the file; the descriptor that is returned (O_PATH) leads to
/// the socket even if the name is gone. `hidden`: the directory that a path is in or below, if no path leads there;
/// else null. Only one process at a time may do this, see ProcessLock.
UniqueFd bindName(int fd, const UnixName& name, PathFate fate, const files::HiddenDirectory* hidden);

/// Removes the socket file that the dumped process has left at a path, for somebody else (a plugin) to bind a socket
/// there; as bindName() does before it binds. Does nothing for other names.
void freeName(const UnixName& name, const files::HiddenDirectory* hidden);

/// Connects to `name`. `path`: what bindName() returned for it, if it is a path of this restore; -1 otherwise.
void connectName(int fd, const UnixName& name, int path);

/// A zero-terminated list of what stands behind the family in an address, for messages.
std::string showAddress(std::string_view address);

}  // namespace criu::sockets
