// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/option_table.hpp"

#include <vector>

#include "criu/device/subsystem_options.hpp"
#include "criu/options/option_actions.hpp"
#include "criu/options/plugin_option.hpp"
#include "criu/options/request_fields.hpp"

namespace criu::options {
namespace {

using namespace action;
using enum Command;

constexpr auto None = Argument::None;
constexpr auto Required = Argument::Required;
constexpr auto Attached = Argument::Optional;
constexpr auto NoNo = NoForm::Absent;
constexpr auto HasNo = NoForm::Present;
constexpr CommandSet Everywhere = CommandSet::all();
constexpr CommandSet Runs{Dump, PreDump, Restore};
constexpr CommandSet Streamable{Dump, PreDump, Restore, CpuinfoDump};
constexpr CommandSet StreamSources{Dump, PreDump, StreamPack};
constexpr CommandSet StreamTargets{Restore, StreamUnpack};
constexpr CommandSet StreamMemory{Dump, PreDump, Restore, CpuinfoDump, Compare};
constexpr CommandSet OnDump{Dump};
constexpr CommandSet Captures{Dump, Compare};
constexpr CommandSet OnRestore{Restore, Explain};
constexpr CommandSet Detachable{Restore, PageServer, Service, LazyPages, MemoryProvider};
constexpr CommandSet Scripted{Dump, Restore, PageServer, Service, LazyPages};
constexpr CommandSet CpuAware{Dump, Restore, CpuinfoCheck, Explain};
constexpr CommandSet Serving{PageServer, Service, LazyPages, Dump, MemoryProvider};
constexpr CommandSet PageFileUsers{Dump, PreDump, Restore, LazyPages, PageServer};
constexpr CommandSet OnPreDump{PreDump};
constexpr CommandSet Decrypting{Restore, Explain, Verify, LazyPages, PageServer, MemoryProvider, Compare};
constexpr CommandSet Timed{Dump, PreDump, Restore, Compare, PageServer, LazyPages, StreamPack, StreamUnpack, Service};
constexpr CommandSet Deduping{Dump, Restore, PageServer, PreDump};
constexpr CommandSet Lazy{Dump, Restore, PageServer};
constexpr CommandSet PageClients{Dump, PreDump, LazyPages};
constexpr CommandSet Summing{Dump, PreDump, PageServer, Restore, LazyPages, Explain, MemoryProvider};
constexpr CommandSet Providing{Restore, Explain, MemoryProvider};
constexpr CommandSet OnCheck{Check};
constexpr CommandSet Both{Dump, Restore, Explain};
constexpr CommandSet Trees{Dump, Restore, Explain, Compare};
constexpr CommandSet Reports{Dump, PreDump, Restore, Check, Explain, Verify, Compare};
constexpr CommandSet Dumps{Dump, PreDump};
constexpr CommandSet Freezes{Dump, PreDump, Compare};
constexpr CommandSet PageWriters{Dump, PreDump, PageServer};
constexpr CommandSet PageWire{Dump, PreDump, LazyPages, PageServer};
constexpr CommandSet PageEnds{Dump, PreDump, LazyPages, PageServer, Service};

constexpr std::int64_t kMostObjects = std::int64_t{1} << 40;  // largest argument of --max-files and --max-processes

/// Returns a request part that all clients may use.
constexpr RequestPart open(RequestPart part) noexcept {
    return part.allowedToClients();
}

using enum Section;
using enum Support;
using O = Options;

constexpr OptionRow kTable[] = {
    {General, "help", 'h', None, "", NoNo, Everywhere, Built, "print this text; with a command, its options",
     flags<&O::helpWanted>},
    {General, "version", 'V', None, "", NoNo, Everywhere, Built, "print the version", flags<&O::versionWanted>},
    {General, "images-dir", 'D', Required, "DIR", NoNo, Everywhere, Built,
     "directory of images (default: the current directory)", path<&O::imagesDir>,
     open({"images_dir_fd", "images_dir", readImagesDir})},
    {General, "work-dir", 'W', Required, "DIR", NoNo, Everywhere, Built,
     "directory of logs, pid files, statistics and sockets (default: the images directory)", path<&O::workDir>,
     open({"work_dir_fd", readWorkDir})},
    {General, "log-file", 'o', Required, "FILE", NoNo, Everywhere, Built,
     "write messages to FILE in the work directory, - for standard output (default: standard error)", text<&O::logFile>,
     open({"log_file", "log_to_stderr", readLogFile})},
    {General, "verbosity", 'v', Attached, "LEVEL", NoNo, Everywhere, Built,
     "log level: 0 nothing, 1 errors, 2 warnings (default), 3 steps, 4 details; without a number, and for each v of "
     "-vvv, one more",
     verbosity, open({"log_level", readVerbosity})},
    {General, "quiet", 'q', None, "", NoNo, Everywhere, Built, "show no progress line on the terminal",
     flags<&O::quiet>},
    {General, "display-stats", 0, None, "", HasNo, Runs, Built, "print times and amounts at the end",
     flag<&O::displayStats>, open("display_stats")},
    {General, "json", 0, None, "", NoNo, Reports, Built,
     "print the report as one JSON document; with dump, that of --dry-run or --display-stats", flags<&O::json>},
    {General, "trace", 0, Required, "FILE", NoNo, Runs, Built,
     "write a timeline of criu's processes and threads, for https://ui.perfetto.dev", path<&O::traceFile>},
    {General, "config", 0, Required, "FILE", NoNo, Everywhere, Built,
     "read options from FILE instead of the default configuration files", path<&O::configFile>, "config_file"},
    {General, "no-default-config", 0, None, "", NoNo, Everywhere, Built, "do not read the default configuration files",
     flags<&O::noDefaultConfig>},
    {General, "close", 0, Required, "FD", NoNo, Everywhere, Built, "close this inherited descriptor first", closeFd},
    {General, "deprecated", 0, None, "", HasNo, Everywhere, Moot, "read image fields that only old versions wrote",
     flag<&O::deprecatedImages>},
    {General, "unprivileged", 0, None, "", HasNo, Everywhere, Built,
     "leave cgroups alone; criu finds out by itself that it has only CAP_CHECKPOINT_RESTORE", flag<&O::unprivileged>,
     "unprivileged"},
    {Run, "tree", 't', Required, "PID", NoNo, Freezes, Built,
     "process of the dump or comparison, with all its descendants", tree, open({"pid", readTree})},
    {Run, "dry-run", 0, None, "", NoNo, OnDump, Built,
     "report everything that a dump would refuse or lose, write no images, and leave the processes unchanged",
     flags<&O::dryRun>},
    {Run, "leave-stopped", 's', None, "", NoNo, Both, Built, "leave the processes stopped",
     finalState<model::FinalState::Stopped>, open("leave_stopped")},
    {Run, "leave-running", 'R', None, "", NoNo, OnDump, Built, "resume the processes after the dump",
     finalState<model::FinalState::Running>, open({"leave_running", readLeaveRunning})},
    {Run, "restore-detached", 'd', None, "", HasNo, Detachable, Built, "do not wait for the restored processes",
     flag<&O::detached>},
    {Run, "daemon", 0, None, "", HasNo, Detachable, Built, "run in the background; the same as -d", flag<&O::detached>},
    {Run,
     "restore-sibling",
     'S',
     None,
     "",
     HasNo,
     OnRestore,
     Built,
     "make the restored root a child of criu's parent; needs -d",
     flag<&O::restoreSibling>,
     {"rst_sibling", readRestoreSibling}},
    {Run, "new-pidns", 0, None, "", NoNo, OnRestore, Built,
     "restore a tree without a private pid namespace in a new one, where all its pids are free, and mount its /proc",
     flag<&O::newPidNamespace>, "new_pidns"},
    {Run, "max-memory", 0, Required, "SIZE", NoNo, OnRestore, Built,
     "refuse images with more memory and content of files; 0 for no limit (default: 16 times the machine's memory)",
     parsed<&O::maxMemory, parseSize>, "max_memory"},
    {Run, "max-files", 0, Required, "N", NoNo, OnRestore, Built,
     "refuse images with more descriptors or files; 0 for no limit (default: 4194304)",
     number<&O::maxFiles, 0, kMostObjects, std::uint64_t>, "max_files"},
    {Run, "max-processes", 0, Required, "N", NoNo, OnRestore, Built,
     "refuse images with more processes and threads; 0 for no limit (default: 262144)",
     number<&O::maxProcesses, 0, kMostObjects, std::uint64_t>, "max_processes"},
    {Run, "untrusted", 0, Required, "FROM-TO", NoNo, OnRestore, Built,
     "restore images whose author isn't trusted: only in private namespaces, with uids and gids of the host in this "
     "range",
     parsed<&O::untrusted, parseIdRange>, open("untrusted")},
    {Run,
     "exec-cmd",
     0,
     None,
     "",
     NoNo,
     OnRestore,
     Built,
     "after the restore execute the command after --, as parent of the restored root",
     flags<&O::execCommandWanted>,
     {"exec_cmd", readExecCommand}},
    {Run, "pidfile", 0, Required, "FILE", NoNo, Detachable, Built,
     "write the pid of the restored root, or of the daemon, to a new FILE", path<&O::pidFile>},
    {Run, "shell-job", 'j', None, "", HasNo, Trees, Built,
     "accept a tree in a session or on a terminal of a process outside", flag<&O::shellJob>, open("shell_job")},
    {Run, "action-script", 0, Required, "PROGRAM", NoNo, Scripted, Built, "run PROGRAM at each stage; may be repeated",
     append<&O::actionScripts>},
    {Run, "hold-timeout", 0, Required, "SECONDS", NoNo, OnRestore, Built,
     "kill the restored tree if a client or an action script doesn't consent within this time at each stage up to "
     "pre-resume",
     holdTimeout, "hold_timeout"},
    {Run, "notify-mounts", 0, None, "", NoNo, OnRestore, Built,
     "also run action scripts and notify clients when the mounts of the tree exist (stage post-mounts)",
     flag<&O::notifyMounts>, "notify_mounts"},
    {Run, "timeout", 0, Required, "SECONDS", NoNo, Timed, Built,
     "fail if the tree isn't frozen, or a peer does nothing, for this time; 0 for never (default: 10; for waits of "
     "--stream-from, 0; for requests of other users, 30)",
     timeout, open("timeout")},
    {Run, "freeze-cgroup", 0, Required, "DIR", NoNo, Freezes, Built,
     "freeze by this cgroup, which contains the whole tree", path<&O::freezeCgroup>, "freeze_cgroup"},
    {Run, "log-pid", 0, None, "", HasNo, OnRestore, Built, "write a log file, NAME.PID, for each restored process",
     flag<&O::logPid>},
    {Run, "libdir", 'L', Required, "DIR", NoNo, Runs, Built,
     "directory of plugins (default: $CRIU_LIBS_DIR, then /usr/lib/criu)", path<&O::libDir>},
    {Run, "cpu-cap", 0, Attached, "fpu|cpu|ins|all|none|LIST", NoNo, CpuAware, Built,
     "features that the processor must have; ^ in a LIST excludes one (default: fpu,ins)", cpuCaps,
     open({"cpu_cap", readCpuCaps})},
    {Run, "status-fd", 0, Required, "FD", NoNo, Serving, Built, "write one zero byte to FD when ready to serve",
     number<&O::statusFd, 0, kFdLimit>},
    {Run, "allow-uprobes", 0, None, "", HasNo, Trees, Built,
     "accept processes with uprobes, which must exist again at the restore", flag<&O::allowUprobes>},
    {Files, "external", 0, Required, "TYPE[ID][:VALUE]", NoNo, Trees, Built,
     "name a resource outside of the tree instead of dumping it; may be repeated", parsedInto<addExternal>, "external"},
    {Files,
     "inherit-fd",
     0,
     Required,
     "fd[N]:NAME",
     NoNo,
     Providing,
     Built,
     "use criu's descriptor N for this file; may be repeated",
     parsedInto<parseInheritFd>,
     {"inherit_fd", readInheritFds}},
    {Files, "allow-loss", 0, Attached, "KIND", HasNo, Both, Built,
     "restore pipes whose other end was outside of the tree, without a peer; with KIND, accept this loss of a dump, or "
     "all losses, despite --no-loss; may be repeated",
     allowLoss, open({"allow_loss", "allow_losses", readAllowLoss})},
    {Files, "no-loss", 0, None, "", NoNo, OnDump, Built,
     "refuse a dump that would lose state of a program, instead of a warning", flags<&O::noLoss>, open("no_loss")},
    {Files, "ghost-limit", 0, Required, "SIZE", NoNo, Captures, Built,
     "maximal size of a deleted file in images (default: 1M)", parsed<&O::ghostLimit, parseSize>, open("ghost_limit")},
    {Files, "ghost-fiemap", 0, None, "", HasNo, Captures, Moot,
     "find holes of deleted files by FIEMAP; criu always finds them", flag<&O::ghostFiemap>},
    {Files, "link-remap", 0, None, "", HasNo, Captures, Built,
     "give deleted files that have other links a temporary name", flag<&O::linkRemap>, "link_remap"},
    {Files, "ghost-links", 0, None, "", HasNo, Captures, Built,
     "dump deleted files that have other links with their content; the restored file isn't one with those links",
     flag<&O::ghostLinks>},
    {Files, "evasive-devices", 0, None, "", HasNo, Captures, Built,
     "open any path of the same device if the original path doesn't exist", flag<&O::evasiveDevices>,
     "evasive_devices"},
    {Files, "file-locks", 'l', None, "", HasNo, Trees, Built, "dump and restore file locks", flag<&O::fileLocks>,
     open("file_locks")},
    {Files, "file-validation", 0, Required, "filesize|buildid", NoNo, Trees, Built,
     "how to check that a file is unchanged (default: buildid)", parsed<&O::fileValidation, parseFileValidation>},
    {Files, "skip-file-rwx-check", 0, None, "", HasNo, OnRestore, Built, "do not compare permission bits of files",
     flag<&O::skipFileRwxCheck>, "skip_file_rwx_check"},
    {Files, "force-irmap", 0, None, "", HasNo, Freezes, Built, "find paths of watched inodes by scanning directories",
     flag<&O::forceIrmap>, "force_irmap"},
    {Files, "irmap-scan-path", 0, Required, "DIR", NoNo, Freezes, Built, "scan this directory, too; may be repeated",
     append<&O::irmapScanPaths>, "irmap_scan_paths"},
    {Mounts, "root", 'r', Required, "DIR", NoNo, Trees, Built, "root of the restored mount namespace", path<&O::root>,
     "root"},
    {Mounts, "skip-mnt", 0, Required, "DIR", NoNo, Captures, Built, "do not dump this mount point; may be repeated",
     append<&O::skipMounts>, "skip_mnt"},
    {Mounts, "enable-fs", 0, Required, "LIST", NoNo, Trees, Built,
     "mount these file system types although criu does not know them, or all", enableFilesystems, "enable_fs"},
    {Mounts,
     "ext-mount-map",
     'M',
     Required,
     "KEY:VALUE",
     NoNo,
     Trees,
     Built,
     "name an external mount, or auto; older form of --external mnt",
     parsedInto<parseExtMount>,
     {"ext_mnt", "auto_ext_mnt", readExtMounts}},
    {Mounts, "enable-external-sharing", 0, None, "", NoNo, Captures, Built,
     "accept mounts in a peer group with mounts outside", flag<&O::externalSharing>, "ext_sharing"},
    {Mounts, "enable-external-masters", 0, None, "", NoNo, Captures, Built, "accept mounts whose master is outside",
     flag<&O::externalMasters>, "ext_masters"},
    {Mounts, "mntns-compat-mode", 0, None, "", HasNo, OnRestore, Moot, "use the mount engine for old kernels",
     flag<&O::mntnsCompatMode>, "mntns_compat_mode"},
    {Mounts,
     "join-ns",
     'J',
     Required,
     "net:FILE|uts:FILE|ipc:FILE|time:FILE|mnt:FILE|user:FILE",
     NoNo,
     OnRestore,
     Built,
     "restore into an existing namespace; FILE is its file or a pid",
     parsedItem<&O::joinNs, parseJoinNs>,
     {"join_ns", readJoinNs}},
    {Mounts,
     "empty-ns",
     0,
     Required,
     "net",
     NoNo,
     Trees,
     Built,
     "create the network namespace without its content",
     emptyNamespace,
     {"empty_ns", readEmptyNs}},
    {Mounts, "weak-sysctls", 0, None, "", HasNo, OnRestore, Built, "ignore a sysctl that doesn't exist on this kernel",
     flag<&O::weakSysctls>, "weak_sysctls"},
    {Network, "tcp-established", 0, None, "", HasNo, Trees, Built, "dump and restore open TCP connections",
     flag<&O::tcpEstablished>, open("tcp_established")},
    {Network, "tcp-close", 0, None, "", HasNo, Trees, Built, "restore TCP connections as closed", flag<&O::tcpClose>,
     open("tcp_close")},
    {Network, "inet-map", 0, Required, "OLD=NEW", NoNo, OnRestore, Built,
     "restore sockets with address NEW instead of OLD; both may be prefixes of one length (10.0.0.0/8=10.1.0.0/8); may "
     "be repeated",
     parsedItem<&O::inetMap, parseInetMapping>, open("inet_map")},
    {Network, "skip-in-flight", 0, None, "", HasNo, Captures, Built,
     "do not dump connections that are not accepted yet", flag<&O::tcpSkipInFlight>, open("tcp_skip_in_flight")},
    {Network,
     "ext-unix-sk",
     'x',
     Attached,
     "INODES",
     NoNo,
     Trees,
     Built,
     "accept Unix datagram sockets with a peer outside of the tree",
     extUnixSockets,
     {"ext_unix_sk", "unix_sk_ino", readExtUnixSockets}},
    {Network,
     "network-lock",
     0,
     Required,
     "iptables|nftables|skip",
     NoNo,
     Captures,
     Built,
     "how to drop packets of dumped connections (default: iptables)",
     parsed<&O::networkLock, parseNetworkLock>,
     {"network_lock", readNetworkLock}},
    {Network,
     "veth-pair",
     0,
     Required,
     "IN=OUT",
     NoNo,
     OnRestore,
     Built,
     "name of the outer end of a veth device; may be repeated",
     vethPair,
     {"veths", readVethPairs}},
    {Cgroups,
     "manage-cgroups",
     0,
     Attached,
     "none|props|soft|full|strict|ignore",
     NoNo,
     Trees,
     Built,
     "how to restore cgroups (default: soft)",
     manageCgroups,
     {"manage_cgroups", "manage_cgroups_mode", readCgroupMode}},
    {Cgroups,
     "cgroup-root",
     0,
     Required,
     "[CONTROLLER:]PATH",
     NoNo,
     Trees,
     Built,
     "restore cgroups below PATH; may be repeated",
     parsedItem<&O::cgroupRoots, parseCgroupRoot>,
     {"cg_root", readCgroupRoots}},
    {Cgroups, "cgroup-props", 0, Required, "TEXT", NoNo, Trees, Built, "properties of controllers to dump and restore",
     text<&O::cgroupProps>, "cgroup_props"},
    {Cgroups, "cgroup-props-file", 0, Required, "FILE", NoNo, Trees, Built, "read --cgroup-props from FILE",
     path<&O::cgroupPropsFile>, "cgroup_props_file"},
    {Cgroups, "cgroup-dump-controller", 0, Required, "NAME", NoNo, Captures, Built,
     "dump only these controllers; may be repeated", append<&O::cgroupDumpControllers>, "cgroup_dump_controller"},
    {Cgroups, "cgroup-yard", 0, Required, "DIR", NoNo, Trees, Built, "directory of mounted cgroup hierarchies",
     path<&O::cgroupYard>, "cgroup_yard"},
    {Security, "lsm-profile", 0, Required, "apparmor:NAME|selinux:NAME|none:", NoNo, OnRestore, Built,
     "use this AppArmor or SELinux label instead of the dumped one", parsed<&O::lsmProfile, parseLsmProfile>,
     "lsm_profile"},
    {Security, "lsm-mount-context", 0, Required, "CONTEXT", NoNo, OnRestore, Built,
     "use this context for mounts instead of the dumped one", text<&O::lsmMountContext>, "lsm_mount_context"},
    {Security,
     "encrypt",
     0,
     Required,
     "KEY",
     NoNo,
     PageWriters,
     Built,
     "encrypt all images for this public key: age1…, or a file (age, PEM, certificate); may be repeated",
     append<&O::encrypt>,
     {"encrypt", readEncrypt}},
    {Security,
     "decrypt",
     0,
     Required,
     "FILE|FD",
     NoNo,
     Decrypting,
     Built,
     "decrypt images with the secret keys in a file, or in an open descriptor",
     path<&O::decrypt>,
     {"decrypt", readDecrypt}},
    {Security,
     "sign",
     0,
     Required,
     "FILE|FD",
     NoNo,
     Dumps,
     Built,
     "sign all images with the secret key (PEM) in a file, or in an open descriptor; certificates after the key go "
     "with the signature",
     path<&O::sign>,
     {"sign", readSign}},
    {Security, "signed-by", 0, Required, "FILE", NoNo, Decrypting, Built,
     "accept only images signed by a public key in FILE, or by a signer that a certificate in FILE certifies",
     path<&O::signedBy>, "signed_by"},
    {Memory, "track-mem", 0, None, "", HasNo, Dumps, Built, "let the kernel track changed pages until the next dump",
     flag<&O::trackMemory>, "track_mem"},
    {Memory, "background", 0, None, "", HasNo, OnDump, Built,
     "with --leave-running: resume the tree when a copy-on-write snapshot of its memory exists, and write that "
     "snapshot afterwards",
     flag<&O::background>, "background"},
    {Memory, "background-memory", 0, Required, "SIZE", NoNo, OnDump, Built,
     "fail if the snapshot takes more memory (default: no limit)", parsed<&O::backgroundMemory, parseSize>,
     "background_memory"},
    {Memory, "prev-images-dir", 0, Required, "DIR", NoNo, PageWriters, Built,
     "parent images, relative to the images directory", path<&O::previousImages>, "parent_img"},
    {Memory,
     "pre-dump-mode",
     0,
     Required,
     "splice|read",
     NoNo,
     OnPreDump,
     Built,
     "how to read memory; in both modes after the processes are resumed (default: splice)",
     parsed<&O::preDumpMode, parsePreDumpMode>,
     {"pre_dump_mode", readPreDumpMode}},
    {Memory, "auto-dedup", 0, None, "", HasNo, Deduping, Built,
     "free pages of images when a newer dump replaces them, or a restore has read them", flag<&O::autoDedup>,
     "auto_dedup"},
    {Memory, "pages-files", 0, Required, "N", NoNo, Dumps, Built,
     "write the memory of each process to N files by several cores; CRIU 4.2 reads only 1 (default: automatic, 1 below "
     "256M)",
     number<&O::pagesFiles, 1, kMostPagesFiles, unsigned>},
    {Memory, "compress", 0, Attached, model::kPageCodecNames, NoNo, OnDump, Built,
     "compress memory and content of tmpfs files; CRIU 4.2 can't read that (default: lz4)", compress,
     open({"compress", "compress_region_size", readCompress})},
    {Memory, "compress-block-size", 0, Required, "SIZE", NoNo, OnDump, Built,
     "compress in blocks of this size, by LZ4 unless --compress says otherwise (default: 256K; above 1M counts as 1M)",
     compressBlocks},
    {Memory, "compress-region", 0, Required, "SIZE", NoNo, OnDump, Built,
     "other name of --compress-block-size, for callers of CRIU 4.3", compressBlocks},
    {Memory, "compress-level", 0, Required, "N", NoNo, OnDump, Built, model::kPageCodecLevels,
     number<&O::compressLevel, 1, kMostCompressLevel, int>},
    {Memory, "compress-acceleration", 0, Required, "N", NoNo, OnDump, Built,
     "other name of --compress-level, for callers of CRIU 4.3", number<&O::compressLevel, 1, kMostCompressLevel, int>,
     open("compress_acceleration")},
    {Memory, "decompress-threads", 0, Required, "N", NoNo, OnRestore, Built,
     "limit of threads that read and decompress the memory of one process; 0 for all processors (default: 0)",
     number<&O::decompressThreads, 0, kMostDecompressThreads, unsigned>, open("decompress_threads")},
    {Memory, "image-io-mode", 0, Required, "writeback|direct", NoNo, PageFileUsers, Built,
     "direct: read and write memory content without the page cache, where the file system can (default: writeback)",
     parsed<&O::imageIo, parseImageIo>, open({"image_io_mode", readImageIoMode})},
    {Memory, "checksum", 0, None, "", HasNo, Summing, Built,
     "write checksums of all images, for criu verify; a restore compares existing ones unless --no- is given",
     flag<&O::checksum>, open("checksum")},
    {Memory, "sync", 0, None, "", HasNo, Dumps, Built,
     "write images to the disk before the dump succeeds (default: before a dump ends the processes)", flag<&O::sync>,
     open("sync")},
    {Memory, "compat", 0, Required, "VERSION", NoNo, Dumps, Built,
     "write only images that CRIU of this version can read: 4.2", compat},
    {Memory, "lazy-pages", 0, None, "", NoNo, Lazy, Built, "transfer memory on demand after the restore",
     flag<&O::lazyPages>, "lazy_pages"},
    {Memory, "map-pages", 0, None, "", NoNo, OnRestore, Built,
     "share memory copy-on-write with other restores of the same images; a daemon runs as long as the restored "
     "processes",
     flag<&O::mapPages>, "map_pages"},
    {Memory, "provider-socket", 0, Required, "FILE", NoNo, Providing, Built,
     "take images and memory from criu memory-provider, which listens at this socket in the work directory",
     text<&O::providerSocket>},
    {Transfer,
     "page-server",
     0,
     None,
     "",
     HasNo,
     PageClients,
     Built,
     "send pages to a page server, or get them from one",
     flag<&O::pageServer>,
     {"ps", readPageServer}},
    {Transfer, "stream", 0, None, "", HasNo, Streamable, Built,
     "send images to criu-image-streamer, or get them from it; it listens in the images directory", flag<&O::stream>,
     "stream"},
    {Transfer,
     "stream-to",
     0,
     Required,
     "-|FD|FILE",
     NoNo,
     StreamSources,
     Built,
     "write all images as one stream to standard output, a descriptor or a file, instead of the images directory",
     path<&O::streamTo>,
     {"stream_to", readStreamTo}},
    {Transfer,
     "stream-from",
     0,
     Required,
     "-|FD|FILE",
     NoNo,
     StreamTargets,
     Built,
     "read images from a stream that another criu writes",
     path<&O::streamFrom>,
     {"stream_from", readStreamFrom}},
    {Transfer, "stream-memory", 0, Required, "SIZE", NoNo, StreamMemory, Built,
     "limit of a stream in memory (default: half of the machine's memory)", parsed<&O::streamMemory, parseSize>,
     "stream_memory"},
    {Transfer, "address", 0, Required, "ADDRESS", NoNo, PageEnds, Built,
     "address of the page server, or path of the service's socket", text<&O::address>},
    {Transfer, "port", 0, Required, "PORT", NoNo, PageWire, Built, "port of the page server",
     number<&O::port, 1, 65535, std::uint16_t>},
    {Transfer, "ps-socket", 0, Required, "FD", NoNo, PageWire, Built, "use this connected socket instead",
     number<&O::pageServerSocket, 0, kFdLimit>},
    {Transfer, "connections", 0, Required, "N", NoNo, Dumps, Built,
     "send memory by N connections, if the page server is this criu (default: 1)",
     number<&O::connections, 1, kMostConnections, unsigned>},
    {Transfer, "tls", 0, None, "", HasNo, PageWire, Built, "encrypt the transfer", flag<&O::tls>, "tls"},
    {Transfer, "tls-no-cn-verify", 0, None, "", NoNo, PageWire, Built, "do not check the peer's name",
     clear<&O::tlsVerifyName>, "tls_no_cn_verify"},
    {Transfer, "tls-peer", 0, Required, "NAME", NoNo, PageWire, Built,
     "name or address that the peer's certificate must have (default: --address)", text<&O::tlsPeer>, "tls_peer"},
    {Transfer, "tls-cacert", 0, Required, "FILE", NoNo, PageWire, Built, "certificates to trust",
     path<&O::tlsCaCertificate>, "tls_cacert"},
    {Transfer, "tls-cacrl", 0, Required, "FILE", NoNo, PageWire, Built, "revoked certificates",
     path<&O::tlsCaRevocations>, "tls_cacrl"},
    {Transfer, "tls-cert", 0, Required, "FILE", NoNo, PageWire, Built, "certificate of this side",
     path<&O::tlsCertificate>, "tls_cert"},
    {Transfer, "tls-key", 0, Required, "FILE", NoNo, PageWire, Built, "private key of --tls-cert", path<&O::tlsKey>,
     "tls_key"},
    {Devices, "no-device", 0, Required, "amdgpu|cuda|PLUGIN", NoNo, Both, Built,
     "do not use this device subsystem or plugin; may be repeated", append<&O::disabledDevices>},
    {Devices, "plugin-option", 0, Required, "NAME=VALUE", NoNo, Both, Built,
     "option of a plugin, PLUGIN.NAME=VALUE; criu itself applies cuda_plugin.backend, .timeout, .device-map; may be "
     "repeated",
     parsedInto<applyPluginOption>, "plugin_options"},
    {Devices, "gpu-map", 0, Required, "OLD=NEW", NoNo, OnRestore, Built,
     "replace GPU OLD by NEW (AMD: gpu id, unique id, PCI address; NVIDIA: UUID, number, model); may be repeated",
     gpuMap},
    {Probing, "feature", 0, Required, "NAME", NoNo, OnCheck, Built,
     "test this feature only, and say what it lacks; list for all", text<&O::feature>},
    {Probing, "extra", 0, None, "", HasNo, OnCheck, Built, "also test features that some programs need",
     flag<&O::checkExtra>},
    {Probing, "experimental", 0, None, "", HasNo, OnCheck, Built, "also test experimental features",
     flag<&O::checkExperimental>},
    {Probing, "all", 0, None, "", NoNo, OnCheck, Built, "test everything",
     flags<&O::checkExtra, &O::checkExperimental>},
    {Probing, "ms", 0, None, "", NoNo, Everywhere, Removed, "", removed},
};

OptionRow rowOf(const device::SubsystemOption& option) {
    const bool isFlag = option.kind == device::SubsystemOption::Kind::Flag;
    const CommandSet commands = !option.restores ? OnDump : option.dumps ? Both : OnRestore;
    OptionRow row{Devices,
                  option.name,
                  0,
                  isFlag ? None : Required,
                  option.placeholder,
                  isFlag ? HasNo : NoNo,
                  commands,
                  Built,
                  option.help,
                  subsystemValue};
    row.subsystem = &option;
    return row;
}

/// Returns the table, with the rows of device subsystems at the end of the section Devices.
std::vector<OptionRow> withSubsystemRows() {
    std::vector<OptionRow> rows;
    for (const OptionRow& row : kTable) {
        if (row.section == Probing && rows.back().section == Devices)
            for (const device::SubsystemOption* const option : device::subsystemOptions())
                rows.push_back(rowOf(*option));
        rows.push_back(row);
    }
    return rows;
}

}  // namespace

std::span<const OptionRow> optionTable() noexcept {
    static const std::vector<OptionRow> table = withSubsystemRows();
    return table;
}

std::string_view sectionTitle(Section section) noexcept {
    switch (section) {
        case General:
            return "General";
        case Run:
            return "Processes";
        case Files:
            return "Files";
        case Mounts:
            return "Mounts and namespaces";
        case Network:
            return "Sockets and network";
        case Cgroups:
            return "Cgroups";
        case Security:
            return "Security";
        case Memory:
            return "Memory";
        case Transfer:
            return "Page server and streams";
        case Devices:
            return "Devices";
        case Probing:
            return "Check";
    }
    return "";
}

}  // namespace criu::options
