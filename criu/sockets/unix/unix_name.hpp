// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/kernel/net/sock_diag.hpp"
#include "criu/model/id_map.hpp"
#include "images/sk-unix.hpp"

namespace criu::files {
struct HiddenDirectory;
}

/// Names of Unix sockets: paths and abstract names.
namespace criu::sockets {

/// Name of a Unix socket, with the directory, path, mount and permissions of the socket file.
struct UnixName {
    /// Name in the form of sun_path: an abstract name begins with a zero byte, a path ends with a zero byte.
    std::string text;
    /// Working directory in which the program has called bind(2) with a relative path; empty for other names.
    std::string directory;
    /// Absolute path of the socket file if `directory` and `text` don't lead to it: the file was renamed, or created in
    /// a different root directory. Empty if they do.
    std::string place;
    /// Other names (hard links) of the socket file in the same directory.
    std::vector<std::string> furtherNames;
    /// Id in images of the mount that contains the path; 0 if unknown. Needed because the same path may exist in
    /// several mount namespaces.
    int mount = 0;
    /// True if the socket file has been deleted, so that no path leads to the socket.
    bool deleted = false;
    const FilePermsEntry* permissions = nullptr;

    static UnixName of(const UnixSkEntry& entry);

    [[nodiscard]] bool empty() const noexcept { return text.empty(); }
    [[nodiscard]] bool isPath() const noexcept { return !text.empty() && text.front() != '\0'; }
    /// Returns the bytes of the socket address after the family, for bind(2) and connect(2).
    [[nodiscard]] std::string_view address() const;
    /// Returns the absolute path of the socket file, without "." and "..". Call it only if isPath().
    [[nodiscard]] std::string path() const;
    /// Returns for instance "/run/x" or "@abstract".
    [[nodiscard]] std::string shown() const;
};

/// Fills file_perms, name_dir, file_path, further_names and deleted for a socket that is bound to a path. Warns of hard
/// links in other directories, because criu can't find them. Without CAP_NET_ADMIN, finds the file only if the name
/// still leads to it. `shown`: file of the socket as the kernel lists it.
void dumpPath(const files::OpenFd& file, std::string_view name,
              const std::optional<kernel::UnixSocketInfo::File>& shown, UnixSkEntry& out, files::FileDump& dump,
              Arena& arena);

/// State that a path gets when a socket was bound to it.
enum class PathFate {
    Kept,     ///< the socket file stays. It replaces a stale socket file; any other file at the path is an error
    Removed,  ///< the socket has no file; another file at the path stays unchanged
};

/// Binds the socket `fd` to `name`. For paths, sets mode and owner of the socket file. Returns an O_PATH descriptor of
/// the file. connect(2) reaches the socket by it even if the path is removed. Only one process may call this function
/// at a time (ProcessLock). `hidden`: covered directory that contains the path; null if the path isn't covered.
UniqueFd bindName(int fd, const UnixName& name, PathFate fate, const files::HiddenDirectory* hidden);

/// Removes a stale socket file, so that a plugin can bind a socket to the path. Does nothing for names that aren't
/// paths.
void freeName(const UnixName& name, const files::HiddenDirectory* hidden);

/// Connects `fd` to the socket `name`. `path`: descriptor from bindName(); -1 if this restore hasn't bound a socket to
/// the name.
void connectName(int fd, const UnixName& name, int path);

/// Returns a name of a socket as text for messages. `address`: the bytes of the socket address after the family.
std::string showAddress(std::string_view address);

}  // namespace criu::sockets
