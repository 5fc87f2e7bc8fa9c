// SPDX-License-Identifier: GPL-2.0-only
// Threads and objects that device subsystems use during a dump or a restore must end before the data that they refer
// to.
#include <catch2/catch.hpp>

#include <cstdlib>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/refusals.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/device/restore_devices.hpp"
#include "criu/device/subsystems.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/pages/read_watch.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "images/inventory.hpp"

using namespace criu;

namespace {

using Notes = std::vector<std::string>;

class NotingDump final : public device::DeviceDump {
public:
    NotingDump(const device::Context& context, Notes& notes, bool fails)
        : context_(context), notes_(notes), fails_(fails) {}
    ~NotingDump() override { note("undone"); }
    void dumpLate(HostPid) override {
        note("saved");
        if (fails_)
            fail("no room");
    }
    void release(bool) override { note("released"); }

private:
    void note(const std::string& what) { notes_.push_back(what + (context_.watch.piece ? ", watched" : "")); }

    const device::Context& context_;
    Notes& notes_;
    bool fails_;
};

class NotingRestore final : public device::DeviceRestore {
public:
    NotingRestore(std::string name, Notes& notes, bool fails) : name_(std::move(name)), notes_(notes), fails_(fails) {}
    void startWork() override {
        notes_.push_back(name_ + " begins");
        if (fails_)
            fail("no threads");
    }
    void endWork() noexcept override { notes_.push_back(name_ + " ends"); }

private:
    std::string name_;
    Notes& notes_;
    bool fails_;
};

class NotingSubsystem final : public device::Subsystem {
public:
    NotingSubsystem(std::string name, Notes& notes, bool fails)
        : name_(std::move(name)), notes_(notes), fails_(fails) {}
    [[nodiscard]] std::string_view name() const override { return name_; }
    std::unique_ptr<device::DeviceDump> startDump(const device::Context& context) override {
        return std::make_unique<NotingDump>(context, notes_, fails_);
    }
    std::unique_ptr<device::DeviceRestore> startRestore(const device::Context&) override {
        return std::make_unique<NotingRestore>(name_, notes_, fails_);
    }

private:
    std::string name_;
    Notes& notes_;
    bool fails_;
};

/// Arguments of all dumps and restores of devices.
struct RunInputs {
    RunInputs() {
        REQUIRE(::mkdtemp(name) != nullptr);
        images.emplace(ImageDir::open(name));
    }
    ~RunInputs() { std::system(fmt::format("rm -rf {}", name).c_str()); }

    char name[20] = "/tmp/images-XXXXXX";
    std::optional<ImageDir> images;
    model::Options options;
    Log log;
    StopRequest stop;
    Notes notes;
    device::Subsystems subsystems;
};

}  // namespace

TEST_CASE("devices: work that is reverted after a dump isn't counted in an object that has ended") {
    const bool fails = GENERATE(false, true);
    RunInputs inputs;
    inputs.subsystems.push_back(std::make_unique<NotingSubsystem>("one", inputs.notes, fails));
    memory::FilePageSinks pages(*inputs.images);
    {
        Refusals refusals;
        device::DumpDevices devices(inputs.subsystems, inputs.options, inputs.log, *inputs.images, pages, inputs.stop,
                                    refusals);
        memory::ReadWatch watch;
        watch.piece = [](auto, std::uint64_t) {};
        if (fails) {
            CHECK_THROWS_AS(devices.dumpLate(HostPid(1), watch), Error);
        } else {
            devices.dumpLate(HostPid(1), watch);
            devices.release(true);
        }
    }
    CHECK(inputs.notes == (fails ? Notes{"saved, watched", "undone"} : Notes{"saved, watched", "released", "undone"}));
}

TEST_CASE("devices: what they do beside restored processes ends with it, in reverse order") {
    const bool fails = GENERATE(false, true);
    RunInputs inputs;
    inputs.subsystems.push_back(std::make_unique<NotingSubsystem>("one", inputs.notes, false));
    inputs.subsystems.push_back(std::make_unique<NotingSubsystem>("two", inputs.notes, fails));
    const InventoryEntry inventory = INVENTORY_ENTRY__INIT;  // without a list of plugins, all subsystems take part
    const model::ProcessTree tree;
    const memory::FilePageSources pages(*inputs.images);
    kernel::FdStore store;
    device::RestoreDevices devices(
        {inputs.subsystems, inventory, tree, inputs.options, inputs.log, *inputs.images, pages, inputs.stop, store});
    if (fails)
        CHECK_THROWS_AS(devices.startWork(), Error);
    else
        CHECK(devices.startWork() != nullptr);  // ends at once
    CHECK(inputs.notes == Notes{"one begins", "two begins", "two ends", "one ends"});
}
