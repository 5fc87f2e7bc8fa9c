// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/images/untrusted_images.hpp"

#include <linux/sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/files/ghost_file.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/mount/mount_tree.hpp"
#include "criu/namespaces/ns_ids.hpp"
#include "images/core.hpp"
#include "images/creds.hpp"
#include "images/fdinfo.hpp"
#include "images/ghost-file.hpp"
#include "images/inventory.hpp"
#include "images/netdev.hpp"
#include "images/remap-file-path.hpp"
#include "images/tty.hpp"
#include "images/userns.hpp"

namespace criu::engine {
namespace {

using kernel::NamespaceKind;

[[noreturn]] void refuse(std::string_view image, std::string_view what, std::string_view remedy) {
    Error error(EPERM, fmt::format("{}: {}, which --untrusted forbids", image, what));
    error.addHint(remedy);
    throw error;
}

constexpr std::string_view kTrust = "restore without --untrusted if you trust the author of the images";

/// Kinds of open files that namespaces of the tree confine.
constexpr FdTypes kConfined[] = {
    FD_TYPES__REG,     FD_TYPES__PIPE,      FD_TYPES__FIFO,        FD_TYPES__INETSK,   FD_TYPES__UNIXSK,
    FD_TYPES__EVENTFD, FD_TYPES__EVENTPOLL, FD_TYPES__INOTIFY,     FD_TYPES__SIGNALFD, FD_TYPES__PACKETSK,
    FD_TYPES__TTY,     FD_TYPES__NETLINKSK, FD_TYPES__NS,          FD_TYPES__TIMERFD,  FD_TYPES__MEMFD,
    FD_TYPES__PIDFD,   FD_TYPES__IO_URING,  FD_TYPES__POSIX_QUEUE,
};

/// File system types that a root of a user namespace may mount.
constexpr Fstype kMountable[] = {
    FSTYPE__PROC,   FSTYPE__SYSFS,  FSTYPE__TMPFS,   FSTYPE__DEVPTS,
    FSTYPE__MQUEUE, FSTYPE__CGROUP, FSTYPE__CGROUP2, FSTYPE__OVERLAYFS,
};

template <typename List, typename Value>
bool contains(const List& all, Value wanted) {
    return std::find(std::begin(all), std::end(all), wanted) != std::end(all);
}

std::string nameOfKind(FdTypes type) {
    const ProtobufCEnumValue* const value =
        ::protobuf_c_enum_descriptor_get_value(&fd_types__descriptor, static_cast<int>(type));
    return value != nullptr ? value->name : std::to_string(static_cast<int>(type));
}

bool isNamed(const model::Options& options, model::ExternalType type, std::string_view id) {
    return std::any_of(options.externals.begin(), options.externals.end(),
                       [&](const model::External& external) { return external.type == type && external.id == id; });
}

int ownOomScore() {
    return std::stoi(kernel::ProcDir().self().readFile("oom_score_adj"));
}

/// Throws Error if one range of host ids isn't within the allowed range.
void requireRange(const UidGidExtent& extent, const model::IdRange& allowed, std::string_view image,
                  std::string_view what) {
    const std::uint64_t first = extent.lower_first;
    const std::uint64_t end = first + extent.count;
    if (extent.count == 0 || (first >= allowed.first && end <= std::uint64_t{allowed.last} + 1))
        return;
    refuse(image,
           fmt::format("{} {} to {} of the host are in use, but the range is {}-{}", what, first, end - 1,
                       allowed.first, allowed.last),
           "give a range that holds all ids of the tree, and that no other user of the host has");
}

}  // namespace

void UntrustedRules::requireImages(const RestoreImages& content, const ImageDir& images) const {
    std::set<std::uint32_t> users;
    std::set<std::uint32_t> mounts;
    std::set<std::uint32_t> networks;
    for (const auto& task : content.tree.tasks) {
        if (!task->alive())
            continue;
        const auto pid = static_cast<std::uint64_t>(task->pid.value);
        const TaskKobjIdsEntry& ids = **task->ids;
        requireNamespaces(ids, imageName(ImageKind::Ids, pid));
        users.insert(ids.user_ns_id);
        mounts.insert(ids.mnt_ns_id);
        networks.insert(ids.net_ns_id);
        requireProcess(*task->core().tc, imageName(ImageKind::Core, pid));
        for (const model::Thread& thread : task->threads)
            requireThread(*(*thread.core)->thread_core,
                          imageName(ImageKind::Core, static_cast<std::uint64_t>(thread.tid.value)));
    }
    for (const std::uint32_t number : users)
        requireUsers(*images.openRequired(ImageKind::Userns, number).only<UsernsEntry>(),
                     imageName(ImageKind::Userns, number));
    for (const std::uint32_t number : mounts) {
        const auto entries = images.openRequired(ImageKind::Mountpoints, number).all<MntEntry>();
        std::vector<const MntEntry*> all;
        for (const auto& entry : entries)
            all.push_back(entry.get());
        const auto tree = namespaces::MountTree::fromImage(all, {});
        requireMounts(tree, images.exists(ImageKind::TmpfsDev, tree.root().device),
                      imageName(ImageKind::Mountpoints, number));
    }
    for (const std::uint32_t number : networks)
        if (auto devices = images.openRead(ImageKind::Netdev, number))
            for (const auto& device : devices->all<NetDeviceEntry>())
                requireDevice(*device, imageName(ImageKind::Netdev, number));
    for (const auto& [id, file] : content.files)
        requireFile(*file);
    requireTerminals(images);
    requireDeletedFiles(images);
}

bool UntrustedRules::isOutside(std::uint32_t number) const {
    for (std::size_t kind = 0; kind < kernel::kNamespaceKinds; ++kind)
        if (outside_ == nullptr || namespaces::numberOf(*outside_, static_cast<NamespaceKind>(kind)) == number)
            return true;
    return false;
}

void UntrustedRules::requireNamespaces(const TaskKobjIdsEntry& ids, std::string_view image) const {
    for (const NamespaceKind kind :
         {NamespaceKind::User, NamespaceKind::Mount, NamespaceKind::Net, NamespaceKind::Ipc, NamespaceKind::Pid}) {
        if (kind == NamespaceKind::Pid && options_.newPidNamespace)
            continue;
        if (namespaces::ownNumberOf(outside_, &ids, kind) == 0)
            refuse(image, fmt::format("the process is in criu's {} namespace", kernel::namespaceName(kind)),
                   "dump a container with private user, mnt, net, ipc and pid namespaces");
    }
}

void UntrustedRules::requireUsers(const UsernsEntry& users, std::string_view image) const {
    if (users.has_parent != 0 && users.parent != 0 && !isOutside(users.parent))
        return;
    const model::IdRange& allowed = *options_.untrusted;
    for (const UidGidExtent* const extent : list(users.uid_map, users.n_uid_map))
        requireRange(*extent, allowed, image, "users");
    for (const UidGidExtent* const extent : list(users.gid_map, users.n_gid_map))
        requireRange(*extent, allowed, image, "groups");
    if (users.has_owner != 0 && users.owner != 0 && (users.owner < allowed.first || users.owner > allowed.last))
        refuse(image, fmt::format("user {} of the host owns the namespace", users.owner), kTrust);
}

void UntrustedRules::requireThread(const ThreadCoreEntry& thread, std::string_view image) const {
    if (thread.creds != nullptr && thread.creds->lsm_profile != nullptr && !options_.lsmProfile)
        refuse(image, fmt::format("the thread has the label '{}'", thread.creds->lsm_profile),
               "name the label with --lsm-profile");
    constexpr std::uint32_t kOrdinary[] = {SCHED_NORMAL, SCHED_BATCH, SCHED_IDLE};
    if (thread.has_sched_policy != 0 && !contains(kOrdinary, thread.sched_policy))
        refuse(image, fmt::format("the thread has scheduling policy {}", thread.sched_policy), kTrust);
    if (thread.has_sched_nice != 0 && thread.sched_nice < ::getpriority(PRIO_PROCESS, 0))
        refuse(image, fmt::format("the thread has nice value {}", thread.sched_nice),
               "start criu with this nice value (nice(1))");
    constexpr unsigned kIoClassShift = 13;    // IOPRIO_CLASS_SHIFT; linux/ioprio.h isn't valid C++ in some versions
    constexpr unsigned kRealTimeIoClass = 1;  // IOPRIO_CLASS_RT
    if (thread.has_io_priority != 0 && static_cast<unsigned>(thread.io_priority) >> kIoClassShift == kRealTimeIoClass)
        refuse(image, "the thread has a real-time I/O priority", kTrust);
}

void UntrustedRules::requireProcess(const TaskCoreEntry& process, std::string_view image) const {
    const auto limits = process.rlimits != nullptr ? list(process.rlimits->rlimits, process.rlimits->n_rlimits)
                                                   : std::span<RlimitEntry* const>();
    for (std::size_t number = 0; number < std::min<std::size_t>(limits.size(), RLIM_NLIMITS); ++number) {
        rlimit own{};
        sys(::getrlimit(static_cast<__rlimit_resource>(number), &own), "read own resource limit {}", number);
        if (limits[number]->max > own.rlim_max)
            refuse(image,
                   fmt::format("resource limit {} is {}, but criu has {}", number, limits[number]->max, own.rlim_max),
                   "raise the hard limit of criu (prlimit(1))");
    }
    if (process.has_oom_score_adj != 0 && process.oom_score_adj < ownOomScore())
        refuse(image, fmt::format("the process has OOM score {}", process.oom_score_adj),
               "start criu with this oom_score_adj (choom(1))");
    if (process.has_autogroup_nice != 0 && process.autogroup_nice < 0)
        refuse(image, fmt::format("the session has nice value {}", process.autogroup_nice), kTrust);
}

void UntrustedRules::requireFile(const FileEntry& file) const {
    const std::string image = fmt::format("{}: file {}", imageName(ImageKind::Files), file.id);
    if (!contains(kConfined, file.type))
        refuse(image, fmt::format("it is of kind {}", nameOfKind(file.type)), "close such files before the dump");
    if (const auto network = networkOf(file); network && *network != 0 && isOutside(*network))
        refuse(image, "it belongs to criu's network namespace", kTrust);
    if (file.nsf != nullptr && (file.nsf->ns_id == 0 || isOutside(file.nsf->ns_id)))
        refuse(image, "it is a namespace of criu", "close such descriptors before the dump");
}

void UntrustedRules::requireMounts(const namespaces::MountTree& mounts, bool hasFiles, std::string_view image) const {
    for (const namespaces::Mount& mount : mounts.all()) {
        const std::string one = fmt::format("{}: {}", image, mount.describe());
        if (mounts.isRoot(mount)) {
            if (!options_.root && !hasFiles)
                refuse(one, "it would be criu's root directory", "name a directory with --root");
            continue;
        }
        if (mount.ofPlugin)
            refuse(one, "a plugin mounts it", kTrust);
        if (mount.externalName == namespaces::kFoundByItself)
            refuse(one, fmt::format("the images choose its source, {}", mount.source),
                   fmt::format("dump it with --external mnt[{}]:NAME", mount.mountPoint));
        if (mount.externalName)
            continue;  // a restore uses only paths that --external gives
        const bool isNew = mount.kind.content != namespaces::FsContent::Unknown;
        if (isNew && !contains(kMountable, mount.kind.code))
            refuse(one, "it shows objects of the host",
                   fmt::format("dump it with --external mnt[{}]:NAME, and give a directory to the restore",
                               mount.mountPoint));
        if (mount.kind.code == FSTYPE__DEVPTS && mount.isWhole() &&
            mount.options.find(namespaces::kNewInstance) == std::string::npos)
            refuse(one, "it shows terminals of the host", "mount a new devpts in the container before the dump");
    }
}

void UntrustedRules::requireDevice(const NetDeviceEntry& device, std::string_view image) const {
    const auto refuseUnless = [&](bool named, std::string_view kind) {
        if (!named)
            refuse(fmt::format("{}: device {}", image, device.name), "a part of it is outside of the tree",
                   fmt::format("name this part with --external {}[{}]:VALUE", kind, device.name));
    };
    switch (device.type) {
        case ND_TYPE__VETH:
            return refuseUnless(isNamed(options_, model::ExternalType::Veth, device.name) ||
                                    std::any_of(options_.vethPairs.begin(), options_.vethPairs.end(),
                                                [&](const auto& pair) { return pair.inside == device.name; }),
                                "veth");
        case ND_TYPE__MACVLAN:
            return refuseUnless(isNamed(options_, model::ExternalType::Macvlan, device.name), "macvlan");
        case ND_TYPE__EXTLINK:
            return refuseUnless(isNamed(options_, model::ExternalType::Netdev, device.name), "netdev");
        case ND_TYPE__LOOPBACK:
        case ND_TYPE__BRIDGE:
        case ND_TYPE__PLAIN:
            return;
        default:
            refuse(fmt::format("{}: device {}", image, device.name), "it is of a kind with parts outside of the tree",
                   "remove the device before the dump");
    }
}

void UntrustedRules::requireTerminals(const ImageDir& images) const {
    auto terminals = images.openRead(ImageKind::TtyInfo);
    if (!terminals)
        return;
    constexpr TtyType kConfinedTerminals[] = {TTY_TYPE__PTY, TTY_TYPE__CTTY, TTY_TYPE__EXT_TTY};
    for (const auto& terminal : terminals->all<TtyInfoEntry>())
        if (!contains(kConfinedTerminals, terminal->type))
            refuse(fmt::format("{}: terminal {}", imageName(ImageKind::TtyInfo), terminal->id),
                   "it is a terminal of the host", "give the process a pseudoterminal before the dump");
}

void UntrustedRules::requireDeletedFiles(const ImageDir& images) {
    auto remaps = images.openRead(ImageKind::RemapFpath);
    if (!remaps)
        return;
    for (const auto& remap : remaps->all<RemapFilePathEntry>()) {
        const auto id = files::ghostOf(*remap);
        auto image = id ? images.openRead(ImageKind::GhostFile, *id) : std::nullopt;
        const auto ghost = image ? image->next<GhostFileEntry>() : std::nullopt;
        if (ghost && (S_ISCHR((*ghost)->mode) || S_ISBLK((*ghost)->mode)))
            refuse(image->name(), "the deleted file is a device node", "close such files before the dump");
    }
}

}  // namespace criu::engine
