// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump_device_contents.hpp"

#include "criu/base/log.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/engine/dump_frozen.hpp"
#include "criu/engine/dump_refusals.hpp"
#include "criu/engine/frozen_tree.hpp"
#include "criu/memory/read_watch.hpp"

namespace criu::engine {

void dumpDeviceContents(FrozenPhase& frozen, DumpMemory::Amounts& amounts) {
    memory::ReadWatch watch;
    watch.expected = [&amounts](std::uint64_t bytes) { amounts.total += bytes; };
    watch.piece = [&amounts, &log = frozen.log()](std::chrono::steady_clock::time_point begin, std::uint64_t bytes) {
        amounts.done += bytes;
        log.noteWork("save device memory", begin, bytes);
    };
    frozen.devices().dumpLate(frozen.tree().rootPid(), watch);
    refuseNestedDevices(frozen.tree(), frozen.devices());
}

}  // namespace criu::engine
