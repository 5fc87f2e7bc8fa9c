// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <protobuf-c/protobuf-c.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace criu {

/// Kinds of all files in a checkpoint. Enumerators have the names of the files, not of the messages in them.
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
    // state of processes that old versions stored in separate files: criu reads these files and never writes them
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
    // open files by type, from versions without files.img: criu reads these files and never writes them
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

/// Form of the bytes that precede the first record of an image.
enum class Framing : std::uint8_t {
    Raw,        ///< No magic and no records: a file format of another program, or page contents.
    TypeMagic,  ///< Only the magic of the kind (inventory).
    Common,     ///< kCommonMagic, then the magic of the kind.
    Service,    ///< kServiceMagic, then the magic of the kind. Such files are in the work directory.
};

inline constexpr std::uint32_t kCommonMagic = 0x54564319;
inline constexpr std::uint32_t kServiceMagic = 0x55105940;

/// Version of images, which the inventory contains (img_version). Images of V1 have no kCommonMagic or kServiceMagic.
enum class ImageVersion : std::uint32_t { V1 = 1, V1_1 = 2 };

/// Version of checkpoints that CRIU 4.2 can't read: CRIU 4.2 refuses this number. Such checkpoints differ from V1_1
/// only by the extensions that the inventory names.
inline constexpr std::uint32_t kExtendedVersion = 4200;

/// Version of checkpoints with compressed memory, which CRIU 4.3 writes. Such checkpoints differ from V1_1 only in
/// their pagemaps.
inline constexpr std::uint32_t kCompressedVersion = 3;

/// Properties of one kind of image.
struct ImageInfo {
    ImageKind kind;
    std::string_view name;  ///< File name as an fmt template; names with a number contain {} or {:x}.
    std::string_view tag;   ///< Name of the magic in the JSON output of crit; empty for raw files.
    std::uint32_t magic;    ///< Magic of the kind; 0 for raw files.
    Framing framing;
    const ProtobufCMessageDescriptor* record;  ///< Message type of the first record; null for raw files.
    bool legacy = false;                       ///< True if only old versions wrote this kind.

    [[nodiscard]] constexpr bool numbered() const noexcept { return name.find('{') != std::string_view::npos; }
};

/// Returns the properties of a kind.
const ImageInfo& imageInfo(ImageKind kind) noexcept;

/// Returns the properties of all kinds in the order of the enumerators.
std::span<const ImageInfo> imageCatalogue() noexcept;

/// Returns the file name of an image. `id`: number in the name; 0 for kinds without a number. Depending on the kind, it
/// is a pid or tid in the tree, a file id, a namespace id, the number of a pages file, or an inode.
std::string imageName(ImageKind kind, std::uint64_t id = 0);

}  // namespace criu
