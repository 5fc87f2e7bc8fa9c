// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/restorer_removal.hpp"

#include <compel/error.hpp>
#include <compel/injection.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/pie/enter.hpp"

namespace criu::engine {
namespace {

/// Returns the instruction for the last system calls in a process, whose restorer's area is `area`: `known` if the
/// process has the same code there. Otherwise searches for one, and stores it in `known` if it has a restorer.
std::optional<compel::SyscallInstruction> lastInstructionOf(compel::FrozenProcess& process,
                                                            const compel::InjectedMemory& area,
                                                            std::optional<compel::SyscallInstruction>& known) {
    const std::uint64_t end = area.data + area.dataSize;
    // After a restore that was killed, the other process may have such code where this process has the area.
    if (known && (known->address < area.code || known->address >= end) &&
        compel::hasSyscallInstruction(process.leader().tid(), *known))
        return *known;
    const auto found = process.unmappingInstruction(area.code, end);
    if (found && found->restorer != 0)
        known = found;
    return found;
}

}  // namespace

void unmapRestorers(std::span<const KeptRestorer> restorers, Log& log) {
    std::deque<compel::Injection> injections;
    std::vector<compel::Injection*> all;
    std::optional<compel::SyscallInstruction> instruction;
    const auto attempt = [&log](const auto& work) {
        try {
            work();
        } catch (const compel::TraceeGone&) {
            return;  // ignored: only an outside process can have killed the process
        } catch (const compel::Error& error) {
            log.warn("Memory of criu stays in a restored process: {}", error.what());
        }
    };
    for (const KeptRestorer& restorer : restorers)
        attempt([&] {
            all.push_back(&injections.emplace_back(restorer.process.leader(), pie::interpreterBlob(), restorer.area,
                                                   lastInstructionOf(restorer.process, restorer.area, instruction)));
        });
    compel::Injection::cureAll(all);
    for (compel::Injection* const injection : all)
        attempt([&] { injection->cure(); });
}

}  // namespace criu::engine
