// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>

#include "criu/base/unique_fd.hpp"

namespace criu::kernel {
class ProcPid;
struct Vma;

/// File of a mapping of another process.
struct MappedFile {
    UniqueFd fd;
    /// Name below /proc/PID that open(2) accepts, such as "map_files/START-END", "root/lib/libc.so" or "fd/3".
    std::string name;
};

/// Opens the file of a mapping with `flags` of open(2). /proc/PID/map_files needs CAP_CHECKPOINT_RESTORE or
/// CAP_SYS_ADMIN in the initial user namespace (proc_map_files_get_link(), Linux 5.9). Without them, the function looks
/// for the file at the path that the kernel shows for the mapping, at the program of the process, and at its
/// descriptors. It compares the inode, so another file at the path isn't opened. Returns nullopt if it doesn't find the
/// file. Throws Error for other failures.
[[nodiscard]] std::optional<MappedFile> tryOpenMappedFile(const ProcPid& process, const Vma& vma, int flags);

/// Opens the file of a mapping as tryOpenMappedFile() does. Throws Error if it doesn't find the file.
[[nodiscard]] MappedFile openMappedFile(const ProcPid& process, const Vma& vma, int flags);

}  // namespace criu::kernel
