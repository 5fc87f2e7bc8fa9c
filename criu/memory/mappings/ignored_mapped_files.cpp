// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/mappings/ignored_mapped_files.hpp"

#include <fcntl.h>

#include "criu/memory/shmem/segments_dump.hpp"

namespace criu::engine {

FileId NamelessFiles::fileFor(const kernel::Vma&) {
    return FileId(1);
}

FileId NamelessFiles::segmentFor(const kernel::Vma&) {
    return FileId(1);
}

int NamelessFiles::accessOf(const kernel::Vma&) {
    return O_RDWR;
}

bool NamelessFiles::isPlain(const kernel::Vma& vma) {
    return memory::ProcMappedFiles::plain(process_, vma);
}

FileId NamelessFiles::socketFor(const kernel::Vma&) {
    return FileId(1);
}

FileId NamelessFiles::ioUringFor(const kernel::Vma&) {
    return FileId(1);
}

bool NamelessFiles::claimsDevice(const kernel::Vma&, FileId& file) {
    file = FileId(1);
    return true;
}

}  // namespace criu::engine
