// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/command.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "criu/base/names.hpp"
#include "criu/base/refusals.hpp"
#include "criu/base/trace.hpp"
#include "criu/base/version.hpp"
#include "criu/device/plugin.hpp"
#include "criu/engine/action_scripts.hpp"
#include "criu/engine/check/check.hpp"
#include "criu/engine/client_rules.hpp"
#include "criu/engine/dump/frozen.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/images/image_keys.hpp"
#include "criu/engine/images/image_stream_file.hpp"
#include "criu/engine/required_caps.hpp"
#include "criu/engine/rescue.hpp"
#include "criu/image/stream_format.hpp"
#include "criu/kernel/proc/runnable.hpp"
#include "git_id.hpp"

namespace criu::engine {
namespace {

using options::Command;
using options::Invocation;

/// Warns of a --plugin-option for a plugin that isn't loaded, because no other code reports a misspelled name.
void warnOfUnusedPluginOptions(const Run& run, const device::Subsystems& devices) {
    for (const std::string& option : run.options.pluginOptions) {
        const std::string_view plugin = std::string_view(option).substr(0, option.find('.'));
        const bool used = std::any_of(devices.begin(), devices.end(), [&](const auto& device) {
            const auto replaced = device->replacesPlugins();
            return device->name() == plugin || std::find(replaced.begin(), replaced.end(), plugin) != replaced.end();
        });
        if (!used)
            run.log.warn("--plugin-option {}: no plugin {} is loaded", option, plugin);
    }
}

/// Returns true for the name of a built-in device subsystem, or of a plugin that it replaces.
bool isDeviceName(const std::string& name, const device::Subsystems& devices) {
    return std::any_of(devices.begin(), devices.end(), [&](const auto& device) {
        const auto replaced = device->replacesPlugins();
        return name == device->name() || name == device->inventoryName() ||
               std::find(replaced.begin(), replaced.end(), name) != replaced.end();
    });
}

/// Removes the device subsystems that --no-device names, then loads plugins. For untrusted images, removes all device
/// subsystems, because these open devices with criu's credentials. A plugin may replace a removed subsystem.
/// Loads no plugins for a client with fewer privileges than criu: CRIU's plugins open images with criu's credentials,
/// and would follow a link that the client has planted.
void chooseDevices(const Run& run, device::Subsystems& devices, const device::PluginDirectory& plugins) {
    const model::Options& options = run.options;
    const auto& off = options.disabledDevices;
    for (const std::string& name : off)
        if (!isDeviceName(name, devices) && ::access(fmt::format("{}/{}.so", plugins.path, name).c_str(), F_OK) != 0)
            run.log.warn("--no-device {}: criu has no support of such a device, and {} has no such plugin", name,
                         plugins.path);
    std::erase_if(devices, [&](const auto& device) {
        return std::find(off.begin(), off.end(), device->name()) != off.end() ||
               std::find(off.begin(), off.end(), device->inventoryName()) != off.end();
    });
    if (run.options.untrusted) {
        devices.clear();
        run.log.info("No devices and plugins are used for untrusted images");
        return;
    }
    if (run.client.isOwner)
        device::loadPlugins(plugins, off, devices, run.log);
    else
        run.log.info("No plugins are used for a client that hasn't all of criu's rights");
    warnOfUnusedPluginOptions(run, devices);
}

/// Warns if other users may write to the directory, because criu can't distinguish files of these users from its own
/// files.
void warnIfShared(int directory, const std::string& name, Log& log) {
    struct stat status {};
    sys(::fstat(directory, &status), "stat {}", name);
    if (isWritableByOthers(status))
        log.warn("Others may write to the directory {} (owner {}, mode {:#o})", name, status.st_uid,
                 status.st_mode & 07777);
}

/// Prevents core files of criu, because criu's memory contains memory of other processes. Sets a limit of 1 byte, not
/// 0: with 0, the kernel still passes the core to a program in /proc/sys/kernel/core_pattern.
void limitCoreFile() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_CORE, &limit) != 0)
        return;
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1);
    ::setrlimit(RLIMIT_CORE, &limit);  // lowering a limit needs no capability
}

