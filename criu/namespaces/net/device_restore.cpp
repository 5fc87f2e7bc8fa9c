// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/device_restore.hpp"

#include <fcntl.h>
#include <linux/if_link.h>
#include <net/if.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <thread>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/image/catalogue.hpp"
#include "criu/image/text_rules.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/namespaces/net/device_options.hpp"
#include "criu/namespaces/net/tun_devices.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;
using kernel::NamespaceVisit;

std::span<const std::byte> addressOf(const NetDeviceEntry& device) {
    return {reinterpret_cast<const std::byte*>(device.address.data),
            device.has_address != 0 ? device.address.len : std::size_t{0}};
}

kernel::NewLink described(const NetDeviceEntry& device, std::string_view kind) {
    kernel::NewLink link;
    link.name = device.name;
    link.index = device.ifindex;
    link.mtu = device.mtu;
    link.address = addressOf(device);
    link.kind = kind;
    if (device.has_queue_length != 0)
        link.queueLength = device.queue_length;
    return link;
}

/// Returns the wanted options whose present value differs. Omits options that have the wanted value, because a kernel
/// may refuse to set an option that it doesn't support, even to its present value.
std::vector<kernel::LinkOption> differing(const std::vector<kernel::LinkOption>& wanted,
                                          const std::vector<kernel::LinkOption>& present) {
    std::vector<kernel::LinkOption> differing;
    std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(differing), [&](const kernel::LinkOption& option) {
        return std::find(present.begin(), present.end(), option) == present.end();
    });
    return differing;
}

template <typename Number>
kernel::LinkOption option(std::uint16_t type, Number value) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
    return {type, {bytes, bytes + sizeof(value)}};
}

/// Repeats `work` as long as it fails with the errno value `busy`. The device that `work` replaces may still exist: the
/// kernel removes a network namespace some time after its last process has ended (cleanup_net()).
template <typename Work>
void retryWhileDeviceRemains(int busy, Work&& work) {
    constexpr int kTurns = 500;
    constexpr auto kPause = std::chrono::milliseconds(10);
    for (int turn = 0;; ++turn) {
        try {
            return work();
        } catch (const Error& error) {
            if (error.code() != busy || turn == kTurns)
                throw;
        }
        std::this_thread::sleep_for(kPause);
    }
}

/// Creates a device whose other end is outside of the tree.
void makeWhenFree(const kernel::NewLink& link) {
    retryWhileDeviceRemains(EEXIST, [&] { makeLink(link); });
}

/// Throws Error if the device has another index than in the dump, because addresses and routes in images refer to
/// devices by index.
void requireExternal(const NetDeviceEntry& device) {
    const unsigned index = ::if_nametoindex(device.name);
    if (index == device.ifindex)
        return;
    Error error(index == 0 ? errno : 0,
                index == 0
                    ? std::string("it was left to a plugin, and isn't there")
                    : fmt::format("it was left to a plugin, and has index {} instead of {}", index, device.ifindex));
    error.addHint(
        fmt::format("put it there, with index {}, in an action script at setup-namespaces, or with "
                    "--external netdev[{}]:NAME",
                    device.ifindex, device.name));
    throw error;
}

kernel::NewLink describedMacvlan(const NetDeviceEntry& device) {
    kernel::NewLink link = described(device, "macvlan");
    link.options.push_back(option(IFLA_MACVLAN_MODE, device.macvlan->mode));
    if (device.macvlan->has_flags != 0)
        link.options.push_back(option(IFLA_MACVLAN_FLAGS, static_cast<std::uint16_t>(device.macvlan->flags)));
    return link;
}

}  // namespace

DeviceRestore::DeviceRestore(const model::Options& options, Log& log) : log_(log) {
    for (const model::VethPair& pair : options.vethPairs)
        outerEnds_.insert_or_assign(pair.inside, Outer{pair.outside, {}});
    for (const model::External& external : options.externals) {
        const std::string value = external.value.value_or("");
        if (external.type == model::ExternalType::Veth) {
            const std::size_t at = std::min(value.find('@'), value.size());
            outerEnds_.insert_or_assign(external.id,
                                        Outer{value.substr(0, at), value.substr(std::min(at + 1, value.size()))});
        } else if (external.type == model::ExternalType::Macvlan) {
            parents_.insert_or_assign(external.id, value);
        } else if (external.type == model::ExternalType::Netdev) {
            moved_.insert_or_assign(external.id, value);
        }
    }
}

