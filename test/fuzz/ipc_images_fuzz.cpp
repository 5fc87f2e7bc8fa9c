// SPDX-License-Identifier: GPL-2.0-only
// Input: an image of System V message queues, semaphores, or POSIX message queues. The first byte chooses the kind.
#include "criu/model/id_map.hpp"
#include "criu/namespaces/ipc/ipc_messages.hpp"
#include "criu/namespaces/ipc/ipc_semaphores.hpp"
#include "criu/namespaces/ipc/posix_queues.hpp"
#include "test/fuzz/input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    constexpr criu::ImageKind kKinds[] = {criu::ImageKind::IpcMsg, criu::ImageKind::IpcSem, criu::ImageKind::IpcMqueue};
    const criu::ImageKind kind = kKinds[data[0] % std::size(kKinds)];
    try {
        criu::ImageReader reader(criu::fuzz::fileOf(std::span(data + 1, size - 1)), kind, "input");
        if (kind == criu::ImageKind::IpcSem)
            static_cast<void>(criu::namespaces::parseSemaphoreSets(reader));
        else if (kind == criu::ImageKind::IpcMsg)
            static_cast<void>(criu::namespaces::parseMessageQueues(reader));
        else
            static_cast<void>(criu::namespaces::parsePosixQueues(reader, {}));
    } catch (const criu::Error&) {
        return 0;
    }
    return 0;
}
