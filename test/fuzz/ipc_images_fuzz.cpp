// SPDX-License-Identifier: GPL-2.0-only
// Input: an image of System V semaphores if the first byte is odd, else one of message queues.
#include "criu/namespaces/ipc_messages.hpp"
#include "criu/namespaces/ipc_semaphores.hpp"
#include "test/fuzz/input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const bool semaphores = (data[0] & 1) != 0;
    const criu::ImageKind kind = semaphores ? criu::ImageKind::IpcSem : criu::ImageKind::IpcMsg;
    try {
        criu::ImageReader reader(criu::fuzz::fileOf(std::span(data + 1, size - 1)), kind, "input");
        if (semaphores)
            static_cast<void>(criu::namespaces::parseSemaphoreSets(reader));
        else
            static_cast<void>(criu::namespaces::parseMessageQueues(reader));
    } catch (const criu::Error&) {
        return 0;
    }
    return 0;
}