DeviceRestore::~DeviceRestore() {
    if (committed_)
        return;
    for (const Touched& touched : touched_) {
        try {
            kernel::runInThread([&] {
                const NamespaceVisit visit(touched.network.get(), NamespaceKind::Net);
                if (!touched.moved)
                    return kernel::removeLink(touched.index);
                kernel::changeLink(touched.index, {.flags = 0});
                kernel::changeLink(touched.index, {.flags = touched.moved->flags,
                                                   .mtu = touched.moved->mtu,
                                                   .address = touched.moved->address,
                                                   .network = home_.get(),
                                                   .newIndex = touched.moved->index,
                                                   .newName = touched.moved->name});
            });
        } catch (const std::exception& error) {
            log_.warn("A network device of the failed restore is left: {}", error.what());
        }
    }
}

const std::string* DeviceRestore::movedFrom(const NetDeviceEntry& device) const {
    const auto found = moved_.find(device.name);
    return found != moved_.end() ? &found->second : nullptr;
}

const NetDeviceEntry* DeviceRestore::find(std::span<const DevicesOf> all, std::uint32_t number, std::uint32_t index,
                                          const DevicesOf** of) {
    for (const DevicesOf& candidate : all)
        for (const auto& device : candidate.devices)
            if (candidate.number == number && device->ifindex == index) {
                *of = &candidate;
                return device.get();
            }
    return nullptr;
}

bool DeviceRestore::isMade(const NetDeviceEntry& device) const {
    return std::any_of(made_.begin(), made_.end(), [&](const Device& made) { return made.entry == &device; });
}

void DeviceRestore::check(std::span<const DevicesOf> all) const {
    const auto requireOutside = [](const std::string& name, std::string_view why) {
        if (::if_nametoindex(name.c_str()) == 0)
            failErrno("there is no network device {}, {}", name, why);
    };
    for (const DevicesOf& of : all) {
        for (const auto& device : of.devices) {
            if (device->ifindex == 0 || device->ifindex > INT32_MAX || !isDeviceName(device->name))
                fail("{}: network device {} has an impossible name or index ({})",
                     imageName(ImageKind::Netdev, of.number), device->name, device->ifindex);
            if (const std::string* const from = movedFrom(*device)) {
                requireOutside(*from, fmt::format("which is to become {} of the tree", device->name));
                continue;
            }
            const DevicesOf* belowOf = nullptr;
            switch (device->type) {
                case ND_TYPE__LOOPBACK:
                case ND_TYPE__TUN:
                case ND_TYPE__EXTLINK:
                case ND_TYPE__BRIDGE:
                    break;
                case ND_TYPE__VETH:
                    if (const auto outer = outerEnds_.find(device->name);
                        outer != outerEnds_.end() && !outer->second.bridge.empty())
                        requireOutside(outer->second.bridge, fmt::format("the bridge for {}", device->name));
                    break;
                case ND_TYPE__PLAIN:
                    if (device->kind == nullptr || !isPlainDeviceKind(device->kind))
                        fail("{}: network device {} is of the kind \"{}\", which can't be restored",
                             imageName(ImageKind::Netdev, of.number), device->name,
                             device->kind != nullptr ? device->kind : "");
                    if (needsLower(device->kind) && lowerOf(all, of, *device, &belowOf) == nullptr)
                        fail("the lower device of {} device {} isn't in the images", device->kind, device->name);
                    break;
                case ND_TYPE__MACVLAN:
                    if (device->macvlan == nullptr)
                        fail("network device {} is said to be a macvlan device but has no description of one",
                             device->name);
                    if (const auto parent = parents_.find(device->name); parent != parents_.end()) {
                        requireOutside(parent->second, fmt::format("the parent for {}", device->name));
                    } else if (device->has_peer_nsid == 0 || device->peer_ifindex == device->ifindex ||
                               find(all, device->peer_nsid, device->peer_ifindex, &belowOf) == nullptr) {
                        Error error(0,
                                    fmt::format("the parent of macvlan device {} isn't in the images", device->name));
                        error.addHint(fmt::format("name one with --external macvlan[{}]:PARENT", device->name));
                        throw error;
                    }
                    break;
                default:
                    fail("network device {} is of type {}, which can't be restored", device->name,
                         static_cast<int>(device->type));
            }
        }
    }
}

void DeviceRestore::commit() noexcept {
    committed_ = true;
    pins_.clear();
}

