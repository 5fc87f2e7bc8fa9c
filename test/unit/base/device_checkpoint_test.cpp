// SPDX-License-Identifier: GPL-2.0-only
// Processes that are settled while drivers still work on others.
#include <catch2/catch.hpp>

#include <cstdlib>

#include "criu/base/log.hpp"
#include "criu/base/refusals.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/device/subsystems.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "criu/model/options.hpp"

using namespace criu;

namespace {

/// Reports that it has finished with one process.
class Changing final : public device::DeviceDump {
public:
    Changing(HostPid pid, bool changes) : pid_(pid), changes_(changes) {}
    void checkpointAll(std::span<compel::FrozenProcess* const>, const device::ProcessCheckpointed& settled) override {
        if (settled)
            settled(pid_);
    }
    [[nodiscard]] bool checkpoints() const override { return changes_; }
    void release(bool) override {}

private:
    HostPid pid_;
    bool changes_;
};

class ChangingSubsystem final : public device::Subsystem {
public:
    ChangingSubsystem(HostPid pid, bool changes) : pid_(pid), changes_(changes) {}
    [[nodiscard]] std::string_view name() const override { return "changing"; }
    std::unique_ptr<device::DeviceDump> startDump(const device::Context&) override {
        return std::make_unique<Changing>(pid_, changes_);
    }
    std::unique_ptr<device::DeviceRestore> startRestore(const device::Context&) override { return nullptr; }

private:
    HostPid pid_;
    bool changes_;
};

/// Returns the processes that are reported as settled, for subsystems that change processes or don't.
std::vector<HostPid> settledBy(const std::vector<bool>& changing) {
    char name[20] = "/tmp/images-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    std::vector<HostPid> settled;
    {
        const ImageDir images = ImageDir::open(name);
        const model::Options options;
        Log log;
        StopRequest stop;
        Refusals refusals;
        device::Subsystems subsystems;
        for (std::size_t i = 0; i < changing.size(); ++i)
            subsystems.push_back(std::make_unique<ChangingSubsystem>(HostPid(static_cast<pid_t>(i) + 1), changing[i]));
        memory::FilePageSinks pages(images);
        device::DumpDevices devices(subsystems, options, log, images, pages, stop, refusals);
        devices.checkpoint({}, [&settled](HostPid pid) { settled.push_back(pid); });
    }
    std::system(fmt::format("rm -rf {}", name).c_str());
    return settled;
}

}  // namespace

TEST_CASE("devices: only who changes processes last says which stay as they are") {
    CHECK(settledBy({true}) == std::vector{HostPid(1)});
    CHECK(settledBy({true, true}) == std::vector{HostPid(2)});
    CHECK(settledBy({false, true, false}) == std::vector{HostPid(2)});
    CHECK(settledBy({false, false}).empty());
}
