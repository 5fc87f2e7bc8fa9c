// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/mapped_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "criu/base/error.hpp"

namespace criu::engine {

FileId MappedFiles::fileFor(const kernel::Vma& vma) {
    return files_.addLink(task_, fmt::format("map_files/{:x}-{:x}", vma.start, vma.end),
                          vma.shared ? static_cast<std::uint32_t>(accessOf(vma)) : 0, true);
}

bool MappedFiles::claimsDevice(const kernel::Vma& vma, FileId& file) {
    if (vma.inode == 0)
        return false;
    const UniqueFd fd = open(task_.dir, vma, O_PATH);
    device::MappedDevice mapped{task_.pid(), vma, fd.get(), {}};
    sys(::fstat(fd.get(), &mapped.stat), "look at the device at {:#x}", vma.start);
    if (!devices_.claims(mapped))
        return false;
    file = fileFor(vma);
    return true;
}

FileId MappedFiles::socketFor(const kernel::Vma& vma) {
    return files_.open(FD_TYPES__PACKETSK, ::makedev(vma.devMajor, vma.devMinor), vma.inode);
}

FileId MappedFiles::ioUringFor(const kernel::Vma& vma) {
    return files_.open(FD_TYPES__IO_URING, ::makedev(vma.devMajor, vma.devMinor), vma.inode);
}

}  // namespace criu::engine
