// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "criu/files/file_kind.hpp"
#include "criu/memory/bulk.hpp"
#include "criu/memory/page_dump.hpp"
#include "criu/memory/segments_dump.hpp"

namespace criu::test {

/// A child process that has run `prepare` and stands still since; killed at the end.
class StoppedChild {
public:
    explicit StoppedChild(const std::function<void()>& prepare);
    ~StoppedChild();
    StoppedChild(const StoppedChild&) = delete;
    StoppedChild& operator=(const StoppedChild&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] kernel::ProcPid process() const { return kernel::ProcDir().open(pid_); }

    /// What the process would read, also where it may not.
    [[nodiscard]] std::string memory(std::uint64_t start, std::uint64_t end) const;

private:
    pid_t pid_ = -1;
};

/// Stands for the engine: numbers files and keeps their entries.
class FakeDump final : public files::FileDump {
public:
    explicit FakeDump(const ImageDir& images) : images_(images) {}
    [[nodiscard]] const model::Options& options() const override { return options_; }
    [[nodiscard]] Log& log() override { return log_; }
    [[nodiscard]] const ImageDir& images() const override { return images_; }
    [[nodiscard]] Arena& arena() override { return arena_; }
    FileId nextId() override { return FileId{++last_}; }
    void add(FileEntry& entry) override { entries.push_back(&entry); }
    void hold(const FileEntry&) override {}
    FileId addPath(const files::OpenFd&, std::uint32_t) override { return nextId(); }
    FileId addInFlight(UniqueFd) override { return nextId(); }
    FownEntry* owner(const files::OpenFd&) override { return arena_.make<FownEntry>(); }
    [[nodiscard]] std::vector<files::SeenFd> seen(dev_t, ino_t) const override { return {}; }
    [[nodiscard]] bool isDumped(pid_t) const override { return false; }
    [[nodiscard]] std::span<const files::SeenFd> descriptorsOf(pid_t) const override { return {}; }

    std::vector<FileEntry*> entries;

private:
    model::Options options_;
    Log log_;
    const ImageDir& images_;
    Arena arena_;
    std::uint32_t last_ = 0;
};

/// Mapped files get numbers, and remember which one.
class NumberedFiles final : public memory::ProcMappedFiles {
public:
    NumberedFiles(const kernel::ProcPid& process, memory::SegmentsDump& segments, FakeDump& dump)
        : ProcMappedFiles(process, segments, dump), dump_(dump) {}
    FileId fileFor(const kernel::Vma&) override { return dump_.nextId(); }

private:
    FakeDump& dump_;
};

/// Dumps the mappings and private pages of a child.
struct MemoryDump {
    MemoryDump(const StoppedChild& child, const ImageDir& images, memory::Drainer& drainer);

    kernel::ProcPid process;
    std::vector<kernel::Vma> vmas;
    FakeDump files;
    memory::SegmentsDump segments;
    memory::DumpedMemory memory;
    memory::PagesIds ids;
    memory::PageDumpResult result;
};

}  // namespace criu::test
