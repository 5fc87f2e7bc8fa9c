// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/catalogue.hpp"

#include <array>

#include <fmt/format.h>

#include "images/apparmor.hpp"
#include "images/autofs.hpp"
#include "images/binfmt-misc.hpp"
#include "images/bpfmap-data.hpp"
#include "images/cgroup.hpp"
#include "images/checksums.hpp"
#include "images/core.hpp"
#include "images/cpuinfo.hpp"
#include "images/encryption.hpp"
#include "images/fdinfo.hpp"
#include "images/file-lock.hpp"
#include "images/fs.hpp"
#include "images/ghost-file.hpp"
#include "images/inventory.hpp"
#include "images/ipc-mqueue.hpp"
#include "images/ipc-msg.hpp"
#include "images/ipc-sem.hpp"
#include "images/ipc-shm.hpp"
#include "images/ipc-var.hpp"
#include "images/mm.hpp"
#include "images/mnt.hpp"
#include "images/netdev.hpp"
#include "images/pagemap.hpp"
#include "images/pidns.hpp"
#include "images/pipe-data.hpp"
#include "images/pstree.hpp"
#include "images/remap-file-path.hpp"
#include "images/seccomp.hpp"
#include "images/sk-packet.hpp"
#include "images/stats.hpp"
#include "images/timens.hpp"
#include "images/tmpfs-files.hpp"
#include "images/userns.hpp"
#include "images/utsns.hpp"

