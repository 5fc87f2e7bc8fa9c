// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/log.hpp"

namespace criu::kernel {
enum class NamespaceKind : std::uint8_t;
}

namespace criu::model {

enum class PageCodec : std::uint8_t;

/// Aspects of the CPU that criu compares between dump and restore. The values are those of the RPC field cpu_cap.
enum class CpuCap : std::uint32_t {
    Fpu = 1,    ///< this CPU must be able to restore the floating point state
    Cpu = 2,    ///< all CPU features must be equal
    Ins = 4,    ///< this CPU must have each instruction set of the images
    Image = 8,  ///< the dump writes cpuinfo.img, and the restore compares this image with its CPU
};

/// Set of CpuCap.
struct CpuCaps {
    std::uint32_t bits = 0;

    constexpr CpuCaps() noexcept = default;
    constexpr CpuCaps(std::initializer_list<CpuCap> caps) noexcept {
        for (const CpuCap cap : caps)
            bits |= static_cast<std::uint32_t>(cap);
    }
    [[nodiscard]] constexpr bool has(CpuCap cap) const noexcept {
        return (bits & static_cast<std::uint32_t>(cap)) != 0;
    }
    constexpr void set(CpuCaps caps) noexcept { bits |= caps.bits; }
    constexpr void clear(CpuCaps caps) noexcept { bits &= ~caps.bits; }
    friend constexpr bool operator==(CpuCaps, CpuCaps) noexcept = default;
};

/// Mode in which criu dumps and restores cgroups (--manage-cgroups).
enum class CgroupMode : std::uint8_t {
    Ignore,  ///< criu neither dumps nor restores cgroups
    None,    ///< the cgroups of restored tasks must exist
    Props,   ///< the cgroups must exist; criu sets their properties
    Soft,    ///< criu creates missing cgroups, and sets properties only of these
    Full,    ///< criu creates missing cgroups and sets all properties
    Strict,  ///< criu creates all cgroups, none of which may exist; it sets all properties
};

/// Method of the network lock, which drops packets of dumped connections from the dump until the restore. Without a
/// lock, the kernel would reset these connections.
enum class NetworkLock : std::uint8_t { Iptables, Nftables, Skip };

/// Method by which a pre-dump copies memory: vmsplice(2) in the task (Splice), or process_vm_readv(2) in criu (Read).
enum class PreDumpMode : std::uint8_t { Splice, Read };

/// Properties of a mapped or open regular file that must be equal at dump and restore.
enum class FileValidation : std::uint8_t {
    FileSize,  ///< size of the file
    BuildId,   ///< size of the file, and its ELF build id if it has one
};

/// State of the tasks after the command (final_state of CRIU).
enum class FinalState : std::uint8_t {
    Default,  ///< a dump kills the tasks, and a restore resumes them
    Stopped,  ///< the tasks are stopped (--leave-stopped)
    Running,  ///< the tasks run (--leave-running)
};

/// Type of an external resource. The images contain the name of the resource, and the user passes the resource to the
/// restore.
enum class ExternalType : std::uint8_t { Mount, Device, File, Pipe, Tty, Unix, Net, Pid, Veth, Macvlan, Netdev };

/// Argument of --external, in the form TYPE[ID][:VALUE]. The meaning of ID and VALUE depends on the type and the
/// command:
/// mnt: dump [mount point]:name (with an empty mount point, criu finds external mounts itself, and the name contains
/// the flags m and s), restore [name]:host path;
/// dev: dump [major/minor]:name, restore [name]:path;
/// file: dump [mount id:inode], in hex;
/// pipe: dump [inode], in decimal; pipe:[inode], as in links of /proc/PID/fd, is equivalent;
/// tty: dump [rdev:dev], in hex;
/// unix: dump [inode], in decimal;
/// net, pid: dump [inode]:name, with the inode in decimal;
/// veth: restore [name inside]:name outside[@bridge];
/// macvlan: restore [name inside]:parent device;
/// netdev: restore [name inside]:name of an existing device.
struct External {
    ExternalType type{};
    std::string id;
    std::optional<std::string> value;
    friend bool operator==(const External&, const External&) = default;
};

/// Argument of --inherit-fd fd[N]:NAME: descriptor `fd` of criu replaces the file `name`. `name` is "pipe:[INO]",
/// "socket:[INO]", "tty[RDEV:DEV]", "file[MNTID:INO]", "/memfd:NAME", "rel/path", or the name of an external namespace.
struct InheritFd {
    int fd = -1;
    std::string name;
    friend bool operator==(const InheritFd&, const InheritFd&) = default;
};

/// Argument of --inherit-fd debug[N]:TEXT: criu writes the text to descriptor `fd` when the restore begins. In an
/// output stream, the text shows where the output of the restored tree begins.
struct InheritMark {
    int fd = -1;
    std::string text;
    friend bool operator==(const InheritMark&, const InheritMark&) = default;
};

/// Argument of --ext-mount-map KEY:VALUE. In a dump, KEY is a mount point and VALUE its name. In a restore, KEY is this
/// name and VALUE a path.
struct ExtMount {
    std::string key;
    std::string value;
    friend bool operator==(const ExtMount&, const ExtMount&) = default;
};

/// Argument of --join-ns KIND:TARGET[,UID,GID]: restored tasks join an existing namespace.
struct JoinNs {
    kernel::NamespaceKind kind{};
    std::string target;  ///< a pid in decimal, or the path of a namespace file
    std::optional<uid_t> uid;
    std::optional<gid_t> gid;  ///< uid and gid of the tasks in a joined user namespace
    friend bool operator==(const JoinNs&, const JoinNs&) = default;
};

/// Argument of --cgroup-root [CONTROLLER:]PATH. An empty controller stands for all controllers without a separate
/// option.
struct CgroupRoot {
    std::string controller;
    std::string path;
    friend bool operator==(const CgroupRoot&, const CgroupRoot&) = default;
};

/// Argument of --veth-pair IN=OUT: names of the two ends of a veth pair.
struct VethPair {
    std::string inside;
    std::string outside;
    friend bool operator==(const VethPair&, const VethPair&) = default;
};

/// Method by which criu reads and writes image files (--image-io-mode).
enum class ImageIo : std::uint8_t {
    Writeback,  ///< reads and writes use the page cache
    Direct,     ///< reads and writes of memory content bypass the page cache (O_DIRECT)
};

/// Argument of --inet-map OLD=NEW: a range of addresses in the images, and the range that replaces it. criu replaces
/// the first `bits` bits of an address. The remaining bits stay unchanged.
struct InetMapping {
    int family = 0;                       ///< AF_INET or AF_INET6
    std::array<std::uint32_t, 4> from{};  ///< network byte order; an AF_INET address uses the first word
    std::array<std::uint32_t, 4> to{};
    unsigned bits = 0;
    friend bool operator==(const InetMapping&, const InetMapping&) = default;
};

enum class LsmKind : std::uint8_t { None, Apparmor, Selinux };

/// Argument of --lsm-profile KIND:PROFILE.
struct LsmProfile {
    LsmKind kind{};
    std::string profile;
    friend bool operator==(const LsmProfile&, const LsmProfile&) = default;
};

/// Argument of --untrusted FROM-TO: a range of ids, without 0.
struct IdRange {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    friend bool operator==(const IdRange&, const IdRange&) = default;
};

/// Argument of --gpu-map OLD=NEW: a GPU of the images and its replacement, with the names that the driver uses.
struct GpuMapping {
    std::string from;
    std::string to;
    friend bool operator==(const GpuMapping&, const GpuMapping&) = default;
};

/// Values of all options of the command line, of configuration files and of a request. criu has checked the form of the
/// values. The code that uses a value checks whether files and processes exist. An option that wasn't given has its
/// default.
struct Options {
    // Options for input and output:
    std::optional<HostPid> tree;         ///< root of the tree to dump
    std::string imagesDir = ".";         ///< as the user gave it; relative to the initial working directory of criu
    std::optional<std::string> workDir;  ///< unset: the images directory
    std::optional<std::string> previousImages;  ///< parent images, relative to the images directory
    FinalState finalState = FinalState::Default;
    bool detached = false;  ///< true for --restore-detached and --daemon
    bool restoreSibling = false;
    std::optional<std::string> pidFile;  ///< relative to the work directory; the file must not exist
    bool shellJob = false;
    bool orphanPtsMaster = false;  ///< only for requests: the client accepts orphan masters
    /// Time that a listener of a restore may take at each stage up to PreResume; unset: no limit. If it is set, the
    /// stage PreResume needs the consent of all listeners.
    std::optional<std::chrono::seconds> holdTimeout;
    bool notifyMounts = false;               ///< criu notifies listeners of the stage PostMounts
    std::vector<std::string> actionScripts;  ///< paths of the action scripts, in the order of the options
    bool execCommandWanted = false;          ///< --exec-cmd
    std::vector<std::string> execCommand;    ///< words after "--"; empty without --exec-cmd
    std::chrono::seconds timeout{10};  ///< time to freeze the tree, and time without progress of a peer; 0 for no limit
    bool timeoutGiven = false;         ///< true if the user has set `timeout`
    std::optional<std::string> freezeCgroup;
    std::vector<int> closeFds;  ///< descriptors that criu closes after it has read the options
    int statusFd = -1;          ///< descriptor to which criu writes one NUL byte when a server is ready; -1 for none
    std::optional<std::string> libDir;  ///< folder of plugins; unset: $CRIU_LIBS_DIR, or the built-in path
    bool unprivileged = false;

