// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "criu/base/log.hpp"

namespace criu {

/// State of a program that a dump loses with a warning, because images don't store it.
enum class Loss : std::uint8_t {
    Datagrams,
    Packets,
    ErrorQueue,
    Events,
    DirectoryNotify,
    KernelMessages,
    Keys,
    ThreadTimers,
    IoContext,
    Semaphores,
    Landlock,
    Queueing,
    BridgeVlans,
    SocketState,
    Owners,
    Mounts,
    Sharing,
    Links,
    Terminals,
    Attributes,
    OpenFlags,
    Forwarding,
    Gpu,
    ImageFields,
};

struct LossKind {
    Loss kind{};
    std::string_view name;  ///< argument of --allow-loss
};

/// Names of all kinds. Row N describes the enumerator with the value N.
inline constexpr auto kLossKinds = std::to_array<LossKind>({
    {Loss::Datagrams, "datagrams"},
    {Loss::Packets, "packets"},
    {Loss::ErrorQueue, "error-queue"},
    {Loss::Events, "events"},
    {Loss::DirectoryNotify, "dnotify"},
    {Loss::KernelMessages, "kmsg"},
    {Loss::Keys, "keys"},
    {Loss::ThreadTimers, "thread-timers"},
    {Loss::IoContext, "io-context"},
    {Loss::Semaphores, "semaphores"},
    {Loss::Landlock, "landlock"},
    {Loss::Queueing, "qdisc"},
    {Loss::BridgeVlans, "vlan"},
    {Loss::SocketState, "socket-state"},
    {Loss::Owners, "owners"},
    {Loss::Mounts, "mounts"},
    {Loss::Sharing, "sharing"},
    {Loss::Links, "links"},
    {Loss::Terminals, "terminals"},
    {Loss::Attributes, "xattrs"},
    {Loss::OpenFlags, "open-flags"},
    {Loss::Forwarding, "fdb"},
    {Loss::Gpu, "gpu"},
    {Loss::ImageFields, "image-fields"},
});

static_assert(kLossKinds.size() <= LossSet().size());
static_assert([] {
    for (std::size_t i = 0; i < kLossKinds.size(); ++i)
        if (static_cast<std::size_t>(kLossKinds[i].kind) != i)
            return false;
    return true;
}());

[[nodiscard]] constexpr std::string_view nameOf(Loss kind) noexcept {
    return kLossKinds[static_cast<std::size_t>(kind)].name;
}

/// Returns the hint of a refused loss.
[[nodiscard]] inline std::string remedyOf(Loss kind) {
    if (kind == Loss::ImageFields)
        return "restore with the criu that dumped, or accept the loss with --allow-loss=" + std::string(nameOf(kind));
    return "allow this loss with --allow-loss=" + std::string(nameOf(kind)) + ", or dump without --no-loss";
}

}  // namespace criu
