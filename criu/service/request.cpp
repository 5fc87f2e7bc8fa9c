// SPDX-License-Identifier: GPL-2.0-only
#include "criu/service/request.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/client_rules.hpp"
#include "criu/options/config_file.hpp"
#include "criu/options/request.hpp"
#include "criu/options/request_fields.hpp"

namespace criu::service {
namespace {

using options::Command;
using options::Setting;

bool isGiven(const char* text) noexcept {
    return text != nullptr && *text != '\0';
}

bool names(const std::vector<Setting>& settings, std::string_view option) {
    return std::any_of(settings.begin(), settings.end(),
                       [&](const Setting& setting) { return setting.row->name == option; });
}

void append(std::vector<Setting>& all, std::vector<Setting> more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// Reads the settings in the file config_file of a request. The file may be missing, because container runtimes always
/// name one.
std::vector<Setting> readClientsFile(const CriuOpts& opts) {
    if (!isGiven(opts.config_file))
        return {};
    return options::readConfigFile(opts.config_file).value_or(std::vector<Setting>());
}

/// Throws Error if the client didn't pass one of the descriptors. criu recognizes a passed descriptor because it isn't
/// close-on-exec; all descriptors that criu opens are.
void requireInherited(const model::Options& options) {
    for (const model::InheritFd& inherit : options.inheritFds) {
        const int flags = ::fcntl(inherit.fd, F_GETFD);
        if (flags < 0 || (flags & FD_CLOEXEC) != 0)
            failWith(EBADF, "criu_opts.inherit_fd: fd {} for {} hasn't been passed to criu", inherit.fd, inherit.name);
    }
}

std::uint32_t inodeOf(int socket) {
    struct stat status {};
    sys(::fstat(socket, &status), "stat the socket of the client");
    return static_cast<std::uint32_t>(status.st_ino);
}

bool hasImagesDir(const CriuOpts& opts, const std::vector<Setting>& settings) {
    return opts.images_dir_fd >= 0 || isGiven(opts.images_dir) ||
           std::any_of(settings.begin(), settings.end(),
                       [](const Setting& setting) { return setting.row->name == "images-dir" && setting.value; });
}

/// Returns the client's descriptor of its images directory; negative if the request has none. A check needs only a
/// directory for the log, so it may use the work directory.
int imagesDescriptor(const CriuOpts& opts, const options::Invocation& invocation) {
    const bool logOnly = invocation.command == Command::Check && opts.has_work_dir_fd != 0;
    return logOnly && !hasImagesDir(opts, invocation.settings) ? opts.work_dir_fd : opts.images_dir_fd;
}

/// Returns true if the command creates images or the log in the images directory.
bool makesFiles(const CriuOpts& opts, const options::Invocation& invocation) {
    const bool onlyReads = invocation.command == Command::CpuinfoCheck || invocation.command == Command::Check ||
                           invocation.command == Command::Restore;
    const std::string& log = invocation.options.logFile;
    return !onlyReads || (opts.has_work_dir_fd == 0 && !log.empty() && log != "-");
}

/// Opens both directories by the client's descriptors, unless the client's configuration file (`last`) names other
/// directories.
void openDirectories(const CriuOpts& opts, const std::vector<Setting>& last, const Peer& peer, RequestedRun& run) {
    model::Options& options = run.invocation.options;
    const int images = imagesDescriptor(opts, run.invocation);
    if (images >= 0 && !names(last, "images-dir")) {
        run.imagesDir = openClientsDirectory(peer, images, makesFiles(opts, run.invocation));
        run.client.imagesDir = run.imagesDir.get();
        options.imagesDir = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", run.imagesDir.get()));
    } else if (!peer.client.isOwner) {
        failWith(EPERM, "the client has to open its images directory itself, and to pass images_dir_fd");
    }
    if (run.client.imagesDir >= 0 && opts.has_work_dir_fd != 0 && !names(last, "work-dir")) {
        run.workDir = openClientsDirectory(peer, opts.work_dir_fd, true);
        run.client.workDir = run.workDir.get();
    } else if (run.client.imagesDir >= 0 && names(run.invocation.settings, "work-dir") && options.workDir) {
        run.workDir.reset(sys(::open(options.workDir->c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                              "open the work directory {}", *options.workDir));
        run.client.workDir = run.workDir.get();
    }
}

/// Throws Error if the request has no images directory. The wording is fixed, because clients search for this message.
void requireImagesDir(const CriuOpts& opts, const options::Invocation& invocation) {
    if (!hasImagesDir(opts, invocation.settings) && imagesDescriptor(opts, invocation) < 0)
        fail("Neither images_dir_fd nor images_dir was passed by RPC client.");
}

/// Returns true if the client wants a log of a check. Without a log, criu needs no directory.
bool wantsCheckLog(const CriuOpts& opts, const std::vector<Setting>& last) {
    return isGiven(opts.log_file) || names(last, "log-file");
}

void forgoCheckLog(const model::Options& base, model::Options& options) {
    options.logFile.clear();
    options.imagesDir = base.imagesDir;
    options.workDir = base.workDir;
}

void refuseFor(const model::Client& client, Command command) {
    if (!client.isOwner && command == Command::Restore)
        failWith(EPERM, "only clients with all of criu's rights may restore: log and pid file are made with these");
    if (!client.isOwner && command == Command::PageServer)
        failWith(EPERM, "only clients with all of criu's rights may start page servers, which listen with these");
}

}  // namespace

RequestedRun makeRun(const CriuReq& request, Command command, const options::Invocation& base, const Peer& peer,
                     int socket) {
    RequestedRun run;
    run.client = peer.client;
    refuseFor(run.client, command);
    options::Invocation& invocation = run.invocation;
    invocation = base;
    invocation.command = command;
    std::vector<Setting> last;
    bool directories = request.opts != nullptr;
    if (request.opts != nullptr) {
        const CriuOpts& opts = *request.opts;
        append(invocation.settings,
               options::applyRequest({opts, command, peer.pid, peer.origin == Origin::Client}, invocation.options));
        options::requireAllowed(invocation.settings, run.client);
        last = readClientsFile(opts);
        options::applySettings(last, invocation.options);
        append(invocation.settings, last);
        if (command == Command::Check && !wantsCheckLog(opts, last)) {
            forgoCheckLog(base.options, invocation.options);
            directories = false;
        } else {
            requireImagesDir(opts, invocation);
        }
    } else if (command != Command::Check) {
        fail("the request has no options (criu_req.opts)");
    }
    // The client waits for the reply, so criu doesn't wait for the end of the restored tree.
    invocation.options.detached = !invocation.options.execCommandWanted;
    invocation.options.serviceSocket = inodeOf(socket);
    requireInherited(invocation.options);
    options::validate(invocation, {});
    if (directories)
        openDirectories(*request.opts, last, peer, run);
    return run;
}

void warnOfUnknownFields(const CriuReq& request, Log& log) {
    const auto warn = [&log](const ProtobufCMessage& message) {
        for (unsigned i = 0; i < message.n_unknown_fields; ++i)
            log.warn("{} has a field {} that this criu doesn't know: it has no effect", message.descriptor->name,
                     message.unknown_fields[i].tag);
    };
    warn(request.base);
    if (request.opts != nullptr)
        warn(request.opts->base);
}

void openClientsLog(const CriuReq& request, const Peer& peer, Log& log) noexcept {
    if (request.opts == nullptr || (request.opts->log_to_stderr != 0 && !isGiven(request.opts->log_file)))
        return;
    const CriuOpts& opts = *request.opts;
    const int directory = opts.has_work_dir_fd != 0 ? opts.work_dir_fd : opts.images_dir_fd;
    try {
        model::Options options;
        options::readLogFile(options, {opts, Command::Dump, peer.pid, false});
        const UniqueFd opened = openClientsDirectory(peer, directory, true);
        sys(::fchdir(opened.get()), "enter the client's work directory");
        log.setLevel(static_cast<LogLevel>(std::clamp(opts.log_level, 1, static_cast<int>(LogLevel::Debug))));
        engine::openLog(peer.client, options.logFile, log);
    } catch (const std::exception& error) {
        // Not an error, because the caller reports the error of the request.
        log.debug("no log of the client's own: {}", error.what());
    }
}

}  // namespace criu::service
