// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/restore_control.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace criu;
using engine::AreaSlot;
using engine::Barrier;
using engine::RestoreControl;

TEST_CASE("no process passes a barrier before the last one arrives, and barriers count independently") {
    constexpr unsigned kParticipants = 4;
    const RestoreControl control(kParticipants);
    std::atomic<unsigned> arriving{0};
    std::atomic<bool> early{false};
    std::vector<std::thread> participants;
    for (unsigned i = 0; i < kParticipants; ++i)
        participants.emplace_back([&] {
            for (const Barrier barrier : {Barrier::Born, Barrier::Placed, Barrier::Completed}) {
                ++arriving;
                control.pass(barrier);
                if (arriving < kParticipants * (static_cast<unsigned>(barrier) + 1))
                    early = true;
            }
        });
    for (std::thread& participant : participants)
        participant.join();
    CHECK_FALSE(early);
    CHECK(arriving == kParticipants * 3);
}

TEST_CASE("the first process waits at the gate until criu opens it") {
    const RestoreControl control(1);
    std::atomic<bool> opened{false};
    bool wasOpen = false;
    std::thread first([&] {
        control.awaitGate();
        wasOpen = opened;
    });
    opened = true;
    control.openGate();
    first.join();
    CHECK(wasOpen);
}

TEST_CASE("adopters have their turns in order") {
    const RestoreControl control(1);
    std::string order;
    std::thread second([&] {
        control.awaitReparenting(2);
        order += "second";
        control.continueReparenting();
    });
    control.awaitReparenting(0);
    order += "first ";
    control.continueReparenting();
    control.continueReparenting();
    control.awaitReparenting(3);
    second.join();
    CHECK(order == "first second");
}

TEST_CASE("created processes and their areas are listed, and not more of them than there can be") {
    const RestoreControl control(2);
    CHECK(control.created().empty());
    CHECK(control.areas().empty());
    control.noteCreated(TreePid(20));
    control.noteArea({TreePid(20), 0x1000, 0x2000, 0x3000});
    control.noteCreated(TreePid(21));
    control.noteCreated(
        TreePid(22));  // one too many, as if a process had damaged the page; must not write past its end
    control.noteArea({TreePid(21), 0x3000, 0x4000, 0x5000});
    control.noteArea({TreePid(22), 0x5000, 0x6000, 0x7000});
    CHECK(control.created() == std::vector{TreePid(20), TreePid(21)});
    const std::vector<AreaSlot> areas = control.areas();
    REQUIRE(areas.size() == 2);
    CHECK(areas[0].pid == TreePid(20));
    CHECK(areas[0].end == 0x3000);
    CHECK(areas[1].start == 0x3000);
}

TEST_CASE("a process whose pid isn't stored yet isn't listed") {
    const RestoreControl control(2);
    control.page().createdCount = 1;
    CHECK(control.created().empty());
}

TEST_CASE("of several failures the first is reported, cut to the room there is") {
    const RestoreControl control(2);
    CHECK(control.await(1, 1) == RestoreControl::Outcome::Idle);
    control.reportFailure(TreePid(::getpid()), "fd 3: open /a: " + std::string(100'000, 'x'), ENOENT);
    control.reportFailure(TreePid(::getpid()), "later", 0);
    CHECK(control.await(1, 1) == RestoreControl::Outcome::Failed);
    CHECK_THAT(control.failureText(), Catch::Contains("fd 3: open /a: xxx") && !Catch::Contains("later"));
    CHECK(control.failureText().size() < 100'000);
    CHECK(control.failureCode() == ENOENT);
}

TEST_CASE("a failure counts more than processes that have parked") {
    const RestoreControl control(1);
    control.page().parked = 1;
    CHECK(control.await(1, 1) == RestoreControl::Outcome::Reached);
    control.reportFailure(TreePid(::getpid()), "no", 0);
    CHECK(control.await(1, 1) == RestoreControl::Outcome::Failed);
}

TEST_CASE("a failed step is reported with what it was about and the kernel's reason") {
    const RestoreControl control(1);
    pie::Failure& failure = control.page().failure;
    failure.tid = 33;
    failure.subject = pie::Subject::SignalQueue;
    failure.detail = 10;
    failure.result = -1;  // EPERM
    failure.claimed = failure.complete = 1;
    CHECK_THAT(control.failureText(), Catch::Contains("thread 33") && Catch::Contains("Operation not permitted"));
}