void DeviceRestore::make(std::span<const DevicesOf> all) {
    home_ = kernel::openOwnNamespace(NamespaceKind::Net);
    for (const DevicesOf& of : all)
        for (const auto& device : of.devices) {
            const ErrorContext context([&] { return fmt::format("network device {}", device->name); });
            makeOne(all, of, *device);
        }
}

void DeviceRestore::makeOne(std::span<const DevicesOf> all, const DevicesOf& of, const NetDeviceEntry& device) {
    if (isMade(device))
        return;
    if (!making_.insert(&device).second)
        fail("it is below itself, through other devices");
    if (const std::string* const from = movedFrom(device)) {
        moveIn(of, device, *from);
    } else if (device.type == ND_TYPE__VETH) {
        return makeVeth(all, of, device);
    } else if (device.type == ND_TYPE__MACVLAN) {
        makeMacvlan(all, of, device);
    } else if (device.type == ND_TYPE__PLAIN) {
        makePlain(all, of, device);
    } else {
        const NamespaceVisit visit(of.network, NamespaceKind::Net);
        if (device.type == ND_TYPE__TUN) {
            restoreTunDevice(device);
        } else if (device.type == ND_TYPE__BRIDGE) {
            makeLink(described(device, "bridge"));
        } else if (device.type == ND_TYPE__EXTLINK) {
            requireExternal(device);
        }
    }
    made_.push_back({&of, &device});
}

void DeviceRestore::moveIn(const DevicesOf& of, const NetDeviceEntry& device, const std::string& from) {
    log_.info("Moving network device {} in as {}", from, device.name);
    UniqueFd network(sys(::fcntl(of.network, F_DUPFD_CLOEXEC, 0), "copy the descriptor of a namespace"));
    kernel::NetworkLink before = kernel::readLink(kernel::linkIndex(from));
    std::unique_ptr<NetworkPin>& pin = pins_[of.network];
    if (!pin)
        pin = std::make_unique<NetworkPin>(of.network, log_.journal());
    pin->recordMove(before, device.ifindex, home_.get());
    // Doesn't set the address, because a driver may refuse this now; startOne() sets it.
    kernel::changeLink(before.index, {.network = of.network, .newIndex = device.ifindex, .newName = device.name});
    touched_.push_back({std::move(network), device.ifindex, std::move(before)});
}

void DeviceRestore::makeVeth(std::span<const DevicesOf> all, const DevicesOf& of, const NetDeviceEntry& device) {
    const auto outer = outerEnds_.find(device.name);
    const DevicesOf* otherOf = nullptr;
    const NetDeviceEntry* const other =
        device.has_peer_nsid != 0 ? find(all, device.peer_nsid, device.peer_ifindex, &otherOf) : nullptr;
    if (outer != outerEnds_.end() || other == nullptr || other == &device || other->type != ND_TYPE__VETH ||
        isMade(*other) || movedFrom(*other) != nullptr) {
        // A namespace that the tree joins, or that is external, has its own devices. But it may lack the other end of
        // this device.
        const auto existing = std::find_if(all.begin(), all.end(), [&](const DevicesOf& candidate) {
            return device.has_peer_nsid != 0 && candidate.number == device.peer_nsid && candidate.devices.empty();
        });
        if (outer != outerEnds_.end())
            makeVethToOutside(of, device, outer->second, home_.get());
        else
            makeVethToOutside(of, device, Outer(), existing != all.end() ? existing->network : home_.get());
    } else {
        kernel::NewLink end = described(device, "veth");
        kernel::NewLink otherEnd = described(*other, "veth");
        otherEnd.network = otherOf->network;
        end.otherEnd = &otherEnd;
        const NamespaceVisit visit(of.network, NamespaceKind::Net);
        makeLink(end);
        made_.push_back({otherOf, other});
    }
    made_.push_back({&of, &device});
}

void DeviceRestore::makeVethToOutside(const DevicesOf& of, const NetDeviceEntry& device, const Outer& outer,
                                      int network) {
    kernel::NewLink end = described(device, "veth");
    kernel::NewLink otherEnd;
    otherEnd.name = outer.name;
    otherEnd.network = network;
    end.otherEnd = &otherEnd;
    {
        const NamespaceVisit visit(of.network, NamespaceKind::Net);
        makeWhenFree(end);
    }
    touched_.push_back({UniqueFd(sys(::fcntl(of.network, F_DUPFD_CLOEXEC, 0), "copy the descriptor of a namespace")),
                        device.ifindex,
                        {}});
    if (!outer.bridge.empty())
        kernel::changeLink(kernel::linkIndex(outer.name),
                           {.flags = IFF_UP | IFF_MULTICAST, .master = kernel::linkIndex(outer.bridge)});
}

