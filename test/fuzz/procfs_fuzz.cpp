// SPDX-License-Identifier: GPL-2.0-only
// All parsers of procfs text. The first byte chooses one, the rest is the file. Parsers may throw criu::Error and
// nothing else.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "choose.hpp"
#include "criu/base/error.hpp"
#include "criu/kernel/attributes.hpp"
#include "criu/kernel/io_uring.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/probe/feature_cache.hpp"
#include "criu/kernel/proc/fdinfo.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/kernel/proc/mountinfo.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/kernel/proc/tasks.hpp"
#include "criu/kernel/proc/time_offsets.hpp"
#include "criu/kernel/proc/timers.hpp"

namespace {

using criu::kernel::MountTable;

constexpr void (*kParsers[])(std::string_view) = {
    [](std::string_view text) { static_cast<void>(criu::kernel::parseStatus(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseStat(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseMaps(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseFdInfo(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseFileLock(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseEventFd(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseEpoll(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseSignalFd(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseInotify(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseFanotify(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseTimerFd(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parsePidFd(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseBpfMap(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseIoUring(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseLimits(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseTimers(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseChildren(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseAuxv(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseAutogroup(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseCgroups(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseNamespaceLink(text)); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseFeatureCache(text, "key")); },
    [](std::string_view text) { static_cast<void>(criu::kernel::parseTimeOffsets(text)); },
    [](std::string_view text) {
        const MountTable table(criu::kernel::parseMountInfo(text));
        for (const auto& mount : table.all())
            if (table.find(mount.id) == nullptr)
                __builtin_trap();
    },
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return criu::fuzz::readByOneOf(kParsers, data, size);
}
