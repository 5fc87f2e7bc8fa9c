// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <protobuf-c/protobuf-c.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace criu {

/// Every kind of file a checkpoint may consist of. Names are those of the files, not of the messages in them.
enum class ImageKind : std::uint8_t {
    Inventory,
    Checksums,
    Encryption,
    Encrypted,
    PagesEncryption,
    EncryptedPages,
    Signature,
    StatsDump,
    StatsRestore,
    IrmapCache,
    Cpuinfo,
    // the process tree
    Pstree,
    Core,
    Ids,
    Mm,
    Fs,
    Fdinfo,
    Seccomp,
    Apparmor,
    Cgroup,
    FileLocks,
    // memory
    Pagemap,
    ShmemPagemap,
    FilesPagemap,
    DevicePagemap,
    Pages,
    Memfd,
    // open files
    Files,
    RemapFpath,
    GhostFile,
    TcpStream,
    SkQueues,
    PipesData,
    FifoData,
    TtyInfo,
    TtyData,
    BpfmapFile,
    BpfmapData,
    Pidfd,
    // namespaces
    Utsns,
    Userns,
    Timens,
    Pidns,
    IpcVar,
    IpcShm,
    IpcMsg,
    IpcSem,
    IpcMqueue,
    Mountpoints,
    Tmpfs,
    TmpfsDev,
    TmpfsFiles,
    Autofs,
    BinfmtMisc,
    BinfmtMiscOld,
    Netns,
    Netdev,
    Ifaddr,
    Route,
    Route6,
    Rule,
    Iptables,
    Ip6tables,
    Nftables,
    Conntrack,
    ConntrackExpect,
    // parts of a process that older versions kept in files of their own: read, never written
    Creds,
    Sigacts,
    Vmas,
    Rlimit,
    Itimers,
    PosixTimers,
    Signal,
    PendingSignal,
    InotifyWd,
    FanotifyMark,
    EventpollTfd,
    // open files by type, from before files.img: read, never written
    RegFiles,
    Inetsk,
    NsFiles,
    PacketSk,
    NetlinkSk,
    Eventfd,
    Eventpoll,
    Signalfd,
    Tunfile,
    Timerfd,
    Inotify,
    Fanotify,
    ExtFiles,
    Unixsk,
    Fifo,
    Pipes,
    Tty,
};

/// What stands in front of the first record.
enum class Framing : std::uint8_t {
    Raw,        ///< Nothing, and no records either: the file is another program's format, or page contents.
    TypeMagic,  ///< The kind's magic only (inventory).
    Common,     ///< kCommonMagic, then the kind's magic.
    Service,    ///< kServiceMagic, then the kind's magic. Such files live in the work directory.
};

inline constexpr std::uint32_t kCommonMagic = 0x54564319;
inline constexpr std::uint32_t kServiceMagic = 0x55105940;

/// inventory_entry.img_version: old images have no magic in front of the kind's one.
enum class ImageVersion : std::uint32_t { V1 = 1, V1_1 = 2 };

/// Of checkpoints that CRIU 4.2 can't read, which says so when it meets the number: in all but what the inventory's
/// extensions name they are as V1_1.
inline constexpr std::uint32_t kExtendedVersion = 4200;

/// The facts about one kind of image.
struct ImageInfo {
    ImageKind kind;
    std::string_view name;  ///< fmt template of the file name, with one {} or {:x} when files are numbered.
    std::string_view tag;   ///< The name of the magic in crit's JSON, "" for raw files.
    std::uint32_t magic;    ///< 0 for raw files.
    Framing framing;
    const ProtobufCMessageDescriptor* record;  ///< Message of the (first) record, null for raw files.
    bool legacy = false;                       ///< Only old images have it.

    [[nodiscard]] constexpr bool numbered() const noexcept { return name.find('{') != std::string_view::npos; }
};

/// The row of a kind.
const ImageInfo& imageInfo(ImageKind kind) noexcept;

/// All rows, in the order of the enumerators.
std::span<const ImageInfo> imageCatalogue() noexcept;

/// File name of an image. `id` is what the kind is numbered by (virtual pid or tid, files id, namespace id, pages id,
/// inode …); 0 for kinds that have only one file.
std::string imageName(ImageKind kind, std::uint64_t id = 0);

}  // namespace criu
