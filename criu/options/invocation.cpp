// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/invocation.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include <fmt/ranges.h>

#include "criu/model/memory_provider_name.hpp"
#include "criu/model/page_codec.hpp"
#include "criu/options/option_values.hpp"
#include "criu/options/plugin_option.hpp"
#include "criu/options/similar_name.hpp"

namespace criu::options {
namespace {

constexpr int kFaultLimit = 138;

/// Stores the command of --exec-cmd, which is the words after "--" or a field of a request.
void takeExecCommand(Invocation& invocation, std::vector<std::string>& words) {
    model::Options& options = invocation.options;
    if (!options.execCommandWanted)
        return;
    if (invocation.command != Command::Restore)
        fail("--exec-cmd is for restore only");
    if (options.detached)
        fail("--exec-cmd and --restore-detached exclude each other");
    if (!words.empty())
        options.execCommand = std::move(words);
    words.clear();
    if (options.execCommand.empty())
        fail("--exec-cmd needs a command behind --");
}

/// Stores the word after swrk, which is the number of a descriptor.
void takeRequestSocket(Invocation& invocation, std::vector<std::string>& words) {
    if (invocation.command != Command::Swrk)
        return;
    if (words.size() != 1)
        fail("usage: criu swrk FD, where FD is an inherited socket that requests come by");
    constexpr std::int64_t kMost = 1 << 30;
    const ErrorContext context([] { return "swrk"; });
    invocation.requestSocket = static_cast<int>(parseNumber(words.front(), 0, kMost));
    words.clear();
}

/// Stores the word after explain or verify as the images directory. It is an alternative to --images-dir.
void takeDirectory(Invocation& invocation, std::vector<std::string>& words) {
    if ((invocation.command != Command::Explain && invocation.command != Command::Verify) || words.empty() ||
        words.front().empty())
        return;
    invocation.options.imagesDir = words.front();
    words.erase(words.begin());
}

/// Returns an option whose optional value `word` may be: the value must be attached. Returns null if no option was
/// given without its value.
const Setting* optionWithoutValue(const std::vector<Setting>& settings, bool isNumber) {
    for (const Setting& setting : settings) {
        const bool isCounted = setting.row->name == "verbosity";  // -vvv has no value either
        if (setting.row->argument == Argument::Optional && !setting.value && !setting.negated &&
            (isNumber || !isCounted))
            return &setting;
    }
    return nullptr;
}

void refuseWords(const Invocation& invocation, const std::vector<std::string>& words) {
    if (words.empty())
        return;
    const Command command = invocation.command;
    Error error(0, fmt::format("{} takes no such word: {}", commandName(command), fmt::join(words, " ")));
    const bool isNumber = words.front().find_first_not_of("0123456789") == std::string::npos;
    const bool lacksTree =
        (command == Command::Dump || command == Command::PreDump) && isNumber && !invocation.options.tree;
    if (const Setting* const option = lacksTree ? nullptr : optionWithoutValue(invocation.settings, isNumber))
        error.addHint(fmt::format("the value of this option is attached: --{}={}", option->row->name, words.front()));
    else if (words.front() == "help")
        error.addHint(fmt::format("criu {} --help lists its options", commandName(command)));
    else if (lacksTree)
        error.addHint(fmt::format("the process to dump is an option: -t {}", words.front()));
    else if (command == Command::Restore)
        error.addHint("the images directory is an option: -D DIR; a command to become stands behind --exec-cmd and --");
    throw error;
}

[[noreturn]] void refuseMissingTree(const Invocation& invocation) {
    Error error(0, fmt::format("{} needs the root of the process tree: -t PID", commandName(invocation.command)));
    for (const Setting& setting : invocation.settings)
        if (!setting.abbreviated.empty())
            error.addHint(fmt::format("--{} was read as --{}", setting.abbreviated, setting.row->name));
    throw error;
}

}  // namespace

Command takeCommand(std::vector<std::string>& words) {
    if (words.empty())
        fail("no command given (see criu --help)");
    const std::string name = words.front();
    words.erase(words.begin());
    if (name == "cpuinfo") {
        const std::string action = words.empty() ? "" : words.front();
        if (action != "dump" && action != "check")
            fail("cpuinfo needs an action: dump or check");
        words.erase(words.begin());
        return action == "dump" ? Command::CpuinfoDump : Command::CpuinfoCheck;
    }
    if (name == "stream") {
        const std::string action = words.empty() ? "" : words.front();
        if (action != "pack" && action != "unpack")
            fail("stream needs an action: pack or unpack");
        words.erase(words.begin());
        return action == "pack" ? Command::StreamPack : Command::StreamUnpack;
    }
    for (const CommandRow& row : commandTable())
        if (row.name == name)
            return row.command;
    std::vector<std::string> names;
    for (const CommandRow& row : commandTable())
        names.emplace_back(row.name);
    const bool isOption = name == "help" || name == "version";
    std::string meant = didYouMean(name, names);
    if (isOption)
        meant =
            fmt::format("; did you mean {}{}--{}?", words.empty() ? "" : words.front(), words.empty() ? "" : " ", name);
    else if (name == "checkpoint")  // the word of runc, podman and docker
        meant = "; did you mean dump?";
    fail("unknown command '{}'{} (see criu --help)", name, meant);
}

void applyEnvironment(model::Options& options) {
    if (::secure_getenv("CRIU_DEPRECATED") != nullptr)
        options.deprecatedImages = true;
    const ErrorContext context([] { return "CRIU_FAULT"; });
    if (const char* const fault = ::secure_getenv("CRIU_FAULT"))
        options.fault = static_cast<int>(parseNumber(fault, 1, kFaultLimit));
}

/// Throws Error for options that can't be combined with --compress.
static void requireCompressible(const model::Options& options) {
    if (options.compat)
        fail("--compress and --compat 4.2 exclude each other: CRIU 4.2 reads no compressed memory");
    if (options.pageServer)
        fail("--compress and --page-server exclude each other: a page server gets pages as they are");
    if (options.trackMemory)
        fail("--compress and --track-mem exclude each other: others may build on these images");
    if (options.pagesFiles.value_or(1) > 1)
        fail("--compress and --pages-files exclude each other: compressed memory is in one file");
    const model::PageCodecInfo* const codec = model::findPageCodec(static_cast<std::uint32_t>(options.compress));
    if (codec != nullptr && options.compressLevel > codec->mostLevel)
        fail("--compress-level {} is more than {} has: {}", options.compressLevel, codec->name, codec->mostLevel);
}

/// Throws Error for options that can't be combined with --background.
static void requireBackgroundFits(const model::Options& options) {
    if (options.finalState != model::FinalState::Running)
        fail("--background needs --leave-running: it is there for a tree that goes on");
    if (options.trackMemory)
        fail("--background and --track-mem exclude each other: a snapshot doesn't tell what has changed since");
    if (options.lazyPages)
        fail("--background and --lazy-pages exclude each other: the memory of a tree that runs can't be asked for");
    if (options.stream || options.streamTo)
        fail("--background and streams exclude each other: a stream has its memory before what comes after");
}

/// Sets the missing option of "stream pack" or "stream unpack" to a standard stream.
static void completeStream(Invocation& invocation) {
    model::Options& options = invocation.options;
    if (invocation.command == Command::StreamPack && !options.streamTo)
        options.streamTo = "-";
    if (invocation.command == Command::StreamUnpack && !options.streamFrom)
        options.streamFrom = "-";
}

/// Throws Error for options that can't be combined with streams. criu reads and writes a stream once, from beginning to
/// end, and a stream contains only one checkpoint.
static void requireStreamable(const Invocation& invocation) {
    const model::Options& options = invocation.options;
    const bool writes = invocation.command == Command::Dump || invocation.command == Command::PreDump;
    const bool own = (writes && options.streamTo) || (invocation.command == Command::Restore && options.streamFrom);
    if (options.stream && own)
        fail("--stream and {} exclude each other", writes ? "--stream-to" : "--stream-from");
    if (!options.stream && !own)
        return;
    const std::string_view name = options.stream ? "--stream" : writes ? "--stream-to" : "--stream-from";
    if (options.lazyPages)
        fail("{} and --lazy-pages exclude each other: pages of a stream come once, in its order", name);
    if (options.autoDedup)
        fail("{} and --auto-dedup exclude each other: a stream has no earlier images to free", name);
    if (writes && options.previousImages)
        fail("{} and --prev-images-dir exclude each other: a stream can't refer to earlier images", name);
    if (writes && options.pageServer)
        fail("{} and --page-server exclude each other: pages go one way only", name);
    if (writes && options.pagesFiles.value_or(1) > 1)
        fail("{} and --pages-files exclude each other: there is one way out for all of them", name);
    if (writes && own && options.streamTo == "-" && (options.logFile == "-" || options.displayStats))
        fail("--stream-to - excludes messages on standard output (--log-file -, --display-stats)");
}

/// Throws Error if secret pages would cross a network without TLS, or if any process could get them by connecting to
/// the port.
static void requireEncryptedTransport(const model::Options& options, std::string_view what) {
    if (!options.tls && options.pageServerSocket < 0)
        fail("{} need --tls, or a connection of your own (--ps-socket): others could see the pages, or take them",
             what);
}

/// Throws Error for options that can't be combined with --encrypt and --sign: options with which images remain in
/// another directory, or another process changes them later.
static void requireSecrecyFits(const Invocation& invocation) {
    const model::Options& options = invocation.options;
    const bool dumps = invocation.command == Command::Dump || invocation.command == Command::PreDump;
    const bool reads = invocation.command == Command::Restore || invocation.command == Command::LazyPages;
    const bool serves = invocation.command == Command::PageServer;
    const bool encrypts = (dumps || serves) && !options.encrypt.empty();
    if (serves && options.lazyPages && encrypts)
        fail("--encrypt and --lazy-pages exclude each other: a page server that serves pages stores none");
    if (serves && encrypts)
        requireEncryptedTransport(options, "--encrypt and page-server");
    if (serves && options.lazyPages && options.decrypt)
        requireEncryptedTransport(options, "--decrypt and --lazy-pages");
    const std::string_view name = encrypts                    ? "--encrypt"
                                  : dumps && options.sign     ? "--sign"
                                  : reads && options.decrypt  ? "--decrypt"
                                  : reads && options.signedBy ? "--signed-by"
                                                              : "";
    if (name.empty())
        return;
    if (encrypts && options.compat)
        fail("--encrypt and --compat 4.2 exclude each other: CRIU 4.2 decrypts nothing");
    if (options.stream)
        fail("{} and --stream exclude each other: criu-image-streamer takes images as they are", name);
    if (options.autoDedup)
        fail("{} and --auto-dedup exclude each other: earlier images would be changed", name);
    if (invocation.command == Command::LazyPages && options.pageServer && options.signedBy)
        fail("--signed-by and --page-server exclude each other: a page server has no signature of its pages");
    if (!dumps)
        return;
    if (options.lazyPages && options.sign)
        fail("--sign and --lazy-pages exclude each other: pages that are left out are in no image");
    if (options.lazyPages)
        requireEncryptedTransport(options, "--encrypt and --lazy-pages");
    if (options.pageServer && options.sign)
        fail("--sign and --page-server exclude each other: a page server doesn't sign its pages");
    if (options.pageServer)
        requireEncryptedTransport(options, "--encrypt and --page-server");
    if (options.sign && options.streamTo)
        fail(
            "--sign and --stream-to exclude each other: sign images in a directory, and send that by criu stream pack");
}

/// Throws Error if --json would change nothing, or if messages could be between the lines of the document.
static void requireJsonFits(const Invocation& invocation) {
    const model::Options& options = invocation.options;
    const Command command = invocation.command;
    if (!options.json)
        return;
    const bool alwaysReports = command == Command::Check || command == Command::Explain || command == Command::Verify ||
                               command == Command::Compare;
    if (!alwaysReports && !options.dryRun && !options.displayStats)
        fail("--json needs {}--display-stats", command == Command::Dump ? "--dry-run or " : "");
    if (options.logFile == "-")
        fail("--json and --log-file - exclude each other: standard output is for the document");
}

/// Throws Error for commands that can't use --stream. CRIU 4.2 refuses the same commands.
static void requireStreamCommand(const Invocation& invocation) {
    const Command command = invocation.command;
    if (!invocation.options.stream || command == Command::Dump || command == Command::PreDump ||
        command == Command::Restore || command == Command::CpuinfoDump || command == Command::Swrk ||
        command == Command::Service)
        return;
    fail("--stream can't be used with {}", commandName(command));
}

/// Throws Error for options that can't be combined with --map-pages.
static void requireMappable(const model::Options& options) {
    if (options.lazyPages)
        fail("--map-pages and --lazy-pages exclude each other: pages come from one place");
    if (options.autoDedup)
        fail("--map-pages and --auto-dedup exclude each other: other clones want the same images");
    if (options.stream || options.streamFrom)
        fail("--map-pages and streams exclude each other: other clones couldn't read the stream again");
    if (options.decrypt || options.signedBy)
        fail("--map-pages and {} exclude each other: each restore has a copy of the images of its own",
             options.decrypt ? "--decrypt" : "--signed-by");
}

/// Throws Error for options that can't be combined with an external memory provider. Throws Error for a provider
/// without a socket.
static void requireProvidable(const Invocation& invocation) {
    const model::Options& options = invocation.options;
    const auto isSocket = [](const model::InheritFd& each) { return each.name == model::kMemoryProvider; };
    const auto passed = std::count_if(options.inheritFds.begin(), options.inheritFds.end(), isSocket);
    if (passed != 0 && options.providerSocket)
        fail("--provider-socket and --inherit-fd fd[N]:{} exclude each other: there is one socket",
             model::kMemoryProvider);
    if (invocation.command == Command::MemoryProvider) {
        if (passed == 0 && !options.providerSocket)
            fail("memory-provider needs --provider-socket FILE, or a connected socket (--inherit-fd fd[N]:{})",
                 model::kMemoryProvider);
        if (static_cast<std::size_t>(passed) != options.inheritFds.size())
            fail("memory-provider has no other use for --inherit-fd than fd[N]:{}", model::kMemoryProvider);
        return;
    }
    if (passed == 0 && !options.providerSocket)
        return;
    if (options.lazyPages)
        fail("an external memory provider and --lazy-pages exclude each other: pages come from one place");
    if (options.signedBy)
        fail("an external memory provider and --signed-by exclude each other: its memory has no signature");
}

/// Throws Error for options that can't be combined with --untrusted. Such an option lets images choose an object
/// outside of the tree, or changes such an object. Leaves cgroups alone.
static void requireUntrustedFits(Invocation& invocation) {
    model::Options& options = invocation.options;
    constexpr std::string_view kExcluded[] = {"shell-job",         "join-ns",     "cgroup-root",    "cgroup-props",
                                              "cgroup-props-file", "cgroup-yard", "auto-dedup",     "map-pages",
                                              "lazy-pages",        "enable-fs",   "prev-images-dir"};
    bool choosesCgroups = false;
    for (const Setting& setting : invocation.settings) {
        if (!setting.negated &&
            std::find(std::begin(kExcluded), std::end(kExcluded), setting.row->name) != std::end(kExcluded))
            fail("--untrusted and {} exclude each other: it reaches out of the tree", setting.describe());
        choosesCgroups = choosesCgroups || setting.row->name == "manage-cgroups";
    }
    if (choosesCgroups && options.cgroupMode != model::CgroupMode::Ignore)
        fail("--untrusted needs --manage-cgroups=ignore: start criu in the cgroup for the tree");
    options.cgroupMode = model::CgroupMode::Ignore;
    if (options.stream || options.providerSocket)
        fail("--untrusted excludes --stream and an external memory provider: all images must exist before the restore");
    if (options.autoExtMounts || std::any_of(options.externals.begin(), options.externals.end(), [](const auto& each) {
            return each.type == model::ExternalType::Mount && each.id.empty();
        }))
        fail("--untrusted and --external mnt[] exclude each other: name each mount and its directory");
}

void validate(Invocation& invocation, std::vector<std::string> words) {
    const Command command = invocation.command;
    const model::Options& options = invocation.options;
    const bool forRestore = command == Command::Restore || command == Command::Explain;

    if (!commandRow(command).built)
        fail("the command {} is not supported by this build yet", commandName(command));
    refuseMissing(invocation.settings, command);
    refuseMisplaced(invocation.settings, command);
    takeExecCommand(invocation, words);
    takeRequestSocket(invocation, words);
    takeDirectory(invocation, words);
    completeStream(invocation);
    refuseWords(invocation, words);

    if ((command == Command::Dump || command == Command::PreDump || command == Command::Compare) && !options.tree)
        refuseMissingTree(invocation);
    if (options.restoreSibling && !options.detached && command == Command::Restore)
        fail("--restore-sibling needs --restore-detached");
    if (options.restoreSibling && options.newPidNamespace && forRestore)
        fail(
            "--restore-sibling and --new-pidns exclude each other: the init of the new pid namespace creates the root");
    if (!forRestore && command != Command::MemoryProvider &&
        !(options.inheritFds.empty() && options.inheritMarks.empty()))
        fail("--inherit-fd is for restore only");
    if (forRestore && options.mapPages)
        requireMappable(options);
    if (forRestore || command == Command::MemoryProvider)
        requireProvidable(invocation);
    if (command == Command::PreDump && options.lazyPages)
        fail("pre-dump can't be combined with --lazy-pages: its memory goes on to change");
    if (command == Command::Dump && options.lazyPages && options.pageServer)
        fail("--lazy-pages serves pages itself: it can't be combined with --page-server");
    if (command == Command::LazyPages && options.pageServer && options.pageServerSocket < 0 &&
        !(options.address && options.port))
        fail("--page-server needs --address and --port, or --ps-socket");
    if (options.connections > 1 && (!options.pageServer || options.pageServerSocket >= 0))
        fail("--connections needs --page-server with --address and --port");
    if (options.compress != model::PageCodec::None)
        requireCompressible(options);
    if (command == Command::Dump)
        for (const Setting& setting : invocation.settings)
            if (setting.row->name == "plugin-option" && isRestorePluginOption(setting.value.value_or("")))
                fail("{} {} is for restore only", setting.describe(), *setting.value);
    if (command == Command::Dump && options.background)
        requireBackgroundFits(options);
    if (forRestore && options.untrusted)
        requireUntrustedFits(invocation);
    requireJsonFits(invocation);
    requireStreamCommand(invocation);
    requireStreamable(invocation);
    requireSecrecyFits(invocation);
    if (!forRestore && options.mntnsCompatMode)
        fail("--mntns-compat-mode is for restore only");
}

}  // namespace criu::options
