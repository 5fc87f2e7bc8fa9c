// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/socket_file_names.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <memory>

#include "criu/base/names.hpp"

namespace criu::sockets {

std::vector<std::string> namesInDirectory(const std::string& directory, const struct stat& status) {
    std::vector<std::string> names;
    const auto close = [](DIR* open) { ::closedir(open); };
    const std::unique_ptr<DIR, decltype(close)> open(::opendir(directory.c_str()), close);
    if (open == nullptr)
        return names;
    while (const dirent* const entry = ::readdir(open.get())) {
        // d_ino isn't compared, because overlayfs may list other inode numbers than stat(2) returns.
        if (entry->d_type != DT_SOCK && entry->d_type != DT_UNKNOWN)
            continue;
        struct stat there {};
        if (::fstatat(::dirfd(open.get()), entry->d_name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
            Inode::of(there) == Inode::of(status))
            names.emplace_back(entry->d_name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace criu::sockets
