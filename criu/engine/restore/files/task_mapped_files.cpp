// SPDX-License-Identifier: GPL-2.0-only
#include <utility>

#include "criu/base/error.hpp"
#include "criu/device/restore_devices.hpp"
#include "criu/engine/restore/files/path_rights.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/files/task_files.hpp"
#include "criu/files/regular.hpp"
#include "criu/memory/shmem/segments.hpp"
#include "images/fdinfo.hpp"
#include "images/regfile.hpp"

/// Functions of TaskFiles for mapped files.
namespace criu::engine {

std::vector<kernel::FileRights> TaskFiles::usersOf(FileId id) const {
    return all_.rights().of({&id, 1});
}

UniqueFd TaskFiles::openPath(FileId regular, int flags, files::PathCheck check) {
    const FileEntry& entry = all_.entry(regular);
    if (entry.reg == nullptr)
        fail("file {} isn't a path", regular);
    const std::vector<kernel::FileRights> users =
        opening_ != nullptr ? all_.rights().of(opening_->ids) : all_.rights().of(pid_);
    return files::openRegular(*entry.reg, flags, all_.remaps(), {users, check, all_.options(), all_.usernsd()});
}

UniqueFd TaskFiles::openForMapping(const VmaEntry& vma, int flags) {
    return openPath(FileId{static_cast<std::uint32_t>(vma.shmid)}, flags);
}

memory::MappedDeviceFile TaskFiles::device(const VmaEntry& vma) {
    const FileEntry& entry = all_.entry(FileId{static_cast<std::uint32_t>(vma.shmid)});
    if (entry.reg == nullptr || entry.reg->name == nullptr)
        fail("file {} isn't a path", entry.id);
    auto where = all_.devices().relocate({entry.reg->name, vma.start, vma.pgoff});
    return {std::move(where.fd), where.offset, where.skipped, where.whole};
}

UniqueFd TaskFiles::placedSocket(const VmaEntry& vma) {
    const ErrorContext context([&] { return fmt::format("memory at {:#x}", vma.start); });
    return fetch(FileId{static_cast<std::uint32_t>(vma.shmid)});
}

int TaskFiles::placedRing(const VmaEntry& vma) {
    const FileId id{static_cast<std::uint32_t>(vma.shmid)};
    const int fd = descriptorOf(id);
    if (fd < 0)
        fail("memory at {:#x} is mapped from file {}, which the process doesn't have", vma.start, id);
    return fd;
}

int TaskFiles::segment(const VmaEntry& vma) {
    return segments_.descriptorFor(vma);
}

}  // namespace criu::engine
