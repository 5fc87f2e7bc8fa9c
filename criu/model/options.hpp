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

/// Parts of the CPU to compare between dump and restore. Values are those of the RPC field cpu_cap.
enum class CpuCap : std::uint32_t {
    Fpu = 1,    ///< floating point state must be restorable
    Cpu = 2,    ///< every feature must be the same
    Ins = 4,    ///< each instruction set in the images must exist here
    Image = 8,  ///< write cpuinfo.img on dump, compare with it on restore
};

/// A set of CpuCap.
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

/// Extent of the dump and restore of cgroups.
enum class CgroupMode : std::uint8_t {
    Ignore,  ///< neither dumped nor restored
    None,    ///< cgroups of restored tasks must exist
    Props,   ///< cgroups must exist; criu sets their properties
    Soft,    ///< criu creates missing cgroups and sets properties only of these
    Full,    ///< criu creates missing cgroups and sets all properties
    Strict,  ///< cgroups must not exist
};

/// Method of the network lock. It drops packets of dumped connections from dump to restore, so that the kernel
/// doesn't answer them.
enum class NetworkLock : std::uint8_t { Iptables, Nftables, Skip };

/// Method by which a pre-dump copies memory: vmsplice(2) in the task, or process_vm_readv(2) in criu.
enum class PreDumpMode : std::uint8_t { Splice, Read };

/// Properties of a regular file that must be equal at dump and restore.
enum class FileValidation : std::uint8_t {
    FileSize,  ///< size
    BuildId,   ///< size, and the ELF build id if the file has one
};

/// State of tasks after the command (CRIU: final_state).
enum class FinalState : std::uint8_t {
    Default,  ///< killed after a dump, running after a restore
    Stopped,  ///< --leave-stopped
    Running,  ///< --leave-running
};

/// Type of an external resource: the images name it, and the restore receives it.
enum class ExternalType : std::uint8_t { Mount, Device, File, Pipe, Tty, Unix, Net, Pid, Veth, Macvlan, Netdev };

/// --external TYPE[ID][:VALUE]. The meaning of ID and VALUE depends on type and direction:
/// mnt  dump [mount point]:name (an empty mount point with :m and :s finds them), restore [name]:host path;
/// dev  dump [major/minor]:name, restore [name]:path;     file dump [mount id:inode], hex;
/// pipe [inode], decimal; pipe:[inode] as in links of /proc/PID/fd is equivalent;
/// tty  [rdev:dev], hex;                                  unix dump [inode], decimal;
/// net, pid  dump [inode]:name, inode decimal;            veth restore [name inside]:name outside[@bridge];
/// macvlan  restore [name inside]:parent device;          netdev restore [name inside]:name of an existing device.
struct External {
    ExternalType type{};
    std::string id;
    std::optional<std::string> value;
    friend bool operator==(const External&, const External&) = default;
};

/// --inherit-fd fd[N]:NAME: descriptor `fd` of criu replaces the file `name` ("pipe:[INO]", "socket:[INO]",
/// "tty[RDEV:DEV]", "file[MNTID:INO]", "/memfd:NAME", "rel/path", or the name of an external namespace).
struct InheritFd {
    int fd = -1;
    std::string name;
    friend bool operator==(const InheritFd&, const InheritFd&) = default;
};

/// --inherit-fd debug[N]:TEXT: criu writes the text to descriptor `fd` when the restore begins, as a mark in an
/// output stream.
struct InheritMark {
    int fd = -1;
    std::string text;
    friend bool operator==(const InheritMark&, const InheritMark&) = default;
};

/// --ext-mount-map KEY:VALUE. Dump: key is a mount point, value its name. Restore: key is the name, value a path.
struct ExtMount {
    std::string key;
    std::string value;
    friend bool operator==(const ExtMount&, const ExtMount&) = default;
};

/// --join-ns KIND:TARGET[,UID,GID]: restored tasks join an existing namespace.
struct JoinNs {
    kernel::NamespaceKind kind{};
    std::string target;  ///< a pid in decimal, or the path of a namespace file
    std::optional<uid_t> uid;
    std::optional<gid_t> gid;  ///< for user namespaces: ids of the tasks there
    friend bool operator==(const JoinNs&, const JoinNs&) = default;
};

/// --cgroup-root [CONTROLLER:]PATH. An empty controller means all controllers without their own entry.
struct CgroupRoot {
    std::string controller;
    std::string path;
    friend bool operator==(const CgroupRoot&, const CgroupRoot&) = default;
};

/// --veth-pair IN=OUT
struct VethPair {
    std::string inside;
    std::string outside;
    friend bool operator==(const VethPair&, const VethPair&) = default;
};

