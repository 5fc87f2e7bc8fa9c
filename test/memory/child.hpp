// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "criu/base/machine.hpp"
#include "criu/memory/pages/drain.hpp"
#include "criu/memory/pages/page_dump.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/shmem/segments_dump.hpp"

namespace criu::test {

/// Returns an address for mappings of children. The addresses are far from each other and unused.
constexpr std::uint64_t place(unsigned number) noexcept {
    constexpr std::uint64_t kBase = 0x10000000000;
    constexpr std::uint64_t kStride = 0x10000000;
    return kBase + number * kStride;
}

inline std::size_t pages(std::size_t count) {
    return count * machinePageSize();
}

/// Child process that has run `prepare` and is stopped since then. The destructor kills it.
class StoppedChild {
public:
    explicit StoppedChild(const std::function<void()>& prepare);
    ~StoppedChild();
    StoppedChild(const StoppedChild&) = delete;
    StoppedChild& operator=(const StoppedChild&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] kernel::ProcPid process() const { return kernel::ProcDir().open(pid_); }

    /// Returns memory as the process would read it, also where its protection forbids reading.
    [[nodiscard]] std::string memory(std::uint64_t start, std::uint64_t end) const;

private:
    pid_t pid_ = -1;
};

/// Replacement for the engine: numbers files and stores entries of segments.
class NumberedFiles final : public memory::MappedFileDump {
public:
    NumberedFiles(const kernel::ProcPid& process, memory::SegmentsDump& segments)
        : process_(process), segments_(segments) {}
    FileId fileFor(const kernel::Vma&) override { return FileId{++last_}; }
    FileId segmentFor(const kernel::Vma& vma) override;
    int accessOf(const kernel::Vma& vma) override { return memory::ProcMappedFiles::access(process_, vma); }
    bool isPlain(const kernel::Vma& vma) override { return memory::ProcMappedFiles::plain(process_, vma); }

    std::vector<FileEntry*> entries;

private:
    const kernel::ProcPid& process_;
    memory::SegmentsDump& segments_;
    std::uint32_t last_ = 0;
};

/// Dumps the mappings and private pages of a child.
struct MemoryDump {
    MemoryDump(pid_t pid, const ImageDir& images, memory::Drainer& drainer,
               kernel::PagemapScanner::Mode mode = kernel::PagemapScanner::Mode::Auto);

    kernel::ProcPid process;
    std::vector<kernel::Vma> vmas;
    Arena arena;
    memory::SegmentsDump segments;
    NumberedFiles files{process, segments};
    memory::DumpedMemory memory;
    memory::FilePageSinks pages;
    memory::PageDumpResult result;
};

}  // namespace criu::test
