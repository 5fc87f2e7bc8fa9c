// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/memory/mapped_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "criu/base/error.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/device/subsystem.hpp"
#include "criu/engine/dump/files/dump_files.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/memory/shmem/segments_dump.hpp"

namespace criu::engine {
namespace {

class MappedFiles final : public memory::ProcMappedFiles {
public:
    MappedFiles(const FrozenTask& task, FileCollector& files, memory::SegmentsDump& segments,
                device::DumpDevices& devices)
        : ProcMappedFiles(task.dir, segments, files), task_(task), files_(files), devices_(devices) {}

    FileId fileFor(const kernel::Vma& vma) override;
    bool claimsDevice(const kernel::Vma& vma, FileId& file) override;
    bool isUnusable(const kernel::Vma& vma) override;
    FileId socketFor(const kernel::Vma& vma) override;
    FileId ioUringFor(const kernel::Vma& vma) override;

private:
    const FrozenTask& task_;
    FileCollector& files_;
    device::DumpDevices& devices_;
};

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

bool MappedFiles::isUnusable(const kernel::Vma& vma) {
    return vma.name.starts_with("/dev/") && devices_.isUnusable({task_.pid(), vma, -1, {}});
}

FileId MappedFiles::socketFor(const kernel::Vma& vma) {
    return files_.open(FD_TYPES__PACKETSK, ::makedev(vma.devMajor, vma.devMinor), vma.inode);
}

FileId MappedFiles::ioUringFor(const kernel::Vma& vma) {
    return files_.open(FD_TYPES__IO_URING, ::makedev(vma.devMajor, vma.devMinor), vma.inode);
}

}  // namespace

std::unique_ptr<memory::MappedFileDump> makeMappedFiles(const FrozenTask& task, FileCollector& files,
                                                        memory::SegmentsDump& segments, device::DumpDevices& devices) {
    return std::make_unique<MappedFiles>(task, files, segments, devices);
}

}  // namespace criu::engine
