// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "criu/device/subsystem.hpp"
#include "images/criu-cuda.hpp"
#include "plugins/cuda/contents.hpp"
#include "plugins/cuda/driver.hpp"

namespace criu::cuda {

/// Restore of processes with CUDA state. When all processes are complete and frozen, the driver copies contents to
/// devices, for all processes in parallel. Then the driver unlocks the processes that weren't locked before the dump.
class CudaRestore final : public device::DeviceRestore {
public:
    CudaRestore(Driver& driver, const device::Context& context) : driver_(driver), context_(context) {}

    void prepare(files::FileRestore&) override;
    [[nodiscard]] GpuName findGpu(const std::string& name) const override;
    [[nodiscard]] bool owns(FileId id) const override { return inherited_.contains(id); }
    Opened open(FileId id, files::FileOpener& opener) override;
    std::optional<device::Relocated> relocate(const device::DeviceMapping& mapping) override;
    void resumeAll(std::span<const device::ResumedProcess> processes) override;

private:
    struct Process {
        State before{};
        TreePid thread;                       ///< tid of the driver's thread; 0 if the image doesn't contain it
        std::vector<StoredContent> contents;  ///< contents that storage mode has saved
        std::atomic<std::uint64_t> moved{0};  ///< bytes of contents that the driver call moves
    };
    [[nodiscard]] std::function<void(pid_t)> restores(std::map<pid_t, Process*> noted);
    void noteContents(const CudaProcess& entry, Process& process);
    void refuseStorageOfPlugin() const;
    void chooseGpus(const std::map<std::string, GpuMemory>& memory);
    void requireRoom(std::uint64_t bytes, const std::map<std::string, GpuMemory>& memory) const;

    Driver& driver_;
    const device::Context& context_;
    /// Processes of cuda.img; empty for images of CRIU 4.2, which have no cuda.img.
    std::optional<std::map<TreePid, Process>> processes_;
    std::vector<Gpu> then_;  ///< GPUs of the images
    /// Replacements on this machine for GPUs of the images; keys and values are UUIDs.
    std::map<std::string, std::string> chosen_;
    std::vector<GpuPair> pairs_;
    const Storage* storage_ = nullptr;
    std::map<FileId, std::string> inherited_;  ///< paths of device files that forked processes inherited and can't use
};

}  // namespace criu::cuda
