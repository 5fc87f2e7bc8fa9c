// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/device/dump_devices.hpp"
#include "criu/device/restore_devices.hpp"
#include "criu/sockets/carried_sockets.hpp"

/// Device subsystems (so far: plugins) carry unix sockets that are connected to the outside.
namespace criu::engine {

class DeviceSocketCarriers final : public sockets::SocketCarriers {
public:
    explicit DeviceSocketCarriers(device::DumpDevices& devices) : devices_(devices) {}
    [[nodiscard]] bool any() const override { return devices_.takesSockets(); }
    [[nodiscard]] bool carry(int fd, std::uint32_t inode) override { return devices_.takeSocket(fd, inode); }

private:
    device::DumpDevices& devices_;
};

class DeviceCarriedSockets final : public sockets::CarriedSockets {
public:
    explicit DeviceCarriedSockets(const device::RestoreDevices& devices) : devices_(devices) {}
    [[nodiscard]] UniqueFd open(std::uint32_t inode) const override { return devices_.openSocket(inode); }

private:
    const device::RestoreDevices& devices_;
};

}  // namespace criu::engine
