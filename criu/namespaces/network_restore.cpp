// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/network_restore.hpp"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/kernel/conntrack.hpp"
#include "criu/kernel/iptables.hpp"
#include "criu/kernel/links.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/nftables.hpp"
#include "criu/kernel/program.hpp"
#include "criu/namespaces/image_order.hpp"
#include "criu/namespaces/network_programs.hpp"
#include "criu/namespaces/network_settings.hpp"
#include "criu/namespaces/tun_devices.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;
std::string contentOf(const ImageDir& images, ImageKind kind, std::uint32_t number) {
    auto image = images.openRead(kind, number);
    if (!image)
        return {};
    const std::vector<std::byte> bytes = image->rest(kLargestSaved);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

NetworkRestore::NetworkRestore(const model::Options& options, const JoinedNamespaces& joined, const ImageDir& images,
                               const TaskKobjIdsEntry* outside, const TaskKobjIdsEntry* tree, Log& log)
    : log_(log),
      settingsRule_{options.weakSysctls, log},
      joined_(joined),
      number_(ownNumberOf(outside, tree, NamespaceKind::Net)) {
    if (wasOwn() && !joins())
        planOwn(images);
}

void NetworkRestore::planOwn(const ImageDir& images) {
    settings_ = images.openRequired(ImageKind::Netns, number_).only<NetnsEntry>();
    if ((*settings_)->ext_key != nullptr)
        return;
    if ((*settings_)->n_nsids != 0)
        fail("the tree's network namespace knew others by ids, which can't be restored yet");
    if (auto image = images.openRead(ImageKind::Netdev, number_))
        devices_ = image->all<NetDeviceEntry>();
    for (const auto& device : devices_)
        if (device->type != ND_TYPE__LOOPBACK && device->type != ND_TYPE__TUN)
            fail("the network namespace of the tree had a device {}, which can't be restored yet", device->name);
    for (const ImageKind kind : {ImageKind::Ifaddr, ImageKind::Route, ImageKind::Route6, ImageKind::Rule})
        if (images.exists(kind, number_))
            (void)ipProgram();
    if (!contentOf(images, ImageKind::Iptables, number_).empty())
        (void)legacyIptables(AF_INET, "restore");
    if (!contentOf(images, ImageKind::Ip6tables, number_).empty())
        (void)legacyIptables(AF_INET6, "restore");
    if (!contentOf(images, ImageKind::Nftables, number_).empty() && !kernel::Nftables::available()) {
        Error error(0,
                    "the packet filter's rules of the tree's network namespace can't be restored without "
                    "libnftables");
        error.addHint("install libnftables");
        throw error;
    }
}

bool NetworkRestore::isNew() const noexcept {
    return wasOwn() && !joins() && (*settings_)->ext_key == nullptr;
}

void NetworkRestore::open(const std::function<int(std::string_view)>& inherited,
                          const std::function<UniqueFd(UniqueFd)>& lift) {
    if (joins()) {
        const int there = joined_.descriptor(NamespaceKind::Net);
        fd_ = lift(UniqueFd(sys(::fcntl(there, F_DUPFD_CLOEXEC, 0), "copy fd {}", there)));
        return;
    }
    if (!wasOwn())
        return;
    if (const char* const name = (*settings_)->ext_key; name != nullptr) {
        const int given = inherited(name);
        if (given < 0) {
            Error error(0, fmt::format("the tree was in a network namespace called {}, which isn't here", name));
            error.addHint(fmt::format("give one with --inherit-fd fd[N]:{}", name));
            throw error;
        }
        requireNamespace(given, NamespaceKind::Net, fmt::format("what --inherit-fd gives for {}", name));
        fd_ = lift(UniqueFd(sys(::fcntl(given, F_DUPFD_CLOEXEC, 0), "copy fd {}", given)));
    }
}

void NetworkRestore::fill(const kernel::ProcPid& root, const ImageDir& images) {
    if (!isNew())
        return;
    log_.info("Filling the network namespace");
    fd_ = root.open("ns/net", O_RDONLY);
    inContext([] { return "fill the network namespace of the tree"; },
              [&] {
                  kernel::inOwnThread([&] {
                      sys(::setns(fd_.get(), CLONE_NEWNET), "enter it");
                      fillHere(images);
                  });
              });
}

void NetworkRestore::fillHere(const ImageDir& images) const {
    writeNetworkSettings(**settings_, settingsRule_);
    for (const auto& device : devices_) {
        if (device->type == ND_TYPE__TUN)
            restoreTunDevice(*device);
        kernel::configureLink(device->ifindex, (device->flags & IFF_UP) != 0, device->mtu);
        writeDeviceSettings(*device, settingsRule_);
    }
    const auto restored = [&](ImageKind kind, const char* object) {
        const std::string saved = contentOf(images, kind, number_);
        if (saved.empty())
            return;
        const std::string ip = ipProgram();
        if (kind == ImageKind::Rule) {
            // What a namespace has by itself would be there twice. The first command keeps the rule for local ones.
            kernel::runProgram(ip, {"rule", "flush"}, {});
            kernel::runProgram(ip, {"rule", "delete", "table", "local"}, {});
        }
        kernel::runProgram(ip, {object, "restore"}, saved);
    };
    restored(ImageKind::Ifaddr, "addr");
    restored(ImageKind::Route, "route");
    restored(ImageKind::Route6, "route");
    restored(ImageKind::Rule, "rule");
    for (const int family : {AF_INET, AF_INET6}) {
        const std::string rules =
            contentOf(images, family == AF_INET ? ImageKind::Iptables : ImageKind::Ip6tables, number_);
        if (!rules.empty())
            kernel::runProgram(legacyIptables(family, "restore"), {kernel::kIptablesWait}, rules);
    }
    if (const std::string rules = contentOf(images, ImageKind::Nftables, number_); !rules.empty())
        kernel::Nftables().run(rules);
    const auto connections = [&](ImageKind kind, kernel::ConntrackTable table) {
        const std::string entries = contentOf(images, kind, number_);
        kernel::writeConntrack(table, std::as_bytes(std::span(entries)));
    };
    connections(ImageKind::Conntrack, kernel::ConntrackTable::Connections);
    connections(ImageKind::ConntrackExpect, kernel::ConntrackTable::Expectations);
}

void NetworkRestore::enter() const {
    if (fd_)
        sys(::setns(fd_.get(), CLONE_NEWNET), "enter the network namespace of the tree");
}

void NetworkRestore::inside(const std::function<void()>& work) const {
    if (!fd_ || !wasOwn())
        return work();
    const kernel::NamespaceVisit visit(fd_.get(), NamespaceKind::Net);
    work();
}

}  // namespace criu::namespaces
