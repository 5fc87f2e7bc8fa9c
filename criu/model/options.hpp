// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/log.hpp"

namespace criu::model {

/// What is compared between the CPU a tree was dumped on and the one it is restored on. Numbers are those of the RPC
/// field cpu_cap.
enum class CpuCap : std::uint32_t {
    Fpu = 1,    ///< floating point state must be restorable
    Cpu = 2,    ///< every feature must be the same
    Ins = 4,    ///< every instruction set the image names must exist here
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

/// How far cgroups are dumped and rebuilt.
enum class CgroupMode : std::uint8_t {
    Ignore,  ///< neither dumped nor restored
    None,    ///< restored tasks must find their cgroups in place
    Props,   ///< groups must exist, their properties are set
    Soft,    ///< missing groups are made, properties set only on those made
    Full,    ///< missing groups are made, all properties set
    Strict,  ///< groups must not exist yet
};

/// What drops packets of a dumped tree's connections, so that nobody answers them, from the dump to the restore.
enum class NetworkLock : std::uint8_t { Iptables, Nftables, Skip };

/// How pages are compressed.
enum class PageCodec : std::uint8_t { None, Lz4, Zstd };

/// Who copies memory in a pre-dump: the parasite with vmsplice, or criu with process_vm_readv.
enum class PreDumpMode : std::uint8_t { Splice, Read };

/// What must be unchanged in a regular file between dump and restore.
enum class FileValidation : std::uint8_t {
    FileSize,  ///< its size
    BuildId,   ///< the ELF build id if there is one, and its size
};

/// What tasks do when the command has done its work.
enum class FinalState : std::uint8_t {
    Default,  ///< killed after a dump, running after a restore
    Stopped,  ///< --leave-stopped
    Running,  ///< --leave-running
};

/// A resource outside the tree that the dump refers to by name and the restore is given anew.
enum class ExternalType : std::uint8_t { Mount, Device, File, Pipe, Tty, Unix, Net, Pid, Veth, Macvlan, Netdev };

/// --external TYPE[ID][:VALUE]. What ID and VALUE mean depends on type and direction:
/// mnt  dump [mount point]:name (an empty mount point with :m and :s finds them), restore [name]:host path;
/// dev  dump [major/minor]:name, restore [name]:path;     file dump [mount id:inode], hex;
/// pipe [inode], decimal, also written pipe:[inode] as links of /proc/PID/fd are;
/// tty  [rdev:dev], hex;                                  unix dump [inode], decimal;
/// net, pid  dump [inode]:name, inode decimal;            veth restore [name inside]:name outside[@bridge];
/// macvlan  restore [name inside]:parent device;          netdev restore [name inside]:name of an existing device.
struct External {
    ExternalType type{};
    std::string id;
    std::optional<std::string> value;
    friend bool operator==(const External&, const External&) = default;
};

/// --inherit-fd fd[N]:NAME: descriptor `fd` of criu stands for the file `name` ("pipe:[INO]", "socket:[INO]",
/// "tty[RDEV:DEV]", "file[MNTID:INO]", "/memfd:NAME", "rel/path", or the name of an external namespace).
struct InheritFd {
    int fd = -1;
    std::string name;
    friend bool operator==(const InheritFd&, const InheritFd&) = default;
};

/// --inherit-fd debug[N]:TEXT: text written to descriptor `fd` when the restore begins, to mark it in an output
/// stream.
struct InheritMark {
    int fd = -1;
    std::string text;
    friend bool operator==(const InheritMark&, const InheritMark&) = default;
};

/// --ext-mount-map KEY:VALUE. Dump: key is a mount point, value its name; restore: key is the name, value a path.
struct ExtMount {
    std::string key;
    std::string value;
    friend bool operator==(const ExtMount&, const ExtMount&) = default;
};

enum class JoinNsKind : std::uint8_t { Ipc, Net, Time, User, Uts, Mnt };

/// --join-ns KIND:TARGET[,UID,GID]: restored tasks are put into an existing namespace.
struct JoinNs {
    JoinNsKind kind{};
    std::string target;  ///< a pid in decimal, or the path of a namespace file
    std::optional<uid_t> uid;
    std::optional<gid_t> gid;  ///< user namespaces only: ids to take there
    friend bool operator==(const JoinNs&, const JoinNs&) = default;
};

/// --cgroup-root [CONTROLLER:]PATH; an empty controller means all that have no entry of their own.
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

enum class LsmKind : std::uint8_t { None, Apparmor, Selinux };

/// --lsm-profile KIND:PROFILE
struct LsmProfile {
    LsmKind kind{};
    std::string profile;
    friend bool operator==(const LsmProfile&, const LsmProfile&) = default;
};

/// --gpu-map OLD=NEW: a GPU of the images and the one that takes its place, as its driver calls them.
struct GpuMapping {
    std::string from;
    std::string to;
    friend bool operator==(const GpuMapping&, const GpuMapping&) = default;
};

/// What is compared between a GPU of the images and one that may take its place. Absent: what the environment says, or
/// yes.
struct GpuChecks {
    std::optional<bool> firmware;      ///< not older
    std::optional<bool> sdmaFirmware;  ///< not older
    std::optional<bool> caches;        ///< not fewer
    std::optional<bool> gws;           ///< not fewer entries of global wave synchronisation
    std::optional<bool> vram;          ///< not less
    std::optional<bool> numa;          ///< GPUs that shared a CPU node still do
    std::optional<bool> capability;    ///< the same bits
};

/// Everything a user can choose, from the command line, configuration files or a request. Plain values, checked for
/// form when they were read; whether a file or process exists is seen by who uses it. Options not given hold what
/// their absence means.
struct Options {
    // What to work on
    std::optional<HostPid> tree;                ///< root of the tree to dump
    std::string imagesDir = ".";                ///< as given; relative to the directory criu was started in
    std::optional<std::string> workDir;         ///< absent: the images directory
    std::optional<std::string> previousImages;  ///< parent images, relative to the images directory
    FinalState finalState = FinalState::Default;
    bool detached = false;  ///< --restore-detached, --daemon
    bool restoreSibling = false;
    std::optional<std::string> pidFile;  ///< relative to the work directory; must not exist
    bool shellJob = false;
    bool orphanPtsMaster = false;  ///< requests only: the client takes masters of terminals that the tree hasn't got
    std::vector<std::string> actionScripts;  ///< in the order given
    bool execCommandWanted = false;          ///< --exec-cmd
    std::vector<std::string> execCommand;    ///< words behind "--"; empty without --exec-cmd
    std::chrono::seconds timeout{10};        ///< to freeze the tree, for others to go on; 0: no limit
    bool timeoutGiven = false;               ///< the user has chosen it
    std::optional<std::string> freezeCgroup;
    std::vector<int> closeFds;          ///< closed when the options have been read
    int statusFd = -1;                  ///< one NUL byte is written here when a server is ready
    std::optional<std::string> libDir;  ///< plugins; absent: $CRIU_LIBS_DIR, then the built-in path
    bool unprivileged = false;

