// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/option_table.hpp"

#include "criu/options/option_actions.hpp"
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
constexpr CommandSet StreamMemory{Dump, PreDump, Restore, CpuinfoDump};
constexpr CommandSet OnDump{Dump};
constexpr CommandSet OnRestore{Restore, Explain};
constexpr CommandSet Detachable{Restore, PageServer, Service, LazyPages};
constexpr CommandSet Scripted{Dump, Restore, PageServer, Service, LazyPages};
constexpr CommandSet CpuAware{Dump, Restore, CpuinfoCheck, Explain};
constexpr CommandSet Serving{PageServer, Service, LazyPages, Dump};
constexpr CommandSet OnPreDump{PreDump};
constexpr CommandSet Timed{Dump, PreDump, Restore, StreamPack, StreamUnpack};
constexpr CommandSet Deduping{Dump, Restore, PageServer, PreDump};
constexpr CommandSet Lazy{Dump, Restore, PageServer};
constexpr CommandSet PageClients{Dump, PreDump, LazyPages};
constexpr CommandSet Summing{Dump, PreDump, PageServer, Restore, LazyPages, Explain};
constexpr CommandSet OnCheck{Check};
constexpr CommandSet Both{Dump, Restore, Explain};
constexpr CommandSet Dumps{Dump, PreDump};
constexpr CommandSet PageWriters{Dump, PreDump, PageServer};
constexpr CommandSet PageWire{Dump, PreDump, LazyPages, PageServer};
constexpr CommandSet PageEnds{Dump, PreDump, LazyPages, PageServer, Service};

/// The part of an option that every client may give.
constexpr RequestPart open(RequestPart part) noexcept {
    return part.allowedToClients();
}

using enum Section;
using enum Support;
using O = Options;