/// How image files are read and written (--image-io-mode).
enum class ImageIo : std::uint8_t {
    Writeback,  ///< through the page cache
    Direct,     ///< memory content without the page cache (O_DIRECT)
};

/// --inet-map OLD=NEW: addresses of the images and their replacements. The prefix has `bits` bits; the rest of an
/// address stays.
struct InetMapping {
    int family = 0;                       ///< AF_INET or AF_INET6
    std::array<std::uint32_t, 4> from{};  ///< in network byte order; AF_INET uses the first word
    std::array<std::uint32_t, 4> to{};
    unsigned bits = 0;
    friend bool operator==(const InetMapping&, const InetMapping&) = default;
};

enum class LsmKind : std::uint8_t { None, Apparmor, Selinux };

/// --lsm-profile KIND:PROFILE
struct LsmProfile {
    LsmKind kind{};
    std::string profile;
    friend bool operator==(const LsmProfile&, const LsmProfile&) = default;
};

/// --gpu-map OLD=NEW: a GPU of the images and its replacement, by names of the driver.
struct GpuMapping {
    std::string from;
    std::string to;
    friend bool operator==(const GpuMapping&, const GpuMapping&) = default;
};

/// All options from the command line, configuration files or a request. The values have been checked for their form;
/// later users check that files and processes exist. Absent options have their defaults.
struct Options {
    // Input and output
    std::optional<HostPid> tree;                ///< root of the tree to dump
    std::string imagesDir = ".";                ///< as given; relative to the initial working directory of criu
    std::optional<std::string> workDir;         ///< absent: the images directory
    std::optional<std::string> previousImages;  ///< parent images, relative to the images directory
    FinalState finalState = FinalState::Default;
    bool detached = false;  ///< --restore-detached, --daemon
    bool restoreSibling = false;
    std::optional<std::string> pidFile;  ///< relative to the work directory; must not exist
    bool shellJob = false;
    bool orphanPtsMaster = false;            ///< requests only: the client takes orphan masters
    std::vector<std::string> actionScripts;  ///< in the order given
    bool execCommandWanted = false;          ///< --exec-cmd
    std::vector<std::string> execCommand;    ///< words after "--"; empty without --exec-cmd
    std::chrono::seconds timeout{10};        ///< to freeze the tree, and for peers to make progress; 0: no limit
    bool timeoutGiven = false;               ///< the user has set `timeout`
    std::optional<std::string> freezeCgroup;
    std::vector<int> closeFds;          ///< closed after the options are read
    int statusFd = -1;                  ///< criu writes one NUL byte here when a server is ready
    std::optional<std::string> libDir;  ///< plugins; absent: $CRIU_LIBS_DIR, then the built-in path
    bool unprivileged = false;

    // Messages
    std::string logFile;  ///< "" standard error, "-" standard output, else a file
    LogLevel verbosity = LogLevel::Warning;
    bool quiet = false;   ///< no progress line
    bool logPid = false;  ///< each restored task has its own log file
    bool displayStats = false;
    std::optional<std::string> traceFile;  ///< --trace; relative to the work directory

    // Memory
    bool trackMemory = false;
    bool autoDedup = false;
    bool lazyPages = false;
    bool mapPages = false;               ///< memory is mapped from a file that all clones of the images share
    bool newPidNamespace = false;        ///< a tree that had no pid namespace of its own gets one
    bool background = false;             ///< memory is written after the tree is resumed
    std::uint64_t backgroundMemory = 0;  ///< limit of a memory snapshot in bytes; 0: none
    PreDumpMode preDumpMode = PreDumpMode::Splice;
    bool stream = false;                        ///< images go to or come from criu-image-streamer
    std::optional<std::string> streamTo;        ///< --stream-to: "-", a descriptor number, or a path
    std::optional<std::string> streamFrom;      ///< --stream-from: "-", a descriptor number, or a path
    std::optional<std::uint64_t> streamMemory;  ///< --stream-memory: bytes; absent: half of the machine's memory
    bool allowUprobes = false;
    std::optional<unsigned> pagesFiles;        ///< --pages-files: for each memory object; absent: criu chooses
    PageCodec compress{};                      ///< None or a codec of kPageCodecs
    std::uint64_t compressBlock = 256U << 10;  ///< bytes of a compressed block
    int compressLevel = 1;                     ///< see memory::Codec::load()
    unsigned decompressThreads = 0;            ///< limit of threads that read one process' memory; 0: all processors
    ImageIo imageIo = ImageIo::Writeback;
    std::optional<bool> checksum;         ///< absent: the dump writes none, and the restore compares existing ones
    std::vector<std::string> encrypt;     ///< --encrypt: public keys of age, or files of public keys
    std::optional<std::string> decrypt;   ///< --decrypt: a file of secret keys, or a descriptor number
    std::optional<std::string> sign;      ///< --sign: a file with one secret key, or a descriptor number
    std::optional<std::string> signedBy;  ///< --signed-by: a file of public keys
    bool compat = false;                  ///< --compat 4.2: only images that CRIU 4.2 can read

