// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/tun_devices.hpp"

#include <fcntl.h>
#include <linux/if_tun.h>

#include "criu/base/error.hpp"

namespace criu::namespaces {
namespace {

constexpr const char* kPath = "/dev/net/tun";
constexpr std::uint32_t kOnlyInDescriptors = IFF_NAPI | IFF_NAPI_FRAGS | IFF_NO_CARRIER;

UniqueFd openTun() {
    return UniqueFd(sys(::open(kPath, O_RDWR | O_CLOEXEC), "open {}", kPath));
}

}  // namespace

void TunDevices::note(std::uint32_t network, const kernel::TunAttachment& attachment,
                      const kernel::TunSettings& settings) {
    noted_.insert_or_assign({network, attachment.device}, Noted{attachment.flags & kOnlyInDescriptors, settings});
}

void TunDevices::fill(std::uint32_t network, const kernel::NetworkLink& link, NetDeviceEntry& device,
                      Arena& arena) const {
    auto& out = *arena.make<TunLinkEntry>();
    device.tun = &out;
    out.flags = link.tun->flags;
    out.owner = link.tun->user;
    out.group = link.tun->group;
    kernel::TunSettings settings;
    if (const auto noted = noted_.find({network, link.name}); noted != noted_.end()) {
        out.flags |= noted->second.flags;
        settings = noted->second.settings;
    } else {
        if ((out.flags & IFF_PERSIST) == 0)
            fail("tun device {} of the tree's network namespace belongs to a process that isn't dumped", link.name);
        const UniqueFd fd = openTun();
        {
            const ErrorContext context([] { return "no process of the tree has it open"; });
            kernel::attachTun(fd.get(), link.name, out.flags);
        }
        settings = kernel::readTunSettings(fd.get(), (out.flags & IFF_TAP) != 0);
    }
    if (settings.filtered)
        fail("tap device {} has a packet filter, which can't be read out", link.name);
    out.vnethdr = settings.headerSize;
    out.sndbuf = settings.sendBuffer;
    out.has_vnet_le = out.vnet_le = settings.littleEndian;
    out.offload = kernel::readTunOffload(link.name);
    out.has_offload = out.offload != 0;
}

void restoreTunDevice(const NetDeviceEntry& device) {
    if (device.tun == nullptr)
        fail("network device {} is said to be a tun device but has no description of one", device.name);
    const TunLinkEntry& tun = *device.tun;
    const UniqueFd fd = openTun();
    kernel::attachTun(fd.get(), device.name, tun.flags, device.ifindex);
    kernel::writeTunOwner(fd.get(), tun.owner, tun.group);
    kernel::writeTunSettings(fd.get(), {tun.vnethdr, tun.sndbuf, tun.vnet_le != 0, false});
    if (tun.offload != 0)
        kernel::writeTunOffload(fd.get(), tun.offload);
    kernel::setTunPersistent(fd.get(), true);
    if (device.address.len != 0)
        kernel::changeLink(device.ifindex,
                           {.address = {reinterpret_cast<const std::byte*>(device.address.data), device.address.len}});
}

}  // namespace criu::namespaces
