// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"

namespace criu::kernel {
struct Vma;
}

namespace criu::memory {

/// Answers about the file behind a mapping.
class MappedFileDump {
public:
    virtual ~MappedFileDump() = default;

    /// The image id of a path entry for the file. Asked once per process and file.
    virtual FileId fileFor(const kernel::Vma& vma) = 0;

    /// The image id of a memfd entry for shared memory. Asked once per process and segment.
    virtual FileId segmentFor(const kernel::Vma& vma) = 0;

    /// How the description that was mapped had been opened: O_RDONLY or O_RDWR (nobody can map write-only). Asked for
    /// every mapping of a file.
    virtual int accessOf(const kernel::Vma& vma) = 0;

    /// Whether mapping the file again gives the same memory: a regular file, or /dev/zero. Asked once per file.
    virtual bool isPlain(const kernel::Vma& vma) = 0;

    /// The image id of the packet socket whose ring this is; 0 if it isn't one that somebody has open.
    virtual FileId socketFor(const kernel::Vma&) { return {}; }

    /// The same of the io_uring that is mapped.
    virtual FileId ioUringFor(const kernel::Vma&) { return {}; }

    /// Device memory that a device subsystem takes care of; its file id goes to `file`.
    virtual bool claimsDevice(const kernel::Vma&, FileId& /*file*/) { return false; }
};

}  // namespace criu::memory
