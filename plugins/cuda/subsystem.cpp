// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/subsystem.hpp"

#include <unistd.h>

#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/model/options.hpp"
#include "plugins/cuda/dump.hpp"
#include "plugins/cuda/held.hpp"
#include "plugins/cuda/processes.hpp"
#include "plugins/cuda/restore.hpp"
#include "plugins/cuda/together.hpp"

namespace criu::cuda {
namespace {

class CudaSubsystem final : public device::Subsystem {
public:
    explicit CudaSubsystem(std::unique_ptr<Driver> driver)
        : driver_(std::move(driver)), held_(std::make_unique<Held>()) {}

    [[nodiscard]] std::string_view name() const override { return "cuda"; }
    [[nodiscard]] std::string_view inventoryName() const override { return kInventoryName; }
    [[nodiscard]] std::vector<std::string_view> standsFor() const override { return {kInventoryName}; }

    std::unique_ptr<device::DeviceDump> startDump(const device::Context& context) override {
        return std::make_unique<CudaDump>(*driver_, *held_, context);
    }
    std::unique_ptr<device::DeviceRestore> startRestore(const device::Context& context) override {
        return std::make_unique<CudaRestore>(*driver_, context);
    }
    [[nodiscard]] std::vector<device::Feature> features() const override {
        return {{"cuda",
                 [this] {
                     // Of a process that has none; the library is loaded, and knows the calls.
                     (void)driver_->state(::getpid());
                     return true;
                 },
                 [this] { return driver_->isPresent(); }, [this] { return describe(); }},
                {"cuda_gpu_map",
                 [this] {
                     if (driver_->apiVersion() < kPutsElsewhere)
                         fail("contents can be put on other GPUs since CUDA 13.0 (driver 580)");
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

    void rescue(Log& log) noexcept override {
        try {
            for (const TreePid pid : held_->all())
                rescueProcess(pid, log);
        } catch (const std::exception& error) {
            log.error("cuda: {}", error.what());
        }
    }

private:
    /// CUDA 13.0 (driver 580): a restore may name other GPUs.
    static constexpr int kPutsElsewhere = 13000;

    [[nodiscard]] std::vector<std::string> describe() const {
        const int version = driver_->apiVersion();
        std::vector<std::string> lines{
            fmt::format("driver {}, CUDA {}.{}", driver_->version(), version / 1000, version % 1000 / 10)};
        for (const Gpu& gpu : driver_->gpus())
            lines.push_back(fmt::format("{} {}", gpu.uuid, gpu.model));
        return lines;
    }

    /// The dump may have been done in another pid namespace, so the process is looked for by what it is called there.
    void rescueProcess(TreePid pid, Log& log) {
        for (const pid_t each : kernel::ProcDir().processes()) {
            const HostPid process(each);
            if (!usesCuda(process) || inTree(process) != pid)
                continue;
            log.info("cuda: process {} is brought back to work", process);
            callAlone(
                [&driver = *driver_, each] {
                    std::optional<State> state = driver.state(each);
                    if (state == State::Checkpointed) {
                        driver.restore(each, {});
                        state = driver.state(each);
                    }
                    if (state == State::Locked)
                        driver.unlock(each);
                },
                timeForContents(process, kUndone), nullptr, fmt::format("bring back process {}", process));
        }
    }

    std::unique_ptr<Driver> driver_;
    std::unique_ptr<Held> held_;
};

}  // namespace

std::unique_ptr<device::Subsystem> makeSubsystem(std::unique_ptr<Driver> driver) {
    return std::make_unique<CudaSubsystem>(std::move(driver));
}

}  // namespace criu::cuda
