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
#include "criu/files/tree_root.hpp"
#include "criu/kernel/mm/mapped_file.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/memory/shmem/segments_dump.hpp"

namespace criu::engine {
namespace {

class MappedFiles final : public memory::ProcMappedFiles {
public:
    MappedFiles(const FrozenTask& task, FileCollector& files, memory::SegmentsDump& segments,
                device::DumpDevices& devices, SharedMappedFiles& shared)
        : ProcMappedFiles(task.dir, segments, files), task_(task), files_(files), devices_(devices), shared_(shared) {}

    FileId fileFor(const kernel::Vma& vma) override;
    bool isPlain(const kernel::Vma& vma) override;
    bool claimsDevice(const kernel::Vma& vma, FileId& file) override;
    bool isUnusable(const kernel::Vma& vma) override;
    FileId socketFor(const kernel::Vma& vma) override;
    FileId ioUringFor(const kernel::Vma& vma) override;

private:
    [[nodiscard]] SharedMappedFiles::Known* find(const kernel::Vma& vma, int access) const {
        return files_.treeRoot().isOwn() ? nullptr : shared_.find(vma, access);
    }

    const FrozenTask& task_;
    FileCollector& files_;
    device::DumpDevices& devices_;
    SharedMappedFiles& shared_;
};

FileId MappedFiles::fileFor(const kernel::Vma& vma) {
    const int access = vma.shared ? accessOf(vma) : O_RDONLY;
    SharedMappedFiles::Known* const known = find(vma, access);
    if (known != nullptr && known->file)
        return *known->file;
    // The kernel shows the target of the link to each process that may trace the task, without a capability.
    const FileId file =
        files_.addLink(task_, fmt::format("map_files/{:x}-{:x}", vma.start, vma.end),
                       kernel::openMappedFile(task_.dir, vma, O_PATH).fd, static_cast<std::uint32_t>(access), true);
    if (known != nullptr)
        known->file = file;
    return file;
}

bool MappedFiles::isPlain(const kernel::Vma& vma) {
    SharedMappedFiles::Known* const known = find(vma, O_RDONLY);
    if (known != nullptr && known->plain)
        return *known->plain;
    const bool plain = ProcMappedFiles::isPlain(vma);
    if (known != nullptr)
        known->plain = plain;
    return plain;
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

SharedMappedFiles::Known* SharedMappedFiles::find(const kernel::Vma& vma, int access) {
    // A deleted file has no path by which two processes could mean the same file.
    if (vma.inode == 0 || vma.deleted || !vma.name.starts_with('/'))
        return nullptr;
    return &known_[{vma.devMajor, vma.devMinor, vma.inode, vma.name, access}];
}

std::unique_ptr<memory::MappedFileDump> makeMappedFiles(const FrozenTask& task, FileCollector& files,
                                                        memory::SegmentsDump& segments, device::DumpDevices& devices,
                                                        SharedMappedFiles& shared) {
    return std::make_unique<MappedFiles>(task, files, segments, devices, shared);
}

}  // namespace criu::engine
