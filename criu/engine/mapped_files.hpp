// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/device/dump_devices.hpp"
#include "criu/engine/dump_files.hpp"
#include "criu/memory/segments_dump.hpp"

namespace criu::engine {

/// The files behind the mappings of one process: they are found through /proc/PID/map_files and become path entries of
/// the file collector.
class MappedFiles final : public memory::ProcMappedFiles {
public:
    MappedFiles(const FrozenTask& task, FileCollector& files, memory::SegmentsDump& segments,
                device::DumpDevices& devices)
        : ProcMappedFiles(task.dir, segments, files), task_(task), files_(files), devices_(devices) {}

    FileId fileFor(const kernel::Vma& vma) override;
    bool claimsDevice(const kernel::Vma& vma, FileId& file) override;
    FileId socketFor(const kernel::Vma& vma) override;
    FileId ioUringFor(const kernel::Vma& vma) override;

private:
    const FrozenTask& task_;
    FileCollector& files_;
    device::DumpDevices& devices_;
};

}  // namespace criu::engine
