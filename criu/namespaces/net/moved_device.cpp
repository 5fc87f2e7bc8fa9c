// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/moved_device.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <string_view>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/hex.hpp"
#include "criu/base/names.hpp"
#include "criu/base/printable.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/net/rtnl_links.hpp"
#include "criu/kernel/proc/proc_ns.hpp"

namespace criu::namespaces {
namespace {

constexpr std::string_view kPrefix = "network-";
constexpr std::size_t kPinFields = 2;
constexpr std::size_t kMovedFields = 9;

const std::string& pinOf(const JournalLine& line) {
    const std::string& name = line.at(1);
    if (!name.starts_with(kPrefix) || name.find_first_not_of("0123456789", kPrefix.size()) != std::string::npos)
        fail("the journal is damaged: {} is no mount of criu", printable(name));
    return name;
}

bool isNamespace(int file) {
    struct statfs status {};
    return ::fstatfs(file, &status) == 0 && status.f_type == NSFS_MAGIC;
}

/// Opens the mounted namespace. Returns an invalid descriptor if none is mounted.
UniqueFd openPin(const std::string& name, int folder) {
    UniqueFd file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    return file && isNamespace(file.get()) ? std::move(file) : UniqueFd();
}

void remove(const std::string& name, int folder) {
    if (openPin(name, folder))
        sys(::umount2(fmt::format("/proc/self/fd/{}/{}", folder, name).c_str(), MNT_DETACH | UMOUNT_NOFOLLOW),
            "unmount a network namespace");
    if (const int code = removeFile(folder, name.c_str()); code != 0 && code != ENOENT)
        failWith(code, "remove {}", name);
}

}  // namespace

NetworkPin::NetworkPin(int network, Journal& journal) noexcept : journal_(nullptr) {
    if (!journal.isOpen())
        return;
    try {
        name_ = fmt::format("{}{}", kPrefix, kernel::namespaceInode(network));
        journal.record({"pin", name_});
        const UniqueFd place = createReplacing(journal.directory(), name_, O_WRONLY, 0);
        journal_ = &journal;
        kernel::attachMount(kernel::cloneMount(network).get(), place.get());
    } catch (const std::exception&) {
        return;  // criu may lack the right to mount; only a killed restore then loses its devices
    }
}

NetworkPin::~NetworkPin() {
    if (journal_ == nullptr || !journal_->isOpen())
        return;
    try {
        remove(name_, journal_->directory());
    } catch (const std::exception&) {
        return;  // criu rescue tries again
    }
}

void NetworkPin::recordMove(const kernel::NetworkLink& before, std::uint32_t index, int home) const noexcept {
    if (journal_ == nullptr)
        return;
    try {
        journal_->record(JournalLine{"moved", name_, fmt::format("{}", kernel::namespaceInode(home)),
                                     fmt::format("{}", index), fmt::format("{}", before.index), before.name,
                                     fmt::format("{}", before.flags), fmt::format("{}", before.mtu),
                                     toHex(before.address)});
    } catch (const std::exception&) {
        return;  // as in the constructor
    }
}

bool returnDevice(const JournalLine& line, int folder) {
    if (line.size() != kMovedFields)
        fail("the journal is damaged: a line about a moved device has {} fields", line.size());
    const UniqueFd network = openPin(pinOf(line), folder);
    const UniqueFd home = kernel::openOwnNamespace(kernel::NamespaceKind::Net);
    if (!network)
        return false;
    if (kernel::namespaceInode(home.get()) != numberOf(line[2]))
        fail("network device {} is of another network namespace", printable(line[5]));
    const auto index = static_cast<std::uint32_t>(numberOf(line[3]));
    bool found = false;
    kernel::runInThread([&] {
        const kernel::NamespaceVisit visit(network.get(), kernel::NamespaceKind::Net);
        const std::vector<kernel::NetworkLink> links = kernel::readLinks();
        found = std::any_of(links.begin(), links.end(), [&](const auto& link) { return link.index == index; });
        if (!found)
            return;  // killed before the move
        const auto address = parseHex(line[8]);
        if (!address)
            fail("the journal is damaged: {} is no hardware address", printable(line[8]));
        kernel::changeLink(index, {.flags = 0});
        kernel::changeLink(index, {.flags = static_cast<std::uint32_t>(numberOf(line[6])),
                                   .mtu = static_cast<std::uint32_t>(numberOf(line[7])),
                                   .address = *address,
                                   .network = home.get(),
                                   .newIndex = static_cast<std::uint32_t>(numberOf(line[4])),
                                   .newName = line[5]});
    });
    return found;
}

void removePin(const JournalLine& line, int folder) {
    if (line.size() != kPinFields)
        fail("the journal is damaged: a line about a mount has {} fields", line.size());
    remove(pinOf(line), folder);
}

}  // namespace criu::namespaces
