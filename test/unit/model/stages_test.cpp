// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/stages.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>

#include <string>

#include "criu/base/error.hpp"
#include "criu/engine/command.hpp"

using namespace criu;
using namespace criu::model;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

namespace {

/// Listener that records its notifications in a text that it shares with others.
class NotingListener : public StageListener {
public:
    NotingListener(std::string name, std::string& notes, int answer = 0)
        : name_(std::move(name)), notes_(notes), answer_(answer) {}

    int reached(const StageEvent& event) override {
        notes_ += fmt::format("{}:{}:{}:{} ", name_, stageName(event.stage), event.root, event.imagesDir);
        return answer_;
    }

private:
    std::string name_;
    std::string& notes_;
    int answer_;
};

/// Listener that accepts masters, like a client.
class Taking : public NotingListener {
public:
    using NotingListener::NotingListener;
    bool takeOrphanMaster(UniqueFd& master) override {
        taken = std::move(master);
        return true;
    }
    UniqueFd taken;
};

/// Device subsystem that wants notifications.
class Driver : public device::Subsystem {
public:
    explicit Driver(StageListener* listener) : listener_(listener) {}
    std::string_view name() const override { return "driver"; }
    std::unique_ptr<device::DeviceDump> startDump(const device::Context&) override { return nullptr; }
    std::unique_ptr<device::DeviceRestore> startRestore(const device::Context&) override { return nullptr; }
    StageListener* stageListener() override { return listener_; }

private:
    StageListener* listener_;
};

}  // namespace

TEST_CASE("listeners are notified in their order, with the data known at that stage") {
    std::string notes;
    NotingListener client("client", notes);
    NotingListener scripts("scripts", notes);
    StageListeners listeners({&client, &scripts});
    listeners.setImagesDir(5);
    listeners.require(Stage::PreRestore);
    listeners.setRoot(criu::HostPid(77));
    CHECK(listeners.notify(Stage::PostRestore) == 0);
    CHECK(notes ==
          "client:pre-restore:0:5 scripts:pre-restore:0:5 "
          "client:post-restore:77:5 scripts:post-restore:77:5 ");
}

TEST_CASE("who objects fails the stage, and those behind aren't told of it") {
    std::string notes;
    NotingListener client("client", notes, 3);
    NotingListener scripts("scripts", notes, 4);
    StageListeners listeners({&client, &scripts});
    CHECK(listeners.notify(Stage::PostDump) == 3);
    CHECK(notes == "client:post-dump:0:-1 ");
    CHECK_THROWS_WITH(listeners.require(Stage::PreDump), Equals("an action script failed at pre-dump with status 3"));
}

TEST_CASE("all listeners are notified to unlock the network, even after an objection") {
    std::string notes;
    NotingListener client("client", notes, 1);
    NotingListener scripts("scripts", notes, 4);
    StageListeners listeners({&client, &scripts});
    CHECK(listeners.notify(Stage::NetworkUnlock) == 5);
    CHECK(notes == "client:network-unlock:0:-1 scripts:network-unlock:0:-1 ");
}

TEST_CASE("a terminal's master goes to the first listener that takes it; none is an error") {
    std::string notes;
    NotingListener scripts("scripts", notes);
    Taking client("client", notes);
    Taking second("second", notes);
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    REQUIRE(null >= 0);
    StageListeners({&scripts, &client, &second}).handOverOrphanMaster(UniqueFd(null));
    CHECK(client.taken.get() == null);
    CHECK_FALSE(second.taken);
    CHECK_THROWS_WITH(StageListeners({&scripts}).handOverOrphanMaster(std::move(client.taken)),
                      Contains("no client takes the master"));
}

TEST_CASE("device subsystems that want to be told are, behind the others") {
    std::string notes;
    NotingListener scripts("scripts", notes);
    NotingListener hooks("hooks", notes);
    device::Subsystems devices;
    devices.push_back(std::make_unique<Driver>(nullptr));
    devices.push_back(std::make_unique<Driver>(&hooks));
    StageListeners listeners({&scripts});
    listeners.append(engine::stageListeners(devices));
    CHECK(listeners.notify(Stage::PreResume) == 0);
    CHECK(notes == "scripts:pre-resume:0:-1 hooks:pre-resume:0:-1 ");
}
