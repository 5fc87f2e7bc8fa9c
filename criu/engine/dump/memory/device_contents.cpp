// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/memory/device_contents.hpp"

#include "criu/base/log.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/engine/dump/frozen.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/refusals.hpp"
#include "criu/memory/pages/read_watch.hpp"

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
