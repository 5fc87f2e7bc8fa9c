// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <protobuf-c/protobuf-c.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace criu {

/// Every kind of file in a checkpoint. The names are those of the files, not of their messages.
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
    // parts of a process that older versions stored in files of their own: criu reads them and never writes them
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
    // open files by type, from versions before files.img: criu reads them and never writes them
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

/// Form of the bytes before the first record.
enum class Framing : std::uint8_t {
    Raw,        ///< No magic and no records: a format of another program, or page contents.
    TypeMagic,  ///< The kind's magic only (inventory).
    Common,     ///< kCommonMagic, then the kind's magic.
    Service,    ///< kServiceMagic, then the kind's magic. Such files are in the work directory.
};

inline constexpr std::uint32_t kCommonMagic = 0x54564319;
inline constexpr std::uint32_t kServiceMagic = 0x55105940;

/// Version in inventory_entry.img_version. In old images, no common magic precedes the kind's.
enum class ImageVersion : std::uint32_t { V1 = 1, V1_1 = 2 };

/// Version of checkpoints that CRIU 4.2 can't read and refuses by this number. They differ from V1_1 only in the
/// extensions that the inventory names.
inline constexpr std::uint32_t kExtendedVersion = 4200;

/// Version of checkpoints with compressed memory of CRIU 4.3. They differ from V1_1 only in their pagemaps.
inline constexpr std::uint32_t kCompressedVersion = 3;

/// Properties of one kind of image.
struct ImageInfo {
    ImageKind kind;
    std::string_view name;  ///< fmt template of the file name; numbered files have one {} or {:x}.
    std::string_view tag;   ///< Name of the magic in crit's JSON, "" for raw files.
    std::uint32_t magic;    ///< 0 for raw files.
    Framing framing;
    const ProtobufCMessageDescriptor* record;  ///< Message of the first record, null for raw files.
    bool legacy = false;                       ///< Only old images have it.

    [[nodiscard]] constexpr bool numbered() const noexcept { return name.find('{') != std::string_view::npos; }
};

/// Returns the properties of a kind.
const ImageInfo& imageInfo(ImageKind kind) noexcept;

/// Returns all kinds in the order of the enumerators.
std::span<const ImageInfo> imageCatalogue() noexcept;

/// Returns the file name of an image. `id` is the number of the kind: pid or tid in the tree, files id, namespace
/// id, pages id, inode. It is 0 for kinds with only one file.
std::string imageName(ImageKind kind, std::uint64_t id = 0);

}  // namespace criu
