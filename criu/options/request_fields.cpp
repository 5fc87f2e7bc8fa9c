// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/request_fields.hpp"

#include <sched.h>

#include <algorithm>

#include "criu/model/page_codec.hpp"
#include "criu/options/option_values.hpp"

namespace criu::options {
namespace {

constexpr std::string_view kDefaultLog = "criu.log";

bool isGiven(const char* text) noexcept {
    return text != nullptr && *text != '\0';
}

/// Returns the path in /proc of a client's descriptor.
std::string clientPath(const Request& request, int fd) {
    if (fd < 0)
        fail("{} is no descriptor", fd);
    return fmt::format("/proc/{}/fd/{}", request.client, fd);
}

/// Throws Error if the client didn't start this process. The field concerns the parent and the descriptors of this
/// process.
void requireInherited(const Request& request) {
    if (!request.inherited)
        fail("only a client that has started criu itself (swrk) may use it");
}

int descriptor(int fd) {
    if (fd < 0)
        fail("{} is no descriptor", fd);
    return fd;
}

}  // namespace

void readImagesDir(model::Options& options, const Request& request) {
    if (request.opts.images_dir_fd >= 0)
        options.imagesDir = clientPath(request, request.opts.images_dir_fd);
    else if (isGiven(request.opts.images_dir))
        options.imagesDir = request.opts.images_dir;
}

void readWorkDir(model::Options& options, const Request& request) {
    if (request.opts.has_work_dir_fd != 0)
        options.workDir = clientPath(request, request.opts.work_dir_fd);
}

void readLogFile(model::Options& options, const Request& request) {
    if (isGiven(request.opts.log_file)) {
        const std::string_view name = request.opts.log_file;
        if (name.find('/') != std::string_view::npos)
            // The wording is fixed: clients search the message for the part after the colon.
            fail("'{}' is a path: No subdirs are allowed in log_file name", name);
        options.logFile = name;
    } else if (request.opts.has_log_to_stderr != 0 && request.opts.log_to_stderr != 0) {
        options.logFile.clear();
    } else if (options.logFile.empty()) {
        options.logFile = kDefaultLog;
    }
}

void readVerbosity(model::Options& options, const Request& request) {
    constexpr int most = static_cast<int>(LogLevel::Debug);
    options.verbosity = static_cast<LogLevel>(std::clamp(request.opts.log_level, 0, most));
}

void readTree(model::Options& options, const Request& request) {
    if (request.command != Command::Dump && request.command != Command::PreDump)
        return;
    const pid_t pid = request.opts.has_pid != 0 ? request.opts.pid : 0;
    if (pid < 0)
        fail("{} is no pid", pid);
    options.tree = HostPid(pid != 0 ? pid : request.client);
}

void readLeaveRunning(model::Options& options, const Request& request) {
    const bool stopped = request.opts.has_leave_stopped != 0 && request.opts.leave_stopped != 0;
    if (request.opts.has_leave_running != 0 && request.opts.leave_running != 0 && !stopped)
        options.finalState = model::FinalState::Running;
}

void readRestoreSibling(model::Options& options, const Request& request) {
    if (request.opts.has_rst_sibling == 0)
        return;
    requireInherited(request);
    options.restoreSibling = request.opts.rst_sibling != 0;
}

void readExecCommand(model::Options& options, const Request& request) {
    if (request.opts.n_exec_cmd == 0)
        return;
    options.execCommandWanted = true;
    options.execCommand.assign(request.opts.exec_cmd, request.opts.exec_cmd + request.opts.n_exec_cmd);
}

void readCpuCaps(model::Options& options, const Request& request) {
    if (request.opts.has_cpu_cap == 0)
        return;
    using enum model::CpuCap;
    model::CpuCaps caps{Image};
    for (const model::CpuCap cap : {Fpu, Cpu, Ins})
        if ((request.opts.cpu_cap & static_cast<std::uint32_t>(cap)) != 0)
            caps.set({cap});
    options.cpuCaps = caps;
}

void readInheritFds(model::Options& options, const Request& request) {
    if (request.opts.n_inherit_fd != 0)
        requireInherited(request);
    for (std::size_t i = 0; i < request.opts.n_inherit_fd; ++i) {
        const ::InheritFd& given = *request.opts.inherit_fd[i];
        // Skips a known name: container runtimes name each standard stream, and two of these streams may be the same
        // pipe.
        const int fd = descriptor(given.fd);
        const bool known = std::any_of(options.inheritFds.begin(), options.inheritFds.end(),
                                       [&](const model::InheritFd& other) { return other.name == given.key; });
        if (!known)
            addInheritFd({fd, given.key}, options);
    }
}

void readExtMounts(model::Options& options, const Request& request) {
    for (std::size_t i = 0; i < request.opts.n_ext_mnt; ++i)
        options.extMounts.push_back({request.opts.ext_mnt[i]->key, request.opts.ext_mnt[i]->val});
    if (request.opts.has_auto_ext_mnt != 0)
        options.autoExtMounts = request.opts.auto_ext_mnt != 0;
}

void readJoinNs(model::Options& options, const Request& request) {
    for (std::size_t i = 0; i < request.opts.n_join_ns; ++i) {
        const ::JoinNamespace& given = *request.opts.join_ns[i];
        std::optional<std::string_view> ids;
        if (isGiven(given.extra_opt))
            ids = given.extra_opt;
        options.joinNs.push_back(makeJoinNs(given.ns, given.ns_file, ids));
    }
}

void readEmptyNs(model::Options& options, const Request& request) {
    if (request.opts.has_empty_ns == 0)
        return;
    if ((request.opts.empty_ns & ~static_cast<std::uint32_t>(CLONE_NEWNET)) != 0)
        fail("{:#x} holds other namespaces than CLONE_NEWNET", request.opts.empty_ns);
    options.emptyNetNs = request.opts.empty_ns != 0;
}

void readExtUnixSockets(model::Options& options, const Request& request) {
    if (request.opts.has_ext_unix_sk == 0)
        return;
    options.extUnixSockets = request.opts.ext_unix_sk != 0;
    for (std::size_t i = 0; i < request.opts.n_unix_sk_ino; ++i)
        options.extUnixInodes.push_back(request.opts.unix_sk_ino[i]->inode);
}

void readNetworkLock(model::Options& options, const Request& request) {
    if (request.opts.has_network_lock == 0)
        return;
    switch (request.opts.network_lock) {
        case CRIU_NETWORK_LOCK_METHOD__IPTABLES:
            options.networkLock = model::NetworkLock::Iptables;
            return;
        case CRIU_NETWORK_LOCK_METHOD__NFTABLES:
            options.networkLock = model::NetworkLock::Nftables;
            return;
        case CRIU_NETWORK_LOCK_METHOD__SKIP:
            options.networkLock = model::NetworkLock::Skip;
            return;
        default:
            fail("there is no method {}", static_cast<int>(request.opts.network_lock));
    }
}

void readVethPairs(model::Options& options, const Request& request) {
    for (std::size_t i = 0; i < request.opts.n_veths; ++i)
        options.vethPairs.push_back({request.opts.veths[i]->if_in, request.opts.veths[i]->if_out});
}

void readCgroupMode(model::Options& options, const Request& request) {
    using enum model::CgroupMode;
    if (request.opts.has_manage_cgroups != 0)
        options.cgroupMode = request.opts.manage_cgroups != 0 ? Soft : Ignore;
    if (request.opts.has_manage_cgroups_mode == 0)
        return;
    switch (request.opts.manage_cgroups_mode) {
        case CRIU_CG_MODE__IGNORE:
            options.cgroupMode = Ignore;
            return;
        case CRIU_CG_MODE__CG_NONE:
            options.cgroupMode = None;
            return;
        case CRIU_CG_MODE__PROPS:
            options.cgroupMode = Props;
            return;
        case CRIU_CG_MODE__SOFT:
        case CRIU_CG_MODE__DEFAULT:
            options.cgroupMode = Soft;
            return;
        case CRIU_CG_MODE__FULL:
            options.cgroupMode = Full;
            return;
        case CRIU_CG_MODE__STRICT:
            options.cgroupMode = Strict;
            return;
        default:
            fail("there is no mode {}", static_cast<int>(request.opts.manage_cgroups_mode));
    }
}

void readCgroupRoots(model::Options& options, const Request& request) {
    for (std::size_t i = 0; i < request.opts.n_cg_root; ++i) {
        const ::CgroupRoot& given = *request.opts.cg_root[i];
        options.cgroupRoots.push_back({given.ctrl != nullptr ? given.ctrl : "", given.path});
    }
}

void readPreDumpMode(model::Options& options, const Request& request) {
    if (request.opts.has_pre_dump_mode == 0)
        return;
    switch (request.opts.pre_dump_mode) {
        case CRIU_PRE_DUMP_MODE__SPLICE:
            options.preDumpMode = model::PreDumpMode::Splice;
            return;
        case CRIU_PRE_DUMP_MODE__VM_READ:
            options.preDumpMode = model::PreDumpMode::Read;
            return;
        default:
            fail("there is no mode {}", static_cast<int>(request.opts.pre_dump_mode));
    }
}

void readImageIoMode(model::Options& options, const Request& request) {
    if (request.opts.has_image_io_mode == 0)
        return;
    switch (request.opts.image_io_mode) {
        case CRIU_IMAGE_IO_MODE__WRITEBACK:
            options.imageIo = model::ImageIo::Writeback;
            return;
        case CRIU_IMAGE_IO_MODE__DIRECT:
            options.imageIo = model::ImageIo::Direct;
            return;
        default:
            fail("there is no mode {}", static_cast<int>(request.opts.image_io_mode));
    }
}

void readCompress(model::Options& options, const Request& request) {
    if (request.opts.has_compress_region_size != 0)
        options.compressBlock = parseCompressBlock(std::to_string(request.opts.compress_region_size));
    const bool wanted =
        request.opts.has_compress != 0 ? request.opts.compress != 0 : request.opts.has_compress_region_size != 0;
    if (wanted && options.compress == model::PageCodec::None)
        options.compress = model::PageCodec::Lz4;
    if (!wanted && request.opts.has_compress != 0)
        options.compress = model::PageCodec::None;
}

void readPageServer(model::Options& options, const Request& request) {
    const ::CriuPageServerInfo* const server = request.opts.ps;
    const bool lazy = request.opts.has_lazy_pages != 0 ? request.opts.lazy_pages != 0 : options.lazyPages;
    if (lazy && request.command == Command::Dump) {
        if (server != nullptr && isGiven(server->address))
            options.address = server->address;
        if (!options.address)
            options.address = "127.0.0.1";
    }
    if (server == nullptr)
        return;
    // Truncates the number as CRIU 4.2 does, because clients may rely on it. With 0, the kernel chooses the port.
    const auto port = static_cast<std::uint16_t>(server->has_port != 0 ? server->port : 0);
    options.port.reset();
    if (port != 0)
        options.port = port;
    if (lazy)
        return;
    options.pageServer = true;
    options.address.reset();
    if (isGiven(server->address))
        options.address = server->address;
    if (server->has_fd != 0) {
        requireInherited(request);
        options.pageServerSocket = descriptor(server->fd);
    }
}

void readStreamTo(model::Options& options, const Request& request) {
    if (request.opts.has_stream_to == 0)
        return;
    requireInherited(request);
    options.streamTo = fmt::to_string(descriptor(request.opts.stream_to));
}

void readStreamFrom(model::Options& options, const Request& request) {
    if (request.opts.has_stream_from == 0)
        return;
    requireInherited(request);
    options.streamFrom = fmt::to_string(descriptor(request.opts.stream_from));
}

void readAllowLoss(model::Options& options, const Request& request) {
    if (request.opts.has_allow_loss != 0)
        options.allowLoss = request.opts.allow_loss != 0;
    for (std::size_t i = 0; i < request.opts.n_allow_losses; ++i)
        options.allowedLosses |= parseLoss(request.opts.allow_losses[i]);
}

void readEncrypt(model::Options& options, const Request& request) {
    if (request.opts.n_encrypt != 0)
        options.encrypt.assign(request.opts.encrypt, request.opts.encrypt + request.opts.n_encrypt);
}

void readDecrypt(model::Options& options, const Request& request) {
    if (request.opts.has_decrypt == 0)
        return;
    requireInherited(request);
    options.decrypt = fmt::to_string(descriptor(request.opts.decrypt));
}

void readSign(model::Options& options, const Request& request) {
    if (request.opts.has_sign == 0)
        return;
    requireInherited(request);
    options.sign = fmt::to_string(descriptor(request.opts.sign));
}

}  // namespace criu::options
