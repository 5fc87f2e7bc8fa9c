// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cli/commands.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include <fmt/ranges.h>

#include "criu/base/version.hpp"
#include "criu/engine/check.hpp"
#include "criu/engine/engine.hpp"

namespace criu::cli {
namespace {

/// The first plugin in a directory, "" if there is none.
std::string pluginIn(const std::string& directory) {
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory.c_str()), ::closedir);
    if (!listing)
        return {};
    while (const dirent* const entry = ::readdir(listing.get()))
        if (std::string_view(entry->d_name).ends_with(".so"))
            return entry->d_name;
    return {};
}

/// Plugins aren't loaded yet: says so where some would be. Those in a default place are passed over, since most of
/// them have nothing to do with most trees.
void lookForPlugins(const model::Options& options, Log& log) {
    if (options.libDir) {
        const std::string plugin = pluginIn(*options.libDir);
        if (!plugin.empty())
            fail("plugins are not supported by this build yet, but {} holds {}", *options.libDir, plugin);
        return;
    }
    const char* const named = std::getenv("CRIU_LIBS_DIR");
    const std::string directory = named != nullptr ? named : "/usr/lib/criu";
    const std::string plugin = pluginIn(directory);
    if (!plugin.empty())
        log.info("Plugins in {} are not loaded: this build does not support them yet", directory);
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

int execute(const Invocation& invocation, Log& log, StopRequest& stop) {
    const model::Options& options = invocation.options;
    engine::Run run{options, log, stop, {}};

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
            lookForPlugins(options, log);
            return engine::dump(run);
        case Command::Restore:
            lookForPlugins(options, log);
            return engine::restore(run);
        case Command::Check: {
            // What is true now, not what an earlier run found.
            kernel::Features features{std::string()};
            const auto probes = engine::featureProbes(features);
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
