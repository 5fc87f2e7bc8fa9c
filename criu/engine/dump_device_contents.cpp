// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump_device_contents.hpp"

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/engine/dump_frozen.hpp"
#include "criu/engine/frozen_tree.hpp"
#include "criu/memory/read_watch.hpp"
#include "criu/model/nested_pids.hpp"

namespace criu::engine {

void dumpDeviceContents(FrozenPhase& frozen, DumpMemory::Amounts& amounts) {
    // Drivers know processes by the innermost of their numbers.
    if (!frozen.tree().pids().nested().empty() && !frozen.devices().used().empty())
        fail("a tree that has pid namespaces below its own and uses devices ({}) can't be dumped yet",
             frozen.devices().used().front());
    memory::ReadWatch watch;
    watch.expected = [&amounts](std::uint64_t bytes) { amounts.total += bytes; };
    watch.piece = [&amounts, &log = frozen.log()](std::chrono::steady_clock::time_point begin, std::uint64_t bytes) {
        amounts.done += bytes;
        log.noteWork("save device memory", begin, bytes);
    };
    frozen.devices().dumpLate(frozen.tree().rootPid(), watch);
}

}  // namespace criu::engine
