// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/mappings/ignored_mapped_files.hpp"

#include <fcntl.h>

#include "criu/memory/shmem/segments_dump.hpp"

namespace criu::engine {

FileId IgnoredMappedFiles::fileFor(const kernel::Vma&) {
    return FileId(1);
}

FileId IgnoredMappedFiles::segmentFor(const kernel::Vma&) {
    return FileId(1);
}

int IgnoredMappedFiles::accessOf(const kernel::Vma&) {
    return O_RDWR;
}

bool IgnoredMappedFiles::isPlain(const kernel::Vma& vma) {
    return memory::ProcMappedFiles::plain(process_, vma);
}

FileId IgnoredMappedFiles::socketFor(const kernel::Vma&) {
    return FileId(1);
}

FileId IgnoredMappedFiles::ioUringFor(const kernel::Vma&) {
    return FileId(1);
}

bool IgnoredMappedFiles::claimsDevice(const kernel::Vma&, FileId& file) {
    file = FileId(1);
    return true;
}

}  // namespace criu::engine