    // Files
    std::uint64_t ghostLimit = 1U << 20;  ///< bytes
    bool ghostFiemap = true;
    bool linkRemap = false;
    bool ghostLinks = false;  ///< deleted files that have other links are dumped with their content
    bool evasiveDevices = false;
    bool fileLocks = false;
    bool forceIrmap = false;
    std::vector<std::string> irmapScanPaths;
    FileValidation fileValidation = FileValidation::BuildId;
    bool skipFileRwxCheck = false;
    std::vector<External> externals;
    std::vector<InheritFd> inheritFds;
    std::vector<InheritMark> inheritMarks;
    bool allowLoss = false;  ///< external pipes without a replacement are restored with a closed other end

    // Mounts and namespaces
    std::optional<std::string> root;
    std::vector<std::string> skipMounts;
    std::vector<std::string> enabledFilesystems;  ///< may contain "all"
    bool externalSharing = false;
    bool externalMasters = false;
    std::vector<ExtMount> extMounts;
    bool autoExtMounts = false;
    bool mntnsCompatMode = false;
    std::vector<JoinNs> joinNs;
    bool emptyNetNs = false;
    std::vector<VethPair> vethPairs;
    bool weakSysctls = false;

    // Devices
    std::vector<std::string> disabledDevices;  ///< --no-device: unused subsystems and plugins
    std::vector<GpuMapping> gpuMap;
    /// Values of options that device subsystems contribute (device/subsystem_options.hpp), by the option's name.
    std::map<std::string, std::uint64_t, std::less<>> subsystemValues;

    // Sockets
    bool tcpEstablished = false;
    bool tcpSkipInFlight = false;
    bool tcpClose = false;
    bool extUnixSockets = false;
    std::vector<std::uint32_t> extUnixInodes;  ///< with extUnixSockets; empty: any
    /// Requests only: inode of criu's end of the client's connection, 0 for none. A restore recreates the tree's end of
    /// this connection with the reply waiting in it.
    std::uint32_t serviceSocket = 0;
    std::vector<InetMapping> inetMap;        ///< the first mapping that matches an address counts
    std::optional<NetworkLock> networkLock;  ///< absent: iptables on dump, the image's value on restore

    // Cgroups
    CgroupMode cgroupMode = CgroupMode::Soft;
    std::vector<CgroupRoot> cgroupRoots;
    std::optional<std::string> cgroupProps;  ///< the specification itself
    std::optional<std::string> cgroupPropsFile;
    std::vector<std::string> cgroupDumpControllers;
    std::optional<std::string> cgroupYard;

    // Security, processor
    std::optional<LsmProfile> lsmProfile;
    std::optional<std::string> lsmMountContext;
    CpuCaps cpuCaps{CpuCap::Fpu, CpuCap::Ins};

    // Page server
    bool pageServer = false;
    std::optional<std::string> address;
    std::optional<std::uint16_t> port;  ///< absent: any free port
    int pageServerSocket = -1;
    unsigned connections = 1;  ///< --connections to a page server; above 1, so many for content and one for control
    bool tls = false;
    bool tlsVerifyName = true;
    std::optional<std::string> tlsPeer;           ///< name in the peer's certificate; absent: `address`
    std::optional<std::string> tlsCaCertificate;  ///< absent: /etc/pki/CA/cacert.pem
    std::optional<std::string> tlsCaRevocations;  ///< absent: /etc/pki/CA/cacrl.pem if it exists
    std::optional<std::string> tlsCertificate;    ///< absent: /etc/pki/criu/cert.pem
    std::optional<std::string> tlsKey;            ///< absent: /etc/pki/criu/private/key.pem

    // Check
    std::optional<std::string> feature;
    bool checkExtra = false;
    bool checkExperimental = false;

    // Options and images themselves
    bool deprecatedImages = false;
    std::optional<std::string> configFile;
    bool noDefaultConfig = false;
    bool helpWanted = false;
    bool versionWanted = false;
    int fault = 0;  ///< $CRIU_FAULT: point where tests inject a failure or a fallback; 0 for none
};

}  // namespace criu::model
