// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/subsystem.hpp"

#include <unistd.h>

#include <thread>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/pages/read_watch.hpp"
#include "criu/model/options.hpp"
#include "plugins/cuda/dump.hpp"
#include "plugins/cuda/held.hpp"
#include "plugins/cuda/processes.hpp"
#include "plugins/cuda/restore.hpp"
#include "plugins/cuda/together.hpp"

namespace criu::cuda {
namespace {

/// Timeout for each step of rescue(). A process that gets too little time stays locked, and nothing waits for rescue().
constexpr std::chrono::seconds kRescue{30};

class CudaSubsystem final : public device::Subsystem {
public:
    explicit CudaSubsystem(std::unique_ptr<Driver> driver)
        : driver_(std::move(driver)), lockedProcesses_(std::make_unique<LockedProcesses>()) {}

    [[nodiscard]] std::string_view name() const override { return "cuda"; }
    [[nodiscard]] std::string_view inventoryName() const override { return kInventoryName; }
    [[nodiscard]] std::vector<std::string_view> replacesPlugins() const override { return {kInventoryName}; }

    std::unique_ptr<device::DeviceDump> startDump(const device::Context& context) override {
        return std::make_unique<CudaDump>(*driver_, *lockedProcesses_, context);
    }
    std::unique_ptr<device::DeviceRestore> startRestore(const device::Context& context) override {
        return std::make_unique<CudaRestore>(*driver_, context);
    }
    [[nodiscard]] std::vector<device::Feature> features() const override {
        return {{"cuda", "GPUs of NVIDIA: the CUDA driver checkpoints processes",
                 [this] {
                     // Queries the state of criu itself, which has no CUDA state. This call loads the library, and
                     // throws if the library lacks the checkpoint calls.
                     (void)driver_->state(::getpid());
                     return true;
                 },
                 [this] { return driver_->isPresent(); }, [this] { return describe(); }},
                {"cuda_gpu_map", "contents are restored on other GPUs (--gpu-map)",
                 [this] {
                     if (driver_->apiVersion() < kMovesSince)
                         fail("contents can be put on other GPUs since CUDA 13.0 (driver 580)");
                     return true;
                 },
                 [] { return false; }},
                {"cuda_storage", "contents go directly between GPUs and images",
                 [this] {
                     if (driver_->apiVersion() < kStorageSince)
                         fail("contents can go straight into images since CUDA 13.4 (driver 615)");
                     return true;
                 },
                 [] { return false; }}};
    }

    void notePreDump(std::span<const HostPid> processes, Log& log) override {
        if (!driver_->isPresent())
            return;
        for (const HostPid pid : processes)
            if (usesCuda(pid))
                log.info("cuda: of process {} only what is in host memory is pre-dumped, not what GPUs hold", pid);
    }

    void rescue(Log& log, const ImageDir& images) noexcept override {
        for (const LockedProcesses::Process& process : lockedProcesses_->all()) {
            try {
                rescueProcess(process, images, log);
            } catch (const std::exception& error) {
                log.error("cuda: {}", error.what());
            }
        }
        lockedProcesses_->clear();
    }

private:
    [[nodiscard]] std::vector<std::string> describe() const {
        const int version = driver_->apiVersion();
        std::vector<std::string> lines{
            fmt::format("driver {}, CUDA {}.{}", driver_->version(), version / 1000, version % 1000 / 10)};
        for (const Gpu& gpu : driver_->gpus())
            lines.push_back(fmt::format("{} {}", gpu.uuid, gpu.model));
        return lines;
    }

    void rescueProcess(const LockedProcesses::Process& held, const ImageDir& images, Log& log) {
        if (!usesCuda(held.pid))
            return;  // the process has ended
        log.info("cuda: process {} is brought back to work", held.pid);
        std::uint64_t moved = 0;
        for (const StoredContent& content : held.contents)
            moved += content.bytes;
        callWithTimeout([this, &held, &images] { restoreDriverState(held.pid.value, held, images); },
                        timeForContents(held.pid, kRescue, moved), nullptr,
                        fmt::format("bring back process {}", held.pid));
    }

    void restoreDriverState(pid_t pid, const LockedProcesses::Process& held, const ImageDir& images) {
        std::optional<State> state = driver_->state(pid);
        // criu's working process may have been killed during a storage operation. Waits until the driver has noticed
        // this and reverted the operation.
        const auto end = std::chrono::steady_clock::now() + kRescue;
        while ((state == State::Checkpointing || state == State::Restoring) && std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            state = driver_->state(pid);
        }
        if (state == State::Checkpointing || state == State::Restoring)
            fail("process {} stays locked: the CUDA driver hasn't reverted the operation of criu's ended process", pid);
        if (state == State::Checkpointed) {
            const Storage* const storage = held.contents.empty() ? nullptr : driver_->storage();
            if (storage != nullptr)
                ContentStorage(*storage, memory::ReadWatch{})
                    .load(pid, held.contents, {}, memory::FilePageSources(images), nullptr);
            else
                driver_->restore(pid, {});
            state = driver_->state(pid);
        }
        if (state == State::Locked && held.before == State::Running)
            driver_->unlock(pid);
    }

    std::unique_ptr<Driver> driver_;
    std::unique_ptr<LockedProcesses> lockedProcesses_;
};

}  // namespace

std::unique_ptr<device::Subsystem> makeSubsystem(std::unique_ptr<Driver> driver) {
    return std::make_unique<CudaSubsystem>(std::move(driver));
}

}  // namespace criu::cuda