void logStart(const Invocation& invocation, Log& log) {
    utsname system{};
    ::uname(&system);
    log.info("Version: {} (gitid {})", kVersion, kGitId);
    log.info("Running on {} {} {} {} {}", system.nodename, system.sysname, system.release, system.version,
             system.machine);
    log.debug("Command: {}", options::commandName(invocation.command));
    for (const options::Setting& setting : invocation.settings)
        log.debug("Option {}{}{}", setting.describe(), setting.value ? " " : "", setting.value.value_or(""));
    for (const options::Setting* setting : options::withoutEffect(invocation.settings, invocation.command))
        log.info("{} has no effect on {}", setting->describe(), options::commandName(invocation.command));
    if (invocation.command == Command::Restore && invocation.options.tree)
        log.warn("--tree has no effect on restore: pids are those of the images");
}

/// Listener that records in the trace when the command reaches each stage.
class StageMoments final : public model::StageListener {
public:
    explicit StageMoments(Log& log) : log_(log) {}

    int reached(const model::StageEvent& event) override {
        log_.trace().moment(model::stageName(event.stage), log_.elapsed());
        return 0;
    }

private:
    Log& log_;
};

void startTrace(const Invocation& invocation, Log& log) {
    if (!invocation.options.traceFile)
        return;
    log.trace().open(*invocation.options.traceFile);
    log.trace().nameProcess(fmt::format("criu {}", options::commandName(invocation.command)));
}

Outcome checkSystem(const model::Options& options, const device::Subsystems& devices, Log& log) {
    // An empty file name makes Features probe all features again: the feature file of an earlier criu run may describe
    // another kernel.
    kernel::Features features{std::string()};
    auto probes = featureProbes(features);
    for (const auto& device : devices)
        for (device::Feature& feature : device->features())
            probes.push_back({feature.name, feature.purpose, FeatureCategory::Device, std::move(feature.test),
                              std::move(feature.matters), std::move(feature.details)});
    Outcome outcome;
    outcome.status = check(options, basicChecks(), probes, log, outcome.answer);
    return outcome;
}

/// Keeps the image stream file if `status` is 0. Returns `status`. A dump returns another status if an action script
/// refused the dump.
int keepIfDone(int status, ImageStreamFile& stream) noexcept {
    if (status == 0)
        stream.keep();
    return status;
}

/// Makes the path of an action script absolute if a program exists at this path in the directory where the user started
/// criu. Leaves other paths relative to the work directory, as CRIU 4.2 does.
std::vector<std::string> fromStartDirectory(std::vector<std::string> programs) {
    for (std::string& program : programs)
        if (program.find('/') != std::string::npos && ::access(program.c_str(), F_OK) == 0)
            program = std::filesystem::absolute(program);
    return programs;
}

/// Returns true if a path leads to a file that begins like a stream of images (`criu stream pack`).
bool isStreamFile(const std::string& path) {
    std::array<char, stream::kMagic.size()> begin{};
    std::ifstream file(path, std::ios::binary);
    return file.read(begin.data(), begin.size()) && begin == stream::kMagic;
}

UniqueFd openImagesDirectory(const std::string& path) {
    UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory)
        return directory;
    Error error(errno, fmt::format("open the images directory {}", path));
    if (error.code() == ENOTDIR && isStreamFile(path))
        error.addHint(
            fmt::format("the file is a stream: unpack it by criu stream unpack -D DIR --stream-from {}", path));
    if (error.code() == ENOENT && path.find_first_not_of("0123456789") == std::string::npos)
        error.addHint(fmt::format("for a process: criu dump -t {} --dry-run lists what prevents a dump", path));
    throw error;
}

/// Opens the images directory and enters the work directory.
void openDirectories(const model::Options& options, const model::Client& client, UniqueFd& imagesDir) {
    if (client.imagesDir >= 0) {
        imagesDir.reset(sys(::openat(client.imagesDir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                            "open the client's images directory"));
        sys(::fchdir(client.workDir >= 0 ? client.workDir : client.imagesDir), "enter the client's work directory");
        return;
    }
    if (!client.isOwner)
        fail("the client hasn't opened its images directory");
    // Opens the images directory before chdir(2), because both paths are relative to the directory in which the user
    // started criu.
    imagesDir = openImagesDirectory(options.imagesDir);
    const std::string& workDir = options.workDir.value_or(options.imagesDir);
    sys(::chdir(workDir.c_str()), "enter the work directory {}", workDir);
}

}  // namespace