namespace criu {
namespace {

template <Message T>
constexpr const ProtobufCMessageDescriptor* of() noexcept {
    return MessageTraits<T>::descriptor;
}

using enum ImageKind;
using enum Framing;

// Table of all image kinds. Row N describes the enumerator with the value N.
constexpr auto kCatalogue = std::to_array<ImageInfo>({
    {Inventory, "inventory.img", "INVENTORY", 0x58313116, TypeMagic, of<InventoryEntry>()},
    {Checksums, "checksums-{}.img", "CHECKSUMS", 0x4c1d5e28, Common, of<ChecksumsHead>()},
    {Encryption, "encryption.img", "ENCRYPTION", 0x4c1d5e29, Common, of<EncryptionHead>()},
    {Encrypted, "encrypted-{}.img", "ENCRYPTED", 0x4c1d5e2a, Common, of<EncryptedFileEntry>()},
    {PagesEncryption, "encryption-pages.img", "ENCRYPTION", 0x4c1d5e29, Common, of<EncryptionHead>()},
    {EncryptedPages, "encrypted-pages-{}.img", "ENCRYPTED", 0x4c1d5e2a, Common, of<EncryptedFileEntry>()},
    {Signature, "signature.img", "SIGNATURE", 0x4c1d5e2b, Common, of<SignatureEntry>()},
    {StatsDump, "stats-dump", "STATS", 0x57093306, Service, of<StatsEntry>()},
    {StatsRestore, "stats-restore", "STATS", 0x57093306, Service, of<StatsEntry>()},
    {IrmapCache, "irmap-cache", "IRMAP_CACHE", 0x57004059, Service, of<IrmapCacheEntry>()},
    {Cpuinfo, "cpuinfo.img", "CPUINFO", 0x61404013, Common, of<CpuinfoEntry>()},

    {Pstree, "pstree.img", "PSTREE", 0x50273030, Common, of<PstreeEntry>()},
    {Core, "core-{}.img", "CORE", 0x55053847, Common, of<CoreEntry>()},
    {Ids, "ids-{}.img", "IDS", 0x54432030, Common, of<TaskKobjIdsEntry>()},
    {Mm, "mm-{}.img", "MM", 0x57492820, Common, of<MmEntry>()},
    {Fs, "fs-{}.img", "FS", 0x51403912, Common, of<FsEntry>()},
    {Fdinfo, "fdinfo-{}.img", "FDINFO", 0x56213732, Common, of<FdinfoEntry>()},
    {Seccomp, "seccomp.img", "SECCOMP", 0x64413049, Common, of<SeccompEntry>()},
    {Apparmor, "apparmor.img", "APPARMOR", 0x59423047, Common, of<ApparmorEntry>()},
    {Cgroup, "cgroup.img", "CGROUP", 0x59383330, Common, of<CgroupEntry>()},
    {FileLocks, "filelocks.img", "FILE_LOCKS", 0x54323616, Common, of<FileLockEntry>()},

    {Pagemap, "pagemap-{}.img", "PAGEMAP", 0x56084025, Common, of<PagemapHead>()},
    {ShmemPagemap, "pagemap-shmem-{}.img", "PAGEMAP", 0x56084025, Common, of<PagemapHead>()},
    {FilesPagemap, "pagemap-tmpfs-{}.img", "PAGEMAP", 0x56084025, Common, of<PagemapHead>()},
    {DevicePagemap, "pagemap-device-{}.img", "PAGEMAP", 0x56084025, Common, of<PagemapHead>()},
    {Pages, "pages-{}.img", "", 0, Raw, nullptr},
    {Memfd, "memfd.img", "MEMFD_INODE", 0x48453499, Common, of<MemfdInodeEntry>()},

    {Files, "files.img", "FILES", 0x56303138, Common, of<FileEntry>()},
    {RemapFpath, "remap-fpath.img", "REMAP_FPATH", 0x59133954, Common, of<RemapFilePathEntry>()},
    {GhostFile, "ghost-file-{:x}.img", "GHOST_FILE", 0x52583605, Common, of<GhostFileEntry>()},
    {TcpStream, "tcp-stream-{:x}.img", "TCP_STREAM", 0x51465506, Common, of<TcpStreamEntry>()},
    {SkQueues, "sk-queues.img", "SK_QUEUES", 0x56264026, Common, of<SkPacketEntry>()},
    {PipesData, "pipes-data.img", "PIPES_DATA", 0x56453709, Common, of<PipeDataEntry>()},
    {FifoData, "fifo-data.img", "FIFO_DATA", 0x59333054, Common, of<PipeDataEntry>()},
    {TtyInfo, "tty-info.img", "TTY_INFO", 0x59453036, Common, of<TtyInfoEntry>()},
    {TtyData, "tty-data.img", "TTY_DATA", 0x59413026, Common, of<TtyDataEntry>()},
    {BpfmapFile, "bpfmap-file.img", "BPFMAP_FILE", 0x57506142, Common, of<BpfmapFileEntry>()},
    {BpfmapData, "bpfmap-data.img", "BPFMAP_DATA", 0x64324033, Common, of<BpfmapDataEntry>()},
    {Pidfd, "pidfd.img", "PIDFD", 0x54435556, Common, of<PidfdEntry>()},

    {Utsns, "utsns-{}.img", "UTSNS", 0x54473203, Common, of<UtsnsEntry>()},
    {Userns, "userns-{}.img", "USERNS", 0x55474906, Common, of<UsernsEntry>()},
    {Timens, "timens-{}.img", "TIMENS", 0x43114433, Common, of<TimensEntry>()},
    {Pidns, "pidns-{}.img", "PIDNS", 0x61157326, Common, of<PidnsEntry>()},
    {IpcVar, "ipcns-var-{}.img", "IPC_VAR", 0x53115007, Common, of<IpcVarEntry>()},
    {IpcShm, "ipcns-shm-{}.img", "IPCNS_SHM", 0x46283044, Common, of<IpcShmEntry>()},
    {IpcMsg, "ipcns-msg-{}.img", "IPCNS_MSG", 0x55453737, Common, of<IpcMsgEntry>()},
    {IpcSem, "ipcns-sem-{}.img", "IPCNS_SEM", 0x59573019, Common, of<IpcSemEntry>()},
    {IpcMqueue, "ipcns-mqueue-{}.img", "IPCNS_MQUEUE", 0x3b6f10d4, Common, of<PosixQueueEntry>()},
    {Mountpoints, "mountpoints-{}.img", "MNTS", 0x55563928, Common, of<MntEntry>()},
    {Tmpfs, "tmpfs-{}.tar.gz.img", "", 0, Raw, nullptr, true},
    {TmpfsDev, "tmpfs-dev-{}.tar.gz.img", "", 0, Raw, nullptr},
    {TmpfsFiles, "tmpfs-files-{}.img", "TMPFS_FILES", 0x4c1d5e27, Common, of<TmpfsFileEntry>()},
    {Autofs, "autofs-{}.img", "AUTOFS", 0x49353943, Common, of<AutofsEntry>()},
    {BinfmtMisc, "binfmt-misc.img", "BINFMT_MISC", 0x67343323, Common, of<BinfmtMiscEntry>()},
    {BinfmtMiscOld, "binfmt-misc-{}.img", "BINFMT_MISC", 0x67343323, Common, of<BinfmtMiscEntry>(), true},
    {Netns, "netns-{}.img", "NETNS", 0x55933752, Common, of<NetnsEntry>()},
    {Netdev, "netdev-{}.img", "NETDEV", 0x57373951, Common, of<NetDeviceEntry>()},
    {Ifaddr, "ifaddr-{}.img", "", 0, Raw, nullptr},
    {Route, "route-{}.img", "", 0, Raw, nullptr},
    {Route6, "route6-{}.img", "", 0, Raw, nullptr},
    {Rule, "rule-{}.img", "", 0, Raw, nullptr},
    {Iptables, "iptables-{}.img", "", 0, Raw, nullptr},
    {Ip6tables, "ip6tables-{}.img", "", 0, Raw, nullptr},
    {Nftables, "nftables-{}.img", "", 0, Raw, nullptr},
    {Conntrack, "netns-ct-{}.img", "", 0, Raw, nullptr},
    {ConntrackExpect, "netns-exp-{}.img", "", 0, Raw, nullptr},

    {Creds, "creds-{}.img", "CREDS", 0x54023547, Common, of<CredsEntry>(), true},
    {Sigacts, "sigacts-{}.img", "SIGACT", 0x55344201, Common, of<SaEntry>(), true},
    {Vmas, "vmas-{}.img", "VMAS", 0x54123737, Common, of<VmaEntry>(), true},
    {Rlimit, "rlimit-{}.img", "RLIMIT", 0x57113925, Common, of<RlimitEntry>(), true},
    {Itimers, "itimers-{}.img", "ITIMERS", 0x57464056, Common, of<ItimerEntry>(), true},
    {PosixTimers, "posix-timers-{}.img", "POSIX_TIMERS", 0x52603957, Common, of<PosixTimerEntry>(), true},
    {Signal, "signal-s-{}.img", "SIGNAL", 0x59255647, Common, of<SiginfoEntry>(), true},
    {PendingSignal, "signal-p-{}.img", "PSIGNAL", 0x59255647, Common, of<SiginfoEntry>(), true},
    {InotifyWd, "inotify-wd.img", "INOTIFY_WD", 0x54562009, Common, of<InotifyWdEntry>(), true},
    {FanotifyMark, "fanotify-mark.img", "FANOTIFY_MARK", 0x56506035, Common, of<FanotifyMarkEntry>(), true},
    {EventpollTfd, "eventpoll-tfd.img", "EVENTPOLL_TFD", 0x44433746, Common, of<EventpollTfdEntry>(), true},

    {RegFiles, "reg-files.img", "REG_FILES", 0x50363636, Common, of<RegFileEntry>(), true},
    {Inetsk, "inetsk.img", "INETSK", 0x56443851, Common, of<InetSkEntry>(), true},
    {NsFiles, "ns-files.img", "NS_FILES", 0x61394011, Common, of<NsFileEntry>(), true},
    {PacketSk, "packetsk.img", "PACKETSK", 0x60454618, Common, of<PacketSockEntry>(), true},
    {NetlinkSk, "netlinksk.img", "NETLINK_SK", 0x58005614, Common, of<NetlinkSkEntry>(), true},
    {Eventfd, "eventfd.img", "EVENTFD_FILE", 0x44523722, Common, of<EventfdFileEntry>(), true},
    {Eventpoll, "eventpoll.img", "EVENTPOLL_FILE", 0x45023858, Common, of<EventpollFileEntry>(), true},
    {Signalfd, "signalfd.img", "SIGNALFD", 0x57323820, Common, of<SignalfdEntry>(), true},
    {Tunfile, "tunfile.img", "TUNFILE", 0x57143751, Common, of<TunfileEntry>(), true},
    {Timerfd, "timerfd.img", "TIMERFD", 0x50493712, Common, of<TimerfdEntry>(), true},
    {Inotify, "inotify.img", "INOTIFY_FILE", 0x48424431, Common, of<InotifyFileEntry>(), true},
    {Fanotify, "fanotify.img", "FANOTIFY_FILE", 0x55096122, Common, of<FanotifyFileEntry>(), true},
    {ExtFiles, "ext-files.img", "EXT_FILES", 0x59255641, Common, of<ExtFileEntry>(), true},
    {Unixsk, "unixsk.img", "UNIXSK", 0x54373943, Common, of<UnixSkEntry>(), true},
    {Fifo, "fifo.img", "FIFO", 0x58364939, Common, of<FifoEntry>(), true},
    {Pipes, "pipes.img", "PIPES", 0x56513555, Common, of<PipeEntry>(), true},
    {Tty, "tty.img", "TTY_FILES", 0x59433025, Common, of<TtyFileEntry>(), true},
});

constexpr bool rowsFollowEnumerators() noexcept {
    for (std::size_t row = 0; row < kCatalogue.size(); ++row)
        if (kCatalogue[row].kind != static_cast<ImageKind>(row))
            return false;
    return kCatalogue.back().kind == Tty;
}
static_assert(rowsFollowEnumerators());

}  // namespace

const ImageInfo& imageInfo(ImageKind kind) noexcept {
    return kCatalogue[static_cast<std::size_t>(kind)];
}

std::span<const ImageInfo> imageCatalogue() noexcept {
    return kCatalogue;
}

std::string imageName(ImageKind kind, std::uint64_t id) {
    return fmt::format(fmt::runtime(imageInfo(kind).name), id);
}

}  // namespace criu