void DeviceRestore::makeMacvlan(std::span<const DevicesOf> all, const DevicesOf& of, const NetDeviceEntry& device) {
    kernel::NewLink link = describedMacvlan(device);
    if (const auto parent = parents_.find(device.name); parent != parents_.end()) {
        link.below = kernel::linkIndex(parent->second);
        link.network = of.network;
        makeLink(link);
        return;
    }
    const DevicesOf* belowOf = nullptr;
    const NetDeviceEntry* const below = find(all, device.peer_nsid, device.peer_ifindex, &belowOf);
    makeOne(all, *belowOf, *below);
    const NamespaceVisit visit(belowOf->network, NamespaceKind::Net);
    link.below = below->ifindex;
    link.network = of.network;
    makeLink(link);
}

const NetDeviceEntry* DeviceRestore::lowerOf(std::span<const DevicesOf> all, const DevicesOf& of,
                                             const NetDeviceEntry& device, const DevicesOf** lowerIn) {
    const auto inOptions = lowerInOptions(device.kind, loadOptions(device.n_options, device.options));
    if (!inOptions && (!needsLower(device.kind) || device.has_peer_ifindex == 0))
        return nullptr;
    const std::uint32_t index = inOptions.value_or(device.peer_ifindex);
    return index == device.ifindex ? nullptr : find(all, of.number, index, lowerIn);
}

/// Creates a device with the attributes that the kernel showed, after its lower device.
void DeviceRestore::makePlain(std::span<const DevicesOf> all, const DevicesOf& of, const NetDeviceEntry& device) {
    const DevicesOf* lowerIn = nullptr;
    const NetDeviceEntry* const lower = lowerOf(all, of, device, &lowerIn);
    if (lower != nullptr)
        makeOne(all, *lowerIn, *lower);
    kernel::NewLink link = described(device, device.kind);
    link.options =
        creationOptions(device.kind, settableOptions(device.kind, loadOptions(device.n_options, device.options)));
    if (needsLower(device.kind))
        link.below = device.peer_ifindex;
    const NamespaceVisit visit(of.network, NamespaceKind::Net);
    makeLink(link);
}

void DeviceRestore::start(const SettingsRule& rule) {
    for (const Device& device : made_) {
        const ErrorContext context([&] { return fmt::format("network device {}", device.entry->name); });
        startOne(device, rule);
    }
}

void DeviceRestore::startOne(const Device& device, const SettingsRule& rule) const {
    const NamespaceVisit visit(device.of->network, NamespaceKind::Net);
    const NetDeviceEntry& entry = *device.entry;
    if (entry.n_options != 0 && entry.type != ND_TYPE__PLAIN) {
        const kernel::NetworkLink link = kernel::readLink(entry.ifindex);
        for (const auto& one :
             differing(settableOptions(link.kind, loadOptions(entry.n_options, entry.options)), link.options)) {
            const ErrorContext context([&] { return fmt::format("option {}", one.type); });
            kernel::changeLink(entry.ifindex, {.kind = link.kind, .options = {one}});
        }
    }
    if (entry.has_master != 0) {
        const auto master = std::find_if(made_.begin(), made_.end(), [&](const Device& other) {
            return other.of == device.of && other.entry->ifindex == entry.master;
        });
        if (master == made_.end())
            fail("its master, device {}, isn't in the images", entry.master);
        kernel::changeLink(entry.ifindex, {.master = entry.master});
        for (const auto& port : differing(settablePortOptions(loadOptions(entry.n_port_options, entry.port_options)),
                                          kernel::readLink(entry.ifindex).portOptions)) {
            const ErrorContext context([&] { return fmt::format("option {} as a port", port.type); });
            kernel::changeLink(entry.ifindex, {.portOptions = {port}});
        }
    }
    const bool foreign = movedFrom(entry) != nullptr || entry.type == ND_TYPE__EXTLINK;
    kernel::LinkChange change{.flags = entry.flags, .mtu = entry.mtu};
    if (foreign)
        change.address = addressOf(entry);
    // Repeats the change, because an old device may still have the hardware address, and the kernel refuses it twice on
    // one lower device.
    retryWhileDeviceRemains(EADDRINUSE, [&] { kernel::changeLink(entry.ifindex, change); });
    writeDeviceSettings(entry, rule);
}

}  // namespace criu::namespaces
