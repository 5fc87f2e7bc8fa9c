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

/// Restore of processes with CUDA state: when all of them are complete and stand still, the driver puts on devices what
/// was copied out of them, in all processes at the same time, and then unlocks those that weren't locked before the
/// dump.
class CudaRestore final : public device::DeviceRestore {
public:
    CudaRestore(Driver& driver, const device::Context& context) : driver_(driver), context_(context) {}

    void prepare(files::FileRestore&) override;
    [[nodiscard]] GpuName findGpu(const std::string& name) const override;
    void resumeAll(std::span<const device::ResumedProcess> processes) override;

private:
    struct Process {
        State before{};
        TreePid thread;                       ///< the driver's; 0 if the image doesn't say
        std::vector<StoredContent> contents;  ///< of storage mode
        std::atomic<std::uint64_t> moved{0};  ///< bytes of them that have to be moved
    };
    [[nodiscard]] std::function<void(pid_t)> restores(std::map<pid_t, Process*> noted);
    void noteContents(const CudaProcess& entry, Process& process);
    void chooseGpus(const std::map<std::string, GpuMemory>& memory);
    void requireRoom(std::uint64_t bytes, const std::map<std::string, GpuMemory>& memory) const;

    Driver& driver_;
    const device::Context& context_;
    std::optional<std::map<TreePid, Process>> processes_;  ///< none in images of CRIU 4.2
    std::vector<Gpu> then_;                                ///< GPUs of the images
    std::map<std::string, std::string> chosen_;            ///< which of this machine take their places
    std::vector<GpuPair> pairs_;
    const Storage* storage_ = nullptr;
};

}  // namespace criu::cuda