    // Options for messages:
    std::string logFile;  ///< "" for standard error, "-" for standard output, or a path
    LogLevel verbosity = LogLevel::Warning;
    bool quiet = false;   ///< criu shows no progress line
    bool logPid = false;  ///< criu gives each restored task a separate log file
    bool displayStats = false;
    std::optional<std::string> traceFile;  ///< path of --trace, relative to the work directory

    // Options for memory:
    bool trackMemory = false;
    bool autoDedup = false;
    bool lazyPages = false;
    bool mapPages = false;               ///< criu maps memory from a shared-pages file
    bool newPidNamespace = false;        ///< a tree without a private pid namespace gets one
    bool background = false;             ///< criu writes memory after it has resumed the tree
    std::uint64_t backgroundMemory = 0;  ///< limit of a memory snapshot in bytes; 0 for no limit
    PreDumpMode preDumpMode = PreDumpMode::Splice;
    bool stream = false;                        ///< images go to or come from criu-image-streamer
    std::optional<std::string> providerSocket;  ///< socket of a memory provider, relative to the work directory
    std::optional<std::string> streamTo;        ///< --stream-to: "-", a descriptor number, or a path
    std::optional<std::string> streamFrom;      ///< --stream-from: "-", a descriptor number, or a path
    std::optional<std::uint64_t> streamMemory;  ///< --stream-memory in bytes; unset: half of the machine's memory
    /// Limits of the amounts that images may ask for in a restore; 0 for no limit. engine/images/image_limits has the
    /// defaults.
    std::optional<std::uint64_t> maxMemory;
    std::optional<std::uint64_t> maxFiles;      ///< descriptors in all tables, and files that the restore creates
    std::optional<std::uint64_t> maxProcesses;  ///< processes and threads
    /// Range of uids and gids of the host that the processes may have. Unset: the author of the images is trusted.
    std::optional<IdRange> untrusted;
    bool allowUprobes = false;
    /// --pages-files: number of pages files for each memory object; unset: criu chooses the number
    std::optional<unsigned> pagesFiles;
    PageCodec compress{};                      ///< None, or a codec of kPageCodecs
    std::uint64_t compressBlock = 256U << 10;  ///< number of uncompressed bytes in one compressed block
    int compressLevel = 1;                     ///< compression level; its meaning depends on the codec
    /// Maximal number of threads that read the memory of one process; 0 for all processors.
    unsigned decompressThreads = 0;
    ImageIo imageIo = ImageIo::Writeback;
    std::optional<bool> checksum;         ///< unset: the dump writes no checksums, and the restore checks existing ones
    std::optional<bool> sync;             ///< unset: a dump that ends the tree writes images to the disk first
    std::vector<std::string> encrypt;     ///< --encrypt: public keys of age, or files with such keys
    std::optional<std::string> decrypt;   ///< --decrypt: file with secret keys, or a descriptor number
    std::optional<std::string> sign;      ///< --sign: file with one secret key, or a descriptor number
    std::optional<std::string> signedBy;  ///< --signed-by: file with public keys
    bool compat = false;                  ///< --compat 4.2: the dump writes only images that CRIU 4.2 can read

