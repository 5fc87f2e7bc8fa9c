// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"

namespace criu::kernel {
struct Vma;
}

namespace criu::memory {

/// Interface by which the dump of a mapping describes the mapped file.
class MappedFileDump {
public:
    virtual ~MappedFileDump() = default;

    /// Returns the image id of a path entry for the file. Called once per process and file.
    virtual FileId fileFor(const kernel::Vma& vma) = 0;

    /// Returns the image id of a memfd entry for shared memory. Called once per process and segment.
    virtual FileId segmentFor(const kernel::Vma& vma) = 0;

    /// Returns the access mode of the open file description that a restore needs for the mapping: O_RDWR for a shared
    /// mapping of a file that is open for writing, else O_RDONLY. mmap(2) refuses O_WRONLY.
    /// Called for every mapping of a file.
    virtual int accessOf(const kernel::Vma& vma) = 0;

    /// Returns true for a regular file or /dev/zero: a new mapping of such a file has the same content. Called once per
    /// file.
    virtual bool isPlain(const kernel::Vma& vma) = 0;

    /// Returns the image id of the packet socket whose ring is mapped, or 0 if no process has the socket open.
    virtual FileId socketFor(const kernel::Vma&) { return {}; }

    /// Returns the image id of the mapped io_uring, or 0 if no process has the io_uring open.
    virtual FileId ioUringFor(const kernel::Vma&) { return {}; }

    /// Returns true if a device subsystem handles the mapping, and sets `file` to its file id.
    virtual bool claimsDevice(const kernel::Vma&, FileId& /*file*/) { return false; }

    /// Returns true if the process can't access the mapping. A restore then only reserves its addresses. The device
    /// subsystem that claims the mapping decides this.
    virtual bool isUnusable(const kernel::Vma&) { return false; }
};

}  // namespace criu::memory
