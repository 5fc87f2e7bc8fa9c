// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "criu/engine/dump_examined.hpp"
#include "criu/engine/dump_files.hpp"
#include "criu/engine/dump_memory.hpp"
#include "criu/engine/progress.hpp"
#include "criu/kernel/sched.hpp"
#include "criu/memory/segments_dump.hpp"
#include "criu/task/seccomp.hpp"

namespace criu::engine {

/// The third phase of a dump: all that can be read of the tree is in the images: processes, memory, files and
/// namespaces.
class CapturedPhase {
public:
    /// Throws Error, also as soon as a stop is requested.
    explicit CapturedPhase(ExaminedPhase& examined);
    CapturedPhase(const CapturedPhase&) = delete;
    CapturedPhase& operator=(const CapturedPhase&) = delete;

    [[nodiscard]] ExaminedPhase& examined() const noexcept { return examined_; }
    [[nodiscard]] const DumpMemory& memory() const noexcept { return memory_; }
    [[nodiscard]] const task::SeccompDump& seccomp() const noexcept { return seccomp_; }

    /// The images are complete: files of processes that go on are as they were, what the images need of them stays.
    void release(model::FinalState state) noexcept;

private:
    void captureTables();
    void captureProcesses();
    void captureProcess(FrozenTask& task, std::uint32_t number);
    void writeIds(const FrozenTask& task, std::uint32_t number, std::uint32_t table) const;
    void writePaths(const FrozenTask& task);
    void captureContents();

    ExaminedPhase& examined_;
    FrozenPhase& frozen_;
    const std::optional<std::size_t> onlineCpus_ = kernel::onlineCpus();
    memory::SegmentsDump segments_;
    FileCollector files_;
    DumpMemory memory_;
    task::SeccompDump seccomp_;
    std::atomic<std::uint64_t> bytesDone_{0};
    Progress progress_;
};

}  // namespace criu::engine
