// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/restorer_area.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/engine/restore/restore_control.hpp"
#include "criu/image/record.hpp"
#include "criu/pie/enter.hpp"
#include "images/mm.hpp"

using namespace criu;
using Catch::Contains;
using engine::AreaSlot;
using engine::RestoreControl;
using engine::RestorerAreas;

namespace {

constexpr TreePid kPid{5};
constexpr std::uint64_t kAreaStart = 0x10000000;
constexpr std::uint64_t kMemory = 0x20000000;  // address of the process' memory, one MiB

/// Returns a process with one mapping.
model::Task taskWithMemory() {
    MmEntry mm = MM_ENTRY__INIT;
    VmaEntry vma = VMA_ENTRY__INIT;
    vma.start = kMemory;
    vma.end = kMemory + 0x100000;
    VmaEntry* vmas[] = {&vma};
    mm.n_vmas = 1;
    mm.vmas = vmas;
    std::vector<std::byte> bytes(encodedSize(mm.base));
    ::protobuf_c_message_pack(&mm.base, reinterpret_cast<std::uint8_t*>(bytes.data()));
    model::Task task;
    task.pid = kPid;
    task.mm = decode<MmEntry>(bytes);
    return task;
}

/// Returns the slot of a process whose area begins at `start`.
AreaSlot areaAt(std::uint64_t start, const RestoreControl& control) {
    const std::uint64_t code = pageAlignUp(pie::interpreterBlob().bytes.size()) + machinePageSize() + control.size();
    return {kPid, start, start + code, start + code + 0x4000};
}

/// Returns the reason why an area isn't accepted; "" if it is.
std::string refusalOf(const AreaSlot& area, const RestoreControl& control) {
    control.noteArea(area);
    const model::Task task = taskWithMemory();
    try {
        (void)RestorerAreas(control).of(task);
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("the area that a parked process has noted is taken as it is") {
    const RestoreControl control(2);
    const AreaSlot noted = areaAt(kAreaStart, control);
    control.noteArea(noted);
    const RestorerAreas areas(control);
    control.noteArea({TreePid(6), 1, 2, 3});  // after criu has read the slot
    const model::Task task = taskWithMemory();
    const compel::InjectedMemory area = areas.of(task);
    CHECK(area.code == noted.start);
    CHECK(area.data == noted.data);
    CHECK(area.dataSize == 0x4000);
}

TEST_CASE("a process that has noted no area, or two, is an error") {
    const RestoreControl control(2);
    const model::Task task = taskWithMemory();
    CHECK_THROWS_WITH(RestorerAreas(control).of(task), Contains("didn't say"));
    control.noteArea(areaAt(kAreaStart, control));
    control.noteArea(areaAt(kAreaStart + 0x100000, control));
    CHECK_THROWS_WITH(RestorerAreas(control), Contains("twice"));
}

TEST_CASE("areas that can't be are refused: what a process notes may be a lie") {
    const RestoreControl control(1);
    AreaSlot area = areaAt(kAreaStart, control);
    SECTION("not page by page") {
        area.end -= 8;
        CHECK_THAT(refusalOf(area, control), Contains("can't be at"));
    }
    SECTION("too small for the interpreter and the control page") {
        area.data -= machinePageSize();
        CHECK_THAT(refusalOf(area, control), Contains("can't be at"));
    }
    SECTION("backwards") {
        area.end = area.start;
        CHECK_THAT(refusalOf(area, control), Contains("can't be at"));
    }
    SECTION("beyond the memory of tasks") {
        area.end = taskSize() + machinePageSize();
        CHECK_THAT(refusalOf(area, control), Contains("can't be at"));
    }
    SECTION("over memory of the image") {
        area.end = kMemory + machinePageSize();
        CHECK_THAT(refusalOf(area, control), Contains("in the way of its memory"));
    }
    SECTION("right up to memory of the image") {
        area.end = kMemory;
        CHECK(refusalOf(area, control).empty());
    }
}
