// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/device_sockets.hpp"

#include "criu/device/dump_devices.hpp"
#include "criu/device/restore_devices.hpp"
#include "criu/sockets/external_sockets.hpp"

namespace criu::engine {
namespace {

class DeviceExternalSocketDump final : public sockets::ExternalSocketDump {
public:
    explicit DeviceExternalSocketDump(device::DumpDevices& devices) : devices_(devices) {}
    [[nodiscard]] bool any() const override { return devices_.takesSockets(); }
    [[nodiscard]] bool save(int fd, std::uint32_t inode) override { return devices_.takeSocket(fd, inode); }

private:
    device::DumpDevices& devices_;
};

class DeviceExternalSocketRestore final : public sockets::ExternalSocketRestore {
public:
    explicit DeviceExternalSocketRestore(const device::RestoreDevices& devices) : devices_(devices) {}
    [[nodiscard]] UniqueFd open(std::uint32_t inode) const override { return devices_.openSocket(inode); }

private:
    const device::RestoreDevices& devices_;
};

}  // namespace

std::unique_ptr<sockets::ExternalSocketDump> makeExternalSocketDump(device::DumpDevices& devices) {
    return std::make_unique<DeviceExternalSocketDump>(devices);
}

std::unique_ptr<sockets::ExternalSocketRestore> makeExternalSocketRestore(const device::RestoreDevices& devices) {
    return std::make_unique<DeviceExternalSocketRestore>(devices);
}

}  // namespace criu::engine