    // Options for files:
    std::uint64_t ghostLimit = 1U << 20;  ///< maximal size of a ghost file in bytes
    bool ghostFiemap = true;
    bool linkRemap = false;
    bool ghostLinks = false;  ///< true if the dump also stores the content of deleted files that still have other links
    bool evasiveDevices = false;
    bool fileLocks = false;
    bool forceIrmap = false;
    std::vector<std::string> irmapScanPaths;
    FileValidation fileValidation = FileValidation::BuildId;
    bool skipFileRwxCheck = false;
    std::vector<External> externals;
    std::vector<InheritFd> inheritFds;
    std::vector<InheritMark> inheritMarks;
    bool dryRun = false;     ///< true if a dump only reports its refusals
    bool json = false;       ///< true if the command prints its report as JSON
    bool allowLoss = false;  ///< true if external pipes without a replacement are restored with a closed other end
    bool noLoss = false;     ///< true if a dump refuses to lose state, except of `allowedLosses`
    LossSet allowedLosses;

    // Options for mounts and namespaces:
    std::optional<std::string> root;
    std::vector<std::string> skipMounts;
    std::vector<std::string> enabledFilesystems;  ///< file system types; "all" for every type
    bool externalSharing = false;
    bool externalMasters = false;
    std::vector<ExtMount> extMounts;
    bool autoExtMounts = false;
    bool mntnsCompatMode = false;
    std::vector<JoinNs> joinNs;
    bool emptyNetNs = false;
    std::vector<VethPair> vethPairs;
    bool weakSysctls = false;

