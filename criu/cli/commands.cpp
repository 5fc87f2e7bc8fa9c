// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cli/commands.hpp"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <fmt/ranges.h>

#include "criu/base/version.hpp"
#include "criu/device/plugin.hpp"
#include "criu/engine/check.hpp"
#include "criu/engine/engine.hpp"

namespace criu::cli {
namespace {

/// Takes away what --no-device names, and adds plugins: also one whose work a subsystem does that was taken away.
void chooseDevices(const model::Options& options, device::Subsystems& devices, const device::PluginDirectory& plugins,
                   Log& log) {
    const auto& off = options.disabledDevices;
    std::erase_if(devices, [&](const auto& device) {
        return std::find(off.begin(), off.end(), device->name()) != off.end() ||
               std::find(off.begin(), off.end(), device->inventoryName()) != off.end();
    });
    device::loadPlugins(plugins, off, devices, log);
}

void logStart(const Invocation& invocation, Log& log) {
    utsname system{};
    ::uname(&system);
    log.info("Version: {} (gitid 0)", kVersion);
    log.info("Running on {} {} {} {} {}", system.nodename, system.sysname, system.release, system.version,
             system.machine);
    log.debug("Command: {}", commandName(invocation.command));
    for (const Setting& setting : invocation.settings)
        log.debug("Option {}{}{}", setting.describe(), setting.value ? " " : "", setting.value.value_or(""));
    for (const Setting* setting : withoutEffect(invocation.settings, invocation.command))
        log.info("{} has no effect on {}", setting->describe(), commandName(invocation.command));
    if (invocation.command == Command::Restore && invocation.options.tree)
        log.warn("--tree has no effect on restore: pids are those of the images");
}

}  // namespace

Command takeCommand(std::vector<std::string>& words) {
    if (words.empty())
        fail("no command given, see criu --help");
    const std::string name = words.front();
    words.erase(words.begin());
    if (name == "cpuinfo") {
        const std::string action = words.empty() ? "" : words.front();
        if (action != "dump" && action != "check")
            fail("cpuinfo needs an action: dump or check");
        words.erase(words.begin());
        return action == "dump" ? Command::CpuinfoDump : Command::CpuinfoCheck;
    }
    for (const CommandRow& row : commandTable())
        if (row.name == name)
            return row.command;
    fail("unknown command '{}', see criu --help", name);
}

void settle(Invocation& invocation, std::vector<std::string> words) {
    const Command command = invocation.command;
    model::Options& options = invocation.options;

    if (!commandRow(command).built)
        fail("the command {} is not supported by this build yet", commandName(command));
    refuseMissing(invocation.settings, command);

    if (options.execCommandWanted) {
        if (command != Command::Restore)
            fail("--exec-cmd is for restore only");
        if (options.detached)
            fail("--exec-cmd and --restore-detached exclude each other");
        if (words.empty())
            fail("--exec-cmd needs a command behind --");
        options.execCommand = std::move(words);
        words.clear();
    }
    if (!words.empty())
        fail("{} takes no such word: {}", commandName(command), fmt::join(words, " "));

    if (command == Command::Dump && !options.tree)
        fail("dump needs the root of the process tree: -t PID");
    if (options.restoreSibling && !options.detached && command == Command::Restore)
        fail("--restore-sibling needs --restore-detached");
    if (command != Command::Restore && !(options.inheritFds.empty() && options.inheritMarks.empty()))
        fail("--inherit-fd is for restore only");
    if (command != Command::Restore && options.mntnsCompatMode)
        fail("--mntns-compat-mode is for restore only");
}

int execute(const Invocation& invocation, Log& log, StopRequest& stop, device::Subsystems devices) {
    const model::Options& options = invocation.options;
    engine::Run run{options, log, stop, devices, {}};
    device::PluginDirectory plugins = device::pluginDirectory(options);
    if (plugins.asked && !plugins.path.starts_with('/'))
        plugins.path = std::filesystem::absolute(plugins.path);

    // Both are relative to where criu was started.
    run.imagesDir.reset(sys(::open(options.imagesDir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                            "open the images directory {}", options.imagesDir));
    const std::string& workDir = options.workDir.value_or(options.imagesDir);
    sys(::chdir(workDir.c_str()), "enter the work directory {}", workDir);
    log.setLevel(options.verbosity);
    log.open(options.logFile);
    logStart(invocation, log);

    switch (invocation.command) {
        case Command::Dump:
            chooseDevices(options, devices, plugins, log);
            return engine::dump(run);
        case Command::Restore:
            chooseDevices(options, devices, plugins, log);
            return engine::restore(run);
        case Command::Check: {
            // What is true now, not what an earlier run found.
            kernel::Features features{std::string()};
            auto probes = engine::featureProbes(features);
            for (const auto& device : devices)
                for (device::Feature& feature : device->features())
                    probes.push_back({feature.name, engine::FeatureCategory::Device, std::move(feature.test),
                                      std::move(feature.matters)});
            std::string answer;
            const int status = engine::check(options, engine::basicChecks(), probes, log, answer);
            std::fwrite(answer.data(), 1, answer.size(), stdout);
            return status;
        }
        case Command::CpuinfoDump:
            engine::dumpCpuInfo(run);
            return 0;
        case Command::CpuinfoCheck:
            engine::checkCpuInfo(run);
            return 0;
        default:
            fail("the command {} is not supported by this build yet", commandName(invocation.command));
    }
}

}  // namespace criu::cli