    // Messages
    std::string logFile;  ///< "" standard error, "-" standard output, else a file
    LogLevel verbosity = LogLevel::Warning;
    bool quiet = false;   ///< no progress line
    bool logPid = false;  ///< a log file of its own for each restored task
    bool displayStats = false;
    std::optional<std::string> traceFile;  ///< --trace; relative to the work directory

    // Memory
    bool trackMemory = false;
    bool autoDedup = false;
    bool lazyPages = false;
    bool mapPages = false;               ///< memory is mapped of a file that clones of the images have in common
    bool newPidNamespace = false;        ///< a tree that had no pid namespace of its own gets one
    bool background = false;             ///< memory is written when the tree runs again
    std::uint64_t backgroundMemory = 0;  ///< bytes that this may take meanwhile; 0: any number
    PreDumpMode preDumpMode = PreDumpMode::Splice;
    bool stream = false;                        ///< images go to, or come from, criu-image-streamer
    std::optional<std::string> streamTo;        ///< --stream-to: "-", a descriptor's number, or a path
    std::optional<std::string> streamFrom;      ///< --stream-from: the same
    std::optional<std::uint64_t> streamMemory;  ///< --stream-memory: bytes; absent: half of the machine's memory
    bool allowUprobes = false;
    std::optional<unsigned> pagesFiles;  ///< --pages-files: of each object; absent: as pays off
    PageCodec compress = PageCodec::None;
    std::uint64_t compressBlock = 256U << 10;  ///< bytes that are compressed together
    int compressLevel = 1;                     ///< see memory::Codec::load()
    std::optional<bool> checksum;              ///< absent: images get none, and those that are there are compared
    std::vector<std::string> encrypt;          ///< --encrypt: public keys of age, or files of public keys
    std::optional<std::string> decrypt;        ///< --decrypt: a file of secret keys, or the number of a descriptor
    std::optional<std::string> sign;           ///< --sign: the same, of one key
    std::optional<std::string> signedBy;       ///< --signed-by: a file of public keys
    bool compat = false;                       ///< --compat 4.2: images in no form that this version can't read