constexpr OptionRow kTable[] = {
    {General, "help", 'h', None, "", NoNo, Everywhere, Built, "print this text; with a command, the options it knows",
     flags<&O::helpWanted>},
    {General, "version", 'V', None, "", NoNo, Everywhere, Built, "print the version", flags<&O::versionWanted>},
    {General, "images-dir", 'D', Required, "DIR", NoNo, Everywhere, Built,
     "where image files are (default: the current directory)", path<&O::imagesDir>,
     open({"images_dir_fd", "images_dir", readImagesDir})},
    {General, "work-dir", 'W', Required, "DIR", NoNo, Everywhere, Built,
     "where logs, pid files, statistics and sockets go (default: the images directory)", path<&O::workDir>,
     open({"work_dir_fd", readWorkDir})},
    {General, "log-file", 'o', Required, "FILE", NoNo, Everywhere, Built,
     "write messages to FILE in the work directory, - for standard output (default: standard error)", text<&O::logFile>,
     open({"log_file", "log_to_stderr", readLogFile})},
    {General, "verbosity", 'v', Attached, "LEVEL", NoNo, Everywhere, Built,
     "how much to log: 0 nothing, 1 errors, 2 warnings (default), 3 what is done, 4 details; without a number, and "
     "for each v of -vvv, one more",
     verbosity, open({"log_level", readVerbosity})},
    {General, "quiet", 'q', None, "", NoNo, Everywhere, Built, "no progress line on the terminal", flags<&O::quiet>},
    {General, "display-stats", 0, None, "", HasNo, Runs, Built, "print times and amounts at the end",
     flag<&O::displayStats>, open("display_stats")},
    {General, "trace", 0, Required, "FILE", NoNo, Runs, Built,
     "write a timeline of what criu's processes and threads do, for https://ui.perfetto.dev", path<&O::traceFile>},
    {General, "config", 0, Required, "FILE", NoNo, Everywhere, Built,
     "read options from FILE instead of the default configuration files", path<&O::configFile>, "config_file"},
    {General, "no-default-config", 0, None, "", NoNo, Everywhere, Built, "do not read the default configuration files",
     flags<&O::noDefaultConfig>},
    {General, "close", 0, Required, "FD", NoNo, Everywhere, Built, "close this inherited descriptor first", closeFd},
    {General, "deprecated", 0, None, "", HasNo, Everywhere, Moot, "read parts of images that only old versions wrote",
     flag<&O::deprecatedImages>},
    {General, "unprivileged", 0, None, "", HasNo, Everywhere, Missing, "make do with CAP_CHECKPOINT_RESTORE",
     flag<&O::unprivileged>, "unprivileged"},
    {Run, "tree", 't', Required, "PID", NoNo, Dumps, Built, "the process to dump, with all its descendants", tree,
     open({"pid", readTree})},
    {Run, "leave-stopped", 's', None, "", NoNo, Both, Built, "leave the processes stopped",
     finalState<model::FinalState::Stopped>, open("leave_stopped")},
    {Run, "leave-running", 'R', None, "", NoNo, OnDump, Built, "let the processes go on after the dump",
     finalState<model::FinalState::Running>, open({"leave_running", readLeaveRunning})},
    {Run, "restore-detached", 'd', None, "", HasNo, Detachable, Built, "do not wait for the restored processes",
     flag<&O::detached>},
    {Run, "daemon", 0, None, "", HasNo, Detachable, Built, "go to the background; the same as -d", flag<&O::detached>},
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
    {Run,
     "exec-cmd",
     0,
     None,
     "",
     NoNo,
     OnRestore,
     Built,
     "after the restore become the command that stands behind --, as parent of the restored root",
     flags<&O::execCommandWanted>,
     {"exec_cmd", readExecCommand}},
    {Run, "pidfile", 0, Required, "FILE", NoNo, Detachable, Built,
     "write the pid of the restored root, or of the daemon, to a new FILE", path<&O::pidFile>},
    {Run, "shell-job", 'j', None, "", HasNo, Both, Built, "the tree belongs to a session or terminal outside of it",
     flag<&O::shellJob>, open("shell_job")},
    {Run, "action-script", 0, Required, "PROGRAM", NoNo, Scripted, Built, "run PROGRAM at each stage; may be repeated",
     append<&O::actionScripts>},
    {Run, "timeout", 0, Required, "SECONDS", NoNo, Timed, Built,
     "give up when the tree isn't frozen by then, or the other side of a connection does nothing for so long; 0 for "
     "never (default: 10; where --stream-from waits, 0)",
     timeout, open("timeout")},
    {Run, "freeze-cgroup", 0, Required, "DIR", NoNo, Dumps, Built,
     "freeze through this cgroup, which holds the whole tree", path<&O::freezeCgroup>, "freeze_cgroup"},
    {Run, "log-pid", 0, None, "", HasNo, OnRestore, Built, "one more log file, NAME.PID, for each restored process",
     flag<&O::logPid>},
    {Run, "libdir", 'L', Required, "DIR", NoNo, Runs, Built,
     "where plugins are (default: $CRIU_LIBS_DIR, then /usr/lib/criu)", path<&O::libDir>},
    {Run, "cpu-cap", 0, Attached, "fpu|cpu|ins|all|none|LIST", NoNo, CpuAware, Built,
     "what the processor must offer; in a LIST, with ^ what it need not (default: fpu,ins)", cpuCaps,
     open({"cpu_cap", readCpuCaps})},
    {Run, "status-fd", 0, Required, "FD", NoNo, Serving, Built, "write one zero byte here when ready to serve",
     number<&O::statusFd, 0, kFdLimit>},
    {Run, "allow-uprobes", 0, None, "", HasNo, Both, Missing, "accept processes with uprobes set in them",
     flag<&O::allowUprobes>},
    {Files, "external", 0, Required, "TYPE[ID][:VALUE]", NoNo, Both, Built,
     "a resource outside the tree, named instead of dumped; may be repeated", parsedInto<addExternal>, "external"},
    {Files,
     "inherit-fd",
     0,
     Required,
     "fd[N]:NAME",
     NoNo,
     OnRestore,
     Built,
     "use criu's descriptor N for this file; may be repeated",
     parsedInto<parseInheritFd>,
     {"inherit_fd", readInheritFds}},
    {Files, "allow-loss", 0, None, "", HasNo, OnRestore, Built,
     "restore pipes that led out of the tree with nobody at the other end", flag<&O::allowLoss>, open("allow_loss")},
    {Files, "ghost-limit", 0, Required, "SIZE", NoNo, OnDump, Built,
     "largest deleted file to put into the images (default: 1M)", parsed<&O::ghostLimit, parseSize>,
     open("ghost_limit")},
    {Files, "ghost-fiemap", 0, None, "", HasNo, OnDump, Moot,
     "find holes of deleted files by FIEMAP: they are always found", flag<&O::ghostFiemap>},
    {Files, "link-remap", 0, None, "", HasNo, OnDump, Built,
     "give deleted files that still have links elsewhere a temporary name", flag<&O::linkRemap>, "link_remap"},
    {Files, "evasive-devices", 0, None, "", HasNo, OnDump, Built,
     "take any path of the same device when the one opened is gone", flag<&O::evasiveDevices>, "evasive_devices"},
    {Files, "file-locks", 'l', None, "", HasNo, Both, Built, "dump and restore file locks", flag<&O::fileLocks>,
     open("file_locks")},
    {Files, "file-validation", 0, Required, "filesize|buildid", NoNo, Both, Built,
     "how to see that a file is still the same (default: buildid)", parsed<&O::fileValidation, parseFileValidation>},
    {Files, "skip-file-rwx-check", 0, None, "", HasNo, OnRestore, Built, "do not compare permission bits of files",
     flag<&O::skipFileRwxCheck>, "skip_file_rwx_check"},
    {Files, "force-irmap", 0, None, "", HasNo, Dumps, Built, "find paths of watched inodes by scanning directories",
     flag<&O::forceIrmap>, "force_irmap"},
    {Files, "irmap-scan-path", 0, Required, "DIR", NoNo, Dumps, Built, "one more directory to scan; may be repeated",
     append<&O::irmapScanPaths>, "irmap_scan_paths"},
    {Mounts, "root", 'r', Required, "DIR", NoNo, Both, Built, "the restored mount namespace's root", path<&O::root>,
     "root"},
    {Mounts, "skip-mnt", 0, Required, "DIR", NoNo, OnDump, Built, "leave this mount point out; may be repeated",
     append<&O::skipMounts>, "skip_mnt"},
    {Mounts, "enable-fs", 0, Required, "LIST", NoNo, Both, Built, "file systems to mount as they are, or all",
     enableFilesystems, "enable_fs"},
    {Mounts,
     "ext-mount-map",
     'M',
     Required,
     "KEY:VALUE",
     NoNo,
     Both,
     Built,
     "older way to name an external mount, or auto",
     parsedInto<parseExtMount>,
     {"ext_mnt", "auto_ext_mnt", readExtMounts}},
    {Mounts, "enable-external-sharing", 0, None, "", NoNo, OnDump, Built, "accept mounts shared with the outside",
     flag<&O::externalSharing>, "ext_sharing"},
    {Mounts, "enable-external-masters", 0, None, "", NoNo, OnDump, Built, "accept mounts that follow one outside",
     flag<&O::externalMasters>, "ext_masters"},
    {Mounts, "mntns-compat-mode", 0, None, "", HasNo, OnRestore, Moot, "use the mount engine for old kernels",
     flag<&O::mntnsCompatMode>, "mntns_compat_mode"},
    {Mounts,
     "join-ns",
     'J',
     Required,
     "net:FILE|uts:FILE|ipc:FILE|time:FILE|mnt:FILE",
     NoNo,
     OnRestore,
     Built,
     "restore into an existing namespace, FILE being its file or a pid",
     parsedItem<&O::joinNs, parseJoinNs>,
     {"join_ns", readJoinNs}},
    {Mounts,
     "empty-ns",
     0,
     Required,
     "net",
     NoNo,
     Both,
     Built,
     "make the network namespace but leave its content out",
     emptyNamespace,
     {"empty_ns", readEmptyNs}},
    {Mounts, "weak-sysctls", 0, None, "", HasNo, OnRestore, Built, "go on when a sysctl doesn't exist here",
     flag<&O::weakSysctls>, "weak_sysctls"},
    {Network, "tcp-established", 0, None, "", HasNo, Both, Built, "dump and restore open TCP connections",
     flag<&O::tcpEstablished>, open("tcp_established")},
    {Network, "tcp-close", 0, None, "", HasNo, Both, Built, "restore TCP connections as closed", flag<&O::tcpClose>,
     open("tcp_close")},
    {Network, "skip-in-flight", 0, None, "", HasNo, OnDump, Built, "leave out connections that are not accepted yet",
     flag<&O::tcpSkipInFlight>, open("tcp_skip_in_flight")},
    {Network,
     "ext-unix-sk",
     'x',
     Attached,
     "INODES",
     NoNo,
     Both,
     Built,
     "accept Unix datagram sockets with a peer outside",
     extUnixSockets,
     {"ext_unix_sk", "unix_sk_ino", readExtUnixSockets}},
    {Network,
     "network-lock",
     0,
     Required,
     "iptables|nftables|skip",
     NoNo,
     OnDump,
     Built,
     "how packets are held back (default: iptables)",
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
     Both,
     Built,
     "what to do about cgroups on restore (default: soft)",
     manageCgroups,
     {"manage_cgroups", "manage_cgroups_mode", readCgroupMode}},
    {Cgroups,
     "cgroup-root",
     0,
     Required,
     "[CONTROLLER:]PATH",
     NoNo,
     Both,
     Built,
     "restore cgroups below PATH; may be repeated",
     parsedItem<&O::cgroupRoots, parseCgroupRoot>,
     {"cg_root", readCgroupRoots}},
    {Cgroups, "cgroup-props", 0, Required, "TEXT", NoNo, Both, Built, "which properties controllers have",
     text<&O::cgroupProps>, "cgroup_props"},
    {Cgroups, "cgroup-props-file", 0, Required, "FILE", NoNo, Both, Built, "the same from a file",
     path<&O::cgroupPropsFile>, "cgroup_props_file"},
    {Cgroups, "cgroup-dump-controller", 0, Required, "NAME", NoNo, OnDump, Built,
     "dump only these controllers; may be repeated", append<&O::cgroupDumpControllers>, "cgroup_dump_controller"},
    {Cgroups, "cgroup-yard", 0, Required, "DIR", NoNo, Both, Built, "where cgroup hierarchies are mounted already",
     path<&O::cgroupYard>, "cgroup_yard"},
    {Security, "lsm-profile", 0, Required, "apparmor:NAME|selinux:NAME|none:", NoNo, OnRestore, Built,
     "use this profile of apparmor or selinux instead of the dumped one", parsed<&O::lsmProfile, parseLsmProfile>,
     "lsm_profile"},
    {Security, "lsm-mount-context", 0, Required, "CONTEXT", NoNo, OnRestore, Missing,
     "use this context for mounts instead of the dumped one", text<&O::lsmMountContext>, "lsm_mount_context"},
    {Memory, "track-mem", 0, None, "", HasNo, Dumps, Built, "have the kernel track what changes until the next dump",
     flag<&O::trackMemory>, "track_mem"},
    {Memory, "background", 0, None, "", HasNo, OnDump, Built,
     "with --leave-running: let the tree go on as soon as there is a copy-on-write snapshot of its memory, and write "
     "that meanwhile",
     flag<&O::background>, "background"},
    {Memory, "background-memory", 0, Required, "SIZE", NoNo, OnDump, Built,
     "give up when the snapshot has come to take so much memory (default: no limit)",
     parsed<&O::backgroundMemory, parseSize>, "background_memory"},
    {Memory, "prev-images-dir", 0, Required, "DIR", NoNo, PageWriters, Built,
     "earlier images to refer to, relative to the images directory", path<&O::previousImages>, "parent_img"},
    {Memory,
     "pre-dump-mode",
     0,
     Required,
     "splice|read",
     NoNo,
     OnPreDump,
     Built,
     "how memory is read, in both cases when the processes run again (default: splice)",
     parsed<&O::preDumpMode, parsePreDumpMode>,
     {"pre_dump_mode", readPreDumpMode}},
    {Memory, "auto-dedup", 0, None, "", HasNo, Deduping, Built,
     "free pages of images as soon as newer ones replace or restore them", flag<&O::autoDedup>, "auto_dedup"},
    {Memory, "pages-files", 0, Required, "N", NoNo, OnDump, Built,
     "spread the memory of each process over N files, for many cores to write; CRIU 4.2 reads 1 only (default: as pays "
     "off, 1 below 256M)",
     number<&O::pagesFiles, 1, kMostPagesFiles, unsigned>},
    {Memory, "compress", 0, Attached, "lz4|zstd", NoNo, OnDump, Built,
     "compress memory, and what files of a tmpfs hold; CRIU 4.2 doesn't read that (default: lz4)", compress},
    {Memory, "compress-block-size", 0, Required, "SIZE", NoNo, OnDump, Built,
     "how much is compressed together (default: 256K, up to 1M)", parsed<&O::compressBlock, parseCompressBlock>},
    {Memory, "compress-level", 0, Required, "N", NoNo, OnDump, Built,
     "zstd: 1 (fast) to 19 (small); lz4: 1 (small) to 65537 (fast) (default: 1)",
     number<&O::compressLevel, 1, kMostCompressLevel, int>},
    {Memory, "checksum", 0, None, "", HasNo, Summing, Built,
     "write checksums of all images (criu verify compares them); restore compares those that are there unless --no- is "
     "given",
     flag<&O::checksum>, open("checksum")},
    {Memory, "compat", 0, Required, "VERSION", NoNo, OnDump, Built,
     "write nothing that CRIU of this version can't read: 4.2", compat},
    {Memory, "lazy-pages", 0, None, "", NoNo, Lazy, Built, "move memory on demand after the restore",
     flag<&O::lazyPages>, "lazy_pages"},
    {Transfer,
     "page-server",
     0,
     None,
     "",
     HasNo,
     PageClients,
     Built,
     "send pages to, or get them from, a page server",
     flag<&O::pageServer>,
     {"ps", readPageServer}},
    {Transfer, "stream", 0, None, "", HasNo, Streamable, Built,
     "pass images to, or get them from, criu-image-streamer, which listens in the images directory", flag<&O::stream>,
     "stream"},
    {Transfer,
     "stream-to",
     0,
     Required,
     "-|FD|FILE",
     NoNo,
     StreamSources,
     Built,
     "write all images as one stream to standard output, a descriptor or a file, nothing into the images directory",
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
     "read images from such a stream",
     path<&O::streamFrom>,
     {"stream_from", readStreamFrom}},
    {Transfer, "stream-memory", 0, Required, "SIZE", NoNo, StreamMemory, Built,
     "how much of a stream may be held in memory (default: half of the machine's)", parsed<&O::streamMemory, parseSize>,
     "stream_memory"},
    {Transfer, "address", 0, Required, "ADDRESS", NoNo, PageEnds, Built,
     "address of the page server, or path of the service's socket", text<&O::address>},
    {Transfer, "port", 0, Required, "PORT", NoNo, PageWire, Built, "port of the page server",
     number<&O::port, 1, 65535, std::uint16_t>},
    {Transfer, "ps-socket", 0, Required, "FD", NoNo, PageWire, Built, "connected socket to use instead",
     number<&O::pageServerSocket, 0, kFdLimit>},
    {Transfer, "connections", 0, Required, "N", NoNo, Dumps, Built,
     "send memory by N connections at once, if the page server is one of this criu (default: 1)",
     number<&O::connections, 1, kMostConnections, unsigned>},
    {Transfer, "tls", 0, None, "", HasNo, PageWire, Built, "encrypt the transfer", flag<&O::tls>, "tls"},
    {Transfer, "tls-no-cn-verify", 0, None, "", NoNo, PageWire, Built, "do not check the peer's name",
     clear<&O::tlsVerifyName>, "tls_no_cn_verify"},
    {Transfer, "tls-cacert", 0, Required, "FILE", NoNo, PageWire, Built, "certificates to trust",
     path<&O::tlsCaCertificate>, "tls_cacert"},
    {Transfer, "tls-cacrl", 0, Required, "FILE", NoNo, PageWire, Built, "certificates revoked",
     path<&O::tlsCaRevocations>, "tls_cacrl"},
    {Transfer, "tls-cert", 0, Required, "FILE", NoNo, PageWire, Built, "certificate of this side",
     path<&O::tlsCertificate>, "tls_cert"},
    {Transfer, "tls-key", 0, Required, "FILE", NoNo, PageWire, Built, "its private key", path<&O::tlsKey>, "tls_key"},
    {Devices, "no-device", 0, Required, "amdgpu|cuda|PLUGIN", NoNo, Both, Built,
     "do without this device subsystem or plugin; may be repeated", append<&O::disabledDevices>},
    {Devices, "gpu-map", 0, Required, "OLD=NEW", NoNo, OnRestore, Built,
     "put what was on GPU OLD on NEW, each by gpu id, unique id, UUID or PCI address; may be repeated", gpuMap},
    {Devices, "cuda-timeout", 0, Required, "SECONDS", NoNo, OnDump, Built,
     "how long CUDA programs may take to finish the work they have given to GPUs, and then the driver to answer "
     "(default: 60)",
     cudaTimeout},
    {Devices, "parallel", 0, None, "", HasNo, OnRestore, Built,
     "fill GPU memory from criu while processes are restored (default: on)", flag<&O::gpuParallel>},
    {Devices, "gpu-buffer", 0, Required, "SIZE", NoNo, Both, Built,
     "largest buffer for copying from and to one GPU (default: $KFD_MAX_BUFFER_SIZE, or 16M)",
     parsed<&O::gpuBufferLimit, parseSize>},
    {Devices, "gpu-fw-check", 0, None, "", HasNo, OnRestore, Built,
     "a GPU's firmware may not be older than at the dump (default: $KFD_FW_VER_CHECK, or on)",
     gpuCheck<&model::GpuChecks::firmware>},
    {Devices, "gpu-sdma-fw-check", 0, None, "", HasNo, OnRestore, Built,
     "the same for its copy engines (default: $KFD_SDMA_FW_VER_CHECK, or on)",
     gpuCheck<&model::GpuChecks::sdmaFirmware>},
    {Devices, "gpu-caches-check", 0, None, "", HasNo, OnRestore, Built,
     "it may not have fewer caches (default: $KFD_CACHES_COUNT_CHECK, or on)", gpuCheck<&model::GpuChecks::caches>},
    {Devices, "gpu-gws-check", 0, None, "", HasNo, OnRestore, Built,
     "nor fewer entries for global wave synchronisation (default: $KFD_NUM_GWS_CHECK, or on)",
     gpuCheck<&model::GpuChecks::gws>},
    {Devices, "gpu-vram-check", 0, None, "", HasNo, OnRestore, Built,
     "nor less memory (default: $KFD_VRAM_SIZE_CHECK, or on)", gpuCheck<&model::GpuChecks::vram>},
    {Devices, "gpu-numa-check", 0, None, "", HasNo, OnRestore, Built,
     "GPUs keep sharing CPU nodes as they did (default: $KFD_NUMA_CHECK, or on)", gpuCheck<&model::GpuChecks::numa>},
    {Devices, "gpu-capability-check", 0, None, "", HasNo, OnRestore, Built,
     "it must have the same capabilities (default: $KFD_CAPABILITY_CHECK, or on)",
     gpuCheck<&model::GpuChecks::capability>},
    {Probing, "feature", 0, Required, "NAME", NoNo, OnCheck, Built, "test this feature only", text<&O::feature>},
    {Probing, "extra", 0, None, "", HasNo, OnCheck, Built, "test also what some programs need", flag<&O::checkExtra>},
    {Probing, "experimental", 0, None, "", HasNo, OnCheck, Built, "test also what is experimental",
     flag<&O::checkExperimental>},
    {Probing, "all", 0, None, "", NoNo, OnCheck, Built, "test everything",
     flags<&O::checkExtra, &O::checkExperimental>},
    {Probing, "ms", 0, None, "", NoNo, Everywhere, Removed, "", removed},
};
}  // namespace

std::span<const OptionRow> optionTable() noexcept {
    return kTable;
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
            return "Security modules";
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