Outcome execute(const Invocation& invocation, Log& log, StopRequest& stop, device::Subsystems devices,
                std::vector<model::StageListener*> listeners, const model::Client& client) {
    const model::Options& options = invocation.options;
    options::requireAllowed(invocation.settings, client);
    if (!options.feature)
        requireCommandCaps(invocation.command);
    // Opens the stream before openDirectories() changes the directory, because the path is relative to the directory in
    // which the user started criu.
    ImageStreamFile stream(invocation.command, options, stop);
    ImageKeys keys(invocation.command, options, stop);  // before openDirectories(), like `stream`
    Refusals refusals;
    Run run{options, log, stop, devices, stream, keys, refusals};
    run.client = client;
    device::PluginDirectory plugins = device::pluginDirectory(options);
    if (plugins.asked && !plugins.path.starts_with('/'))
        plugins.path = std::filesystem::absolute(plugins.path);

    const std::vector<std::string> programs = fromStartDirectory(options.actionScripts);
    openDirectories(options, client, run.imagesDir);
    log.setLevel(options.verbosity);
    openLog(client, options.logFile, log);
    logStart(invocation, log);

    startTrace(invocation, log);
    StageMoments moments(log);
    listeners.push_back(&moments);
    ActionScripts scripts(programs, stop, log, options.holdTimeout);
    listeners.push_back(&scripts);
    run.listeners = model::StageListeners(std::move(listeners));
    run.listeners.setImagesDir(run.imagesDir.get());

    if (!options.execCommand.empty())
        // Checks the command first, because criu can't fail any more when the restored tree runs.
        kernel::requireRunnable(options.execCommand);
    switch (invocation.command) {
        case Command::Dump:
        case Command::Restore:
            warnIfShared(run.imagesDir.get(), options.imagesDir, log);
            limitCoreFile();
            chooseDevices(run, devices, plugins);
            run.drivers = stageListeners(devices);
            if (invocation.command == Command::Restore)
                return {restore(run), {}};
            return {keepIfDone(dump(run), stream), {}};
        case Command::PreDump:
            warnIfShared(run.imagesDir.get(), options.imagesDir, log);
            limitCoreFile();
            for (const auto& device : devices)
                device->notePreDump(runningTree(*options.tree), log);
            devices.clear();  // a pre-dump doesn't dump device memory
            return {keepIfDone(preDump(run), stream), {}};
        case Command::PageServer:
            warnIfShared(run.imagesDir.get(), options.imagesDir, log);
            limitCoreFile();
            return {pageServer(run), {}};
        case Command::LazyPages:
            warnIfShared(run.imagesDir.get(), options.imagesDir, log);
            limitCoreFile();
            return {lazyPages(run), {}};
        case Command::MemoryProvider:
            warnIfShared(run.imagesDir.get(), options.imagesDir, log);
            limitCoreFile();
            return {provideMemory(run), {}};
        case Command::Dedup:
            return {dedup(run), {}};
        case Command::Check:
            return checkSystem(options, devices, log);
        case Command::Explain: {
            chooseDevices(run, devices, plugins);
            Outcome outcome;
            outcome.status = explain(run, outcome.answer);
            return outcome;
        }
        case Command::Verify: {
            Outcome outcome;
            outcome.status = verify(run, outcome.answer);
            return outcome;
        }
        case Command::Compare:
            limitCoreFile();
            devices.clear();  // devices would have to be checkpointed
            return {compare(run), {}};
        case Command::Rescue: {
            Outcome outcome;
            outcome.status = rescue(outcome.answer, log);
            return outcome;
        }
        case Command::CpuinfoDump:
            dumpCpuInfo(run);
            return {};
        case Command::StreamPack:
            return {keepIfDone(packStream(run), stream), {}};
        case Command::StreamUnpack:
            warnIfShared(run.imagesDir.get(), options.imagesDir, log);
            return {unpackStream(run), {}};
        case Command::CpuinfoCheck:
            checkCpuInfo(run);
            return {};
        case Command::Service:
        case Command::Swrk:
            break;
    }
    fail("the command {} isn't one of the engine", options::commandName(invocation.command));
}

model::StageListeners stageListeners(const device::Subsystems& devices) {
    std::vector<model::StageListener*> listeners;
    for (const auto& device : devices)
        if (model::StageListener* const listener = device->stageListener())
            listeners.push_back(listener);
    return model::StageListeners(std::move(listeners));
}

}  // namespace criu::engine