    // Files
    std::uint64_t ghostLimit = 1U << 20;  ///< bytes
    bool ghostFiemap = true;
    bool linkRemap = false;
    bool evasiveDevices = false;
    bool fileLocks = false;
    bool forceIrmap = false;
    std::vector<std::string> irmapScanPaths;
    FileValidation fileValidation = FileValidation::BuildId;
    bool skipFileRwxCheck = false;
    std::vector<External> externals;
    std::vector<InheritFd> inheritFds;
    std::vector<InheritMark> inheritMarks;
    bool allowLoss = false;  ///< pipes that led out of the tree and aren't given have nobody at the other end

    // Mounts and namespaces
    std::optional<std::string> root;
    std::vector<std::string> skipMounts;
    std::vector<std::string> enabledFilesystems;  ///< "all" may be among them
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
    std::vector<std::string> disabledDevices;  ///< --no-device: subsystems and plugins that aren't asked
    std::vector<GpuMapping> gpuMap;
    /// How long the work that processes have given to CUDA devices may take before they are stopped.
    std::chrono::seconds cudaTimeout{60};
    GpuChecks gpuChecks;
    std::optional<std::uint64_t> gpuBufferLimit;  ///< bytes of each GPU's copy buffer; absent: the environment, or any
    bool gpuParallel = true;                      ///< GPU memory is restored by criu while processes are

    // Sockets
    bool tcpEstablished = false;
    bool tcpSkipInFlight = false;
    bool tcpClose = false;
    bool extUnixSockets = false;
    std::vector<std::uint32_t> extUnixInodes;  ///< with extUnixSockets; empty: any
    /// Requests only: inode of criu's end of the connection with its client, 0 if there is none. What the tree has
    /// connected to it is restored with the answer to the request waiting in it.
    std::uint32_t serviceSocket = 0;
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
    unsigned connections = 1;  ///< --connections: with a page server; above 1 as many for content, and one to agree
    bool tls = false;
    bool tlsVerifyName = true;
    std::optional<std::string> tlsCaCertificate;  ///< absent: /etc/pki/CA/cacert.pem if it exists
    std::optional<std::string> tlsCaRevocations;  ///< absent: /etc/pki/CA/cacrl.pem if it exists
    std::optional<std::string> tlsCertificate;    ///< absent: /etc/pki/criu/cert.pem
    std::optional<std::string> tlsKey;            ///< absent: /etc/pki/criu/private/key.pem

    // Check
    std::optional<std::string> feature;
    bool checkExtra = false;
    bool checkExperimental = false;

    // About options and images themselves
    bool deprecatedImages = false;
    std::optional<std::string> configFile;
    bool noDefaultConfig = false;
    bool helpWanted = false;
    bool versionWanted = false;
    int fault = 0;  ///< $CRIU_FAULT: where tests want a failure or a fallback, 0 for nowhere
};

}  // namespace criu::model