    // Options for devices:
    std::vector<std::string> disabledDevices;  ///< --no-device: device subsystems and plugins that criu doesn't use
    std::vector<GpuMapping> gpuMap;
    std::vector<std::string> pluginOptions;  ///< --plugin-option: texts PLUGIN.NAME[=VALUE], in their order

    /// Values of the subsystem options (device/subsystem_options.hpp), by the name of the option.
    std::map<std::string, std::uint64_t, std::less<>> subsystemValues;

    // Options for sockets:
    bool tcpEstablished = false;
    bool tcpSkipInFlight = false;
    bool tcpClose = false;
    bool extUnixSockets = false;
    std::vector<std::uint32_t> extUnixInodes;  ///< inodes that extUnixSockets applies to; empty for all sockets
    /// Only for requests: inode of criu's end of the client's connection; 0 for none. A restore creates the tree's end
    /// of this connection again, with the reply as waiting bytes.
    std::uint32_t serviceSocket = 0;
    std::vector<InetMapping> inetMap;        ///< the first mapping that matches an address applies
    std::optional<NetworkLock> networkLock;  ///< unset: iptables in a dump, and the value of the images in a restore

    // Options for cgroups:
    CgroupMode cgroupMode = CgroupMode::Soft;
    std::vector<CgroupRoot> cgroupRoots;
    std::optional<std::string> cgroupProps;  ///< text of the specification, not a path
    std::optional<std::string> cgroupPropsFile;
    std::vector<std::string> cgroupDumpControllers;
    std::optional<std::string> cgroupYard;

    // Options for security and the processor:
    std::optional<LsmProfile> lsmProfile;
    std::optional<std::string> lsmMountContext;
    CpuCaps cpuCaps{CpuCap::Fpu, CpuCap::Ins};

    // Options for the page server:
    bool pageServer = false;
    std::optional<std::string> address;
    std::optional<std::uint16_t> port;  ///< unset: any free port
    int pageServerSocket = -1;
    /// --connections to a page server; if greater than 1, this is the number of connections for content, in addition to
    /// the first one
    unsigned connections = 1;
    bool tls = false;
    bool tlsVerifyName = true;
    std::optional<std::string> tlsPeer;           ///< name in the peer's certificate; unset: `address`
    std::optional<std::string> tlsCaCertificate;  ///< unset: /etc/pki/CA/cacert.pem
    std::optional<std::string> tlsCaRevocations;  ///< unset: /etc/pki/CA/cacrl.pem if this file exists
    std::optional<std::string> tlsCertificate;    ///< unset: /etc/pki/criu/cert.pem
    std::optional<std::string> tlsKey;            ///< unset: /etc/pki/criu/private/key.pem

    // Options for the command check:
    std::optional<std::string> feature;
    bool checkExtra = false;
    bool checkExperimental = false;

    // Configuration files, old images, help, version and fault injection:
    bool deprecatedImages = false;
    std::optional<std::string> configFile;
    bool noDefaultConfig = false;
    bool helpWanted = false;
    bool versionWanted = false;
    int fault = 0;  ///< $CRIU_FAULT: point at which tests inject a failure or a fallback; 0 for none
};

}  // namespace criu::model
