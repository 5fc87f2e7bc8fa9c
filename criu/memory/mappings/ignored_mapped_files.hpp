// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/memory/mappings/mapped_file_dump.hpp"

namespace criu::kernel {
class ProcPid;
}

namespace criu::engine {

/// MappedFileDump for callers that need only private pages of mappings. It records no files and refuses no mapping.
class IgnoredMappedFiles final : public memory::MappedFileDump {
public:
    /// `process` must outlive this object.
    explicit IgnoredMappedFiles(const kernel::ProcPid& process) noexcept : process_(process) {}

    FileId fileFor(const kernel::Vma&) override;
    FileId segmentFor(const kernel::Vma&) override;
    int accessOf(const kernel::Vma&) override;
    bool isPlain(const kernel::Vma& vma) override;
    FileId socketFor(const kernel::Vma&) override;
    FileId ioUringFor(const kernel::Vma&) override;
    bool claimsDevice(const kernel::Vma&, FileId& file) override;

private:
    const kernel::ProcPid& process_;
};

}  // namespace criu::engine
