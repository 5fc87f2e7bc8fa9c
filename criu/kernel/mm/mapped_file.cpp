// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/mm/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {
namespace {

/// Returns true if a mapping of this file shows the same device and inode as `vma`. On btrfs and overlayfs, stat(2)
/// shows other numbers than /proc/PID/maps, so only a mapping of criu's own is comparable.
bool mapsAlike(const std::string& path, const Vma& vma) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file)
        return false;
    void* const at = ::mmap(nullptr, machinePageSize(), PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (at == MAP_FAILED)
        return false;
    const Mapping mapping(at, machinePageSize());
    const auto start = reinterpret_cast<std::uint64_t>(at);
    for (const Vma& own : readMaps(ProcDir().self()))
        if (own.start <= start && start < own.end)
            return own.devMajor == vma.devMajor && own.devMinor == vma.devMinor && own.inode == vma.inode;
    return false;
}

/// Returns true if `name` below /proc/PID leads to the file of the mapping.
bool leadsTo(const ProcPid& process, const std::string& name, const Vma& vma) {
    struct stat status {};
    if (::fstatat(process.fd(), name.c_str(), &status, 0) != 0)
        return false;
    if (status.st_ino == vma.inode && status.st_dev == ::makedev(vma.devMajor, vma.devMinor))
        return true;
    return S_ISREG(status.st_mode) && !vma.deleted && mapsAlike(process.path() + '/' + name, vma);
}

/// Returns a name below /proc/PID that leads to the file of the mapping without /proc/PID/map_files.
std::optional<std::string> otherName(const ProcPid& process, const Vma& vma) {
    if (std::string name = "root" + vma.name; leadsTo(process, name, vma))
        return name;
    if (leadsTo(process, "exe", vma))
        return "exe";
    for (const int fd : process.numbers("fd"))
        if (std::string name = fmt::format("fd/{}", fd); leadsTo(process, name, vma))
            return name;
    return std::nullopt;
}

}  // namespace

std::optional<MappedFile> tryOpenMappedFile(const ProcPid& process, const Vma& vma, int flags) {
    MappedFile file;
    file.name = fmt::format("map_files/{:x}-{:x}", vma.start, vma.end);
    file.fd.reset(::openat(process.fd(), file.name.c_str(), flags | O_CLOEXEC));
    if (file.fd)
        return file;
    const int code = errno;
    if (code != EPERM)
        failWith(code, "open {}/{}", process.path(), file.name);
    const auto other = otherName(process, vma);
    if (!other)
        return std::nullopt;
    file.name = *other;
    file.fd = process.open(file.name, flags);
    return file;
}

MappedFile openMappedFile(const ProcPid& process, const Vma& vma, int flags) {
    if (auto file = tryOpenMappedFile(process, vma, flags))
        return std::move(*file);
    Error error(EPERM, fmt::format("open {}/map_files/{:x}-{:x}: the file {} has neither this name nor a descriptor of "
                                   "the process",
                                   process.path(), vma.start, vma.end, vma.name));
    error.addHint(
        "without a name, the kernel gives criu the file only with CAP_CHECKPOINT_RESTORE in the initial user "
        "namespace: run criu as root there, or setcap cap_checkpoint_restore=ep");
    throw error;
}

}  // namespace criu::kernel
