// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/probe/features.hpp"

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/kernel/probe/feature_cache.hpp"
#include "criu/kernel/probe/probes.hpp"

namespace criu::kernel {

namespace {

using enum CheckClass;

bool always() {
    return true;
}

constexpr std::array<FeatureInfo, kFeatures> kTable{{
    {Feature::MountIdInFdinfo, "mnt_id", Extra, true, probe::mountIdInFdinfo,
     "fdinfo doesn't say which mount a file is on", "fdinfo names the mount of an open file"},
    {Feature::DirtyTracking, "mem_dirty_track", Extra, true, probe::dirtyTracking,
     "writes can't be tracked: each pre-dump is a whole one (needs Linux 6.7 with userfaultfd and PAGEMAP_SCAN)",
     "pre-dumps find the pages written since the last one"},
    {Feature::AioRemap, "aio_remap", Extra, true, probe::aioRemap, "AIO rings can't be moved to where they were",
     "rings of asynchronous I/O move to their old address"},
    {Feature::TimerfdTicks, "timerfd", Extra, true, probe::timerfdTicks,
     "expirations of a timerfd can't be restored (needs CONFIG_CHECKPOINT_RESTORE)",
     "expirations of timerfds are restored"},
    {Feature::Tun, "tun", ByName, true, probe::tun, "TUN/TAP devices can't be restored with their index",
     "TUN/TAP devices get their index back"},
    {Feature::TunNetNs, "tun_ns", ByName, true, probe::tunNetNs,
     "the network namespace of a TUN/TAP file can't be asked for", "a TUN/TAP file names its network namespace"},
    {Feature::UserNs, "userns", Extra, true, probe::userNs,
     "no user namespaces, or memory layouts can't be restored inside of one", "user namespaces are restored"},
    {Feature::LocksInFdinfo, "fdinfo_lock", Extra, true, probe::locksInFdinfo, "fdinfo doesn't show file locks",
     "fdinfo shows file locks"},
    {Feature::SeccompSuspend, "seccomp_suspend", Extra, true, probe::seccompSuspend,
     "tasks under seccomp can't be dumped (PTRACE_O_SUSPEND_SECCOMP)",
     "the tracer suspends seccomp of a task during a dump"},
    {Feature::SeccompFilters, "seccomp_filters", Extra, true, probe::seccompFilters,
     "seccomp filters can't be read (PTRACE_SECCOMP_GET_FILTER)", "seccomp filters can be read"},
    {Feature::LoginUid, "loginuid", Extra, true, probe::loginUid, "/proc/PID/loginuid can't be unset and restored",
     "the audit login uid is restored"},
    {Feature::CgroupNs, "cgroupns", Extra, true, probe::cgroupNs, "no cgroup namespaces",
     "cgroup namespaces are restored"},
    {Feature::Autofs, "autofs", Experimental, true, probe::autofs,
     "no autofs, or mountinfo doesn't show its pipe (pipe_ino=)", "mountinfo shows the pipe of an autofs mount"},
    {Feature::TcpHalfClosed, "tcp_half_closed", Extra, true, probe::tcpHalfClosed,
     "half-closed TCP connections can't be put into repair mode", "half-closed TCP connections are dumped"},
    {Feature::CompatTasks, "compat_cr", Experimental, true, probe::compatTasks, "32-bit tasks can't be restored",
     "32-bit tasks are restored"},
    {Feature::Uffd, "uffd", Extra, true, probe::uffd, "no userfaultfd: --lazy-pages can't work",
     "--lazy-pages: userfaultfd serves missing pages"},
    {Feature::UffdNonCooperative, "uffd-noncoop", Extra, true, probe::uffdNonCooperative,
     "userfaultfd doesn't report fork, remap, remove and unmap: --lazy-pages can't work",
     "--lazy-pages: userfaultfd reports fork, remap and unmap"},
    {Feature::MapVdso, "can_map_vdso", Extra, true, probe::mapVdso, "the vDSO can't be mapped on demand",
     "the vDSO is mapped at a chosen address"},
    {Feature::SocketNetNs, "sk_ns", Extra, true, probe::socketNetNs,
     "the network namespace of a socket can't be asked for (SIOCGSKNS)", "a socket names its network namespace"},
    {Feature::UnixSocketFile, "sk_unix_file", ByName, true, probe::unixSocketFile,
     "the file of a unix socket can't be opened (SIOCUNIXFILE)", "the file of a bound unix socket can be opened"},
    {Feature::RawSockets, "net_diag_raw", Extra, true, probe::rawSockets, "raw sockets can't be examined",
     "raw sockets are listed"},
    {Feature::NetNsId, "nsid", ByName, true, probe::netNsId, "network namespaces have no ids (RTM_GETNSID)",
     "network namespaces have ids"},
    {Feature::LinkNetNsId, "link_nsid", ByName, true, probe::linkNetNsId,
     "links don't show the namespace of their peer (IFLA_LINK_NETNSID)", "links show the namespace of their peer"},
    {Feature::KcmpEpoll, "kcmp_epoll", Extra, true, probe::kcmpEpoll,
     "epoll targets can't be compared (KCMP_EPOLL_TFD)", "targets of epoll descriptors are found"},
    {Feature::TimeNs, "timens", Extra, true, probe::timeNs, "no time namespaces", "time namespaces are restored"},
    {Feature::ExternalNetNs, "external_net_ns", ByName, true, always, "",
     "a network namespace stays outside of the images (--external net[INODE]:KEY)"},
    {Feature::Clone3SetTid, "clone3_set_tid", Extra, true, probe::clone3SetTid,
     "clone3 can't choose pids: they are restored through ns_last_pid", "processes are created with chosen pids"},
    {Feature::NewIfIndex, "newifindex", Extra, true, probe::newIfIndex,
     "a network device can't get its index back when it moves to another namespace (IFLA_NEW_IFINDEX)",
     "a network device gets its index back in another namespace"},
    {Feature::Nftables, "nftables", ByName, false, probe::nftables, "libnftables isn't installed",
     "tables of nftables are dumped and restored"},
    {Feature::IptablesLegacy, "has_ipt_legacy", ByName, false, probe::iptablesLegacy,
     "no iptables tool of the legacy kind is installed", "rules of legacy iptables are dumped and restored"},
    {Feature::PidfdStore, "pidfd_store", Extra, true, probe::pidfdStore, "no pidfd_open or pidfd_getfd",
     "descriptors are taken from processes by pidfd"},
    {Feature::NsPid, "ns_pid", Extra, true, probe::nsPid, "/proc/PID/status has no NSpid",
     "status shows pids in nested namespaces"},
    {Feature::AppArmorStacking, "apparmor_stacking", Extra, true, probe::appArmorStacking,
     "no AppArmor with stacked namespaces", "stacked AppArmor namespaces are restored"},
    {Feature::NftablesConcat, "network_lock_nftables", Extra, true, probe::nftablesConcat,
     "nftables can't match pairs of address and port: use --network-lock iptables",
     "--network-lock nftables: connections are locked by nftables"},
    {Feature::SocketBufferLock, "sockopt_buf_lock", Extra, true, probe::socketBufferLock,
     "locks of socket buffer sizes can't be restored (SO_BUF_LOCK)", "fixed sizes of socket buffers are restored"},
    {Feature::MemfdHugetlb, "memfd_hugetlb", Extra, true, probe::memfdHugetlb, "no memfd with huge pages",
     "memfds with huge pages are restored"},
    {Feature::MoveMountSetGroup, "move_mount_set_group", Extra, true, probe::moveMountSetGroup,
     "mounts can't be put into a sharing group (MOVE_MOUNT_SET_GROUP): mount namespaces can't be restored",
     "mounts get their propagation groups back"},
    {Feature::Openat2, "openat2", Extra, true, probe::openat2, "no openat2",
     "files are opened without leaving a directory"},
    {Feature::RseqConfiguration, "get_rseq_conf", Extra, true, probe::rseqConfiguration,
     "tasks that use rseq can't be dumped (PTRACE_GET_RSEQ_CONFIGURATION)",
     "restartable sequences (rseq) of a task can be read"},
    {Feature::Ipv6Freebind, "ipv6_freebind", Extra, true, probe::ipv6Freebind, "no IPV6_FREEBIND",
     "IPv6 sockets bind to addresses that aren't configured"},
    {Feature::PagemapScan, "pagemap_scan", Extra, true, probe::pagemapScan,
     "no PAGEMAP_SCAN: memory is looked up page by page", "pages with content are found in bulk"},
    {Feature::TimerRestoreIds, "timer_cr_ids", Extra, true, probe::timerRestoreIds,
     "POSIX timers can't be created with a chosen id: restore tries all ids before it",
     "POSIX timers are created with a chosen id"},
    {Feature::OverlayfsMaps, "overlayfs_maps", Extra, true, probe::overlayfsMaps,
     "/proc/PID/maps shows other devices and inodes than stat for files on overlayfs",
     "maps shows files on overlayfs as stat does"},
    {Feature::Breakpoints, "breakpoints", ByName, true, probe::breakpoints, "no hardware breakpoints",
     "hardware breakpoints stop a restored task"},
    {Feature::PagemapScanGuards, "pagemap_scan_guard_pages", Extra, true, probe::pagemapScanGuards,
     "PAGEMAP_SCAN doesn't report guard pages", "guard pages of MADV_GUARD_INSTALL are found"},
    {Feature::MadviseGuard, "madvise_guard", Internal, true, probe::madviseGuard, "no MADV_GUARD_INSTALL"},
    {Feature::MapDroppable, "map_droppable", Internal, true, probe::mapDroppable, "no MAP_DROPPABLE"},
    {Feature::MemfdCreate, "memfd_create", Internal, true, probe::memfdCreate, "no memfd_create"},
    {Feature::ThpDisable, "thp_disable", Internal, true, probe::thpDisable, "no PR_SET_THP_DISABLE"},
    {Feature::PrctlMmMap, "prctl_mm_map", Internal, true, probe::prctlMmMap,
     "no PR_SET_MM_MAP (needs CONFIG_CHECKPOINT_RESTORE)"},
    {Feature::CloseRange, "close_range", Internal, true, probe::closeRange, "no close_range"},
    {Feature::InotifyNextWd, "inotify_next_wd", Internal, true, probe::inotifyNextWd,
     "inotify watches can't get a chosen number (needs CONFIG_CHECKPOINT_RESTORE)"},
    {Feature::MembarrierRegistrations, "membarrier_registrations", Internal, true, probe::membarrierRegistrations,
     "registrations for membarrier can't be read"},
    {Feature::MountApi, "mount_api", Internal, true, probe::mountApi, "no fsopen and fsmount"},
    {Feature::ShadowStack, "shadow_stack", Internal, true, probe::shadowStack, "no shadow stacks for user mode"},
    {Feature::RawDiag, "raw_diag", Internal, true, probe::rawDiag,
     "the kernel doesn't list raw sockets: each must be asked itself (needs CONFIG_INET_RAW_DIAG)"},
}};

consteval bool inOrder() {
    for (std::size_t at = 0; at < kFeatures; ++at)
        if (static_cast<std::size_t>(kTable[at].feature) != at)
            return false;
    return true;
}
static_assert(inOrder());

}  // namespace

std::span<const FeatureInfo, kFeatures> featureTable() noexcept {
    return kTable;
}

Features::Features() : Features(featureCachePath()) {}

Features::Features(std::string cachePath) : cachePath_(std::move(cachePath)) {}

Features::~Features() {
    save();
}

void Features::load() {
    loaded_ = true;
    if (cachePath_.empty())
        return;
    try {
        key_ = featureCacheKey();
        const auto text = readFeatureCache(cachePath_);
        const auto names = text ? parseFeatureCache(*text, key_) : std::nullopt;
        if (!names)
            return;
        for (const FeatureInfo& info : kTable)
            if (info.cached && std::find(names->begin(), names->end(), info.name) != names->end())
                states_[static_cast<std::size_t>(info.feature)] = State::Yes;
    } catch (const Error&) {
        // Without a readable cache, criu probes every feature.
        cachePath_.clear();
    }
}

bool Features::has(Feature feature) {
    const std::scoped_lock lock(mutex_);
    if (!loaded_)
        load();
    const FeatureInfo& info = kTable[static_cast<std::size_t>(feature)];
    State& state = states_[static_cast<std::size_t>(feature)];
    if (state == State::Unknown) {
        try {
            state = info.probe() ? State::Yes : State::No;
        } catch (const Error&) {
            // If the probe fails, criu treats the feature as missing.
            state = State::No;
        }
        news_ = news_ || (state == State::Yes && info.cached);
    }
    return state == State::Yes;
}

void Features::require(Feature feature) {
    if (!has(feature))
        failWith(ENOTSUP, "{}", kTable[static_cast<std::size_t>(feature)].lack);
}

void Features::save() noexcept {
    const std::scoped_lock lock(mutex_);
    if (!news_ || cachePath_.empty())
        return;
    news_ = false;
    try {
        std::vector<std::string_view> names;
        for (const FeatureInfo& info : kTable)
            if (info.cached && states_[static_cast<std::size_t>(info.feature)] == State::Yes)
                names.push_back(info.name);
        writeFeatureCache(cachePath_, key_, names);
    } catch (const std::exception&) {
        // Ignores a write failure: the next run probes again, which takes some milliseconds.
    }
}

}  // namespace criu::kernel
