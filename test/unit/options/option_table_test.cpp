// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/option_table.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include <set>

#include "criu/cli/help.hpp"
#include "criu/options/command.hpp"

namespace {

using namespace criu::cli;
using namespace criu::options;

struct Expected {
    std::string_view name;
    char letter;
    Argument argument;
    bool noForm;
};

// All options of CRIU 4.2's command line. Here -d belongs to --restore-detached, which has the other name --daemon.
constexpr Expected kExpected[] = {
    {"tree", 't', Argument::Required, false},
    {"leave-stopped", 's', Argument::None, false},
    {"leave-running", 'R', Argument::None, false},
    {"restore-detached", 'd', Argument::None, true},
    {"daemon", 0, Argument::None, true},
    {"restore-sibling", 'S', Argument::None, true},
    {"images-dir", 'D', Argument::Required, false},
    {"work-dir", 'W', Argument::Required, false},
    {"log-file", 'o', Argument::Required, false},
    {"join-ns", 'J', Argument::Required, false},
    {"root", 'r', Argument::Required, false},
    {"ext-unix-sk", 'x', Argument::Optional, false},
    {"help", 'h', Argument::None, false},
    {"tcp-established", 0, Argument::None, true},
    {"close", 0, Argument::Required, false},
    {"log-pid", 0, Argument::None, true},
    {"version", 'V', Argument::None, false},
    {"evasive-devices", 0, Argument::None, true},
    {"pidfile", 0, Argument::Required, false},
    {"veth-pair", 0, Argument::Required, false},
    {"action-script", 0, Argument::Required, false},
    {"link-remap", 0, Argument::None, true},
    {"shell-job", 'j', Argument::None, true},
    {"file-locks", 'l', Argument::None, true},
    {"page-server", 0, Argument::None, true},
    {"address", 0, Argument::Required, false},
    {"port", 0, Argument::Required, false},
    {"prev-images-dir", 0, Argument::Required, false},
    {"ms", 0, Argument::None, false},
    {"track-mem", 0, Argument::None, true},
    {"auto-dedup", 0, Argument::None, true},
    {"libdir", 'L', Argument::Required, false},
    {"cpu-cap", 0, Argument::Optional, false},
    {"force-irmap", 0, Argument::None, true},
    {"ext-mount-map", 'M', Argument::Required, false},
    {"exec-cmd", 0, Argument::None, false},
    {"manage-cgroups", 0, Argument::Optional, false},
    {"cgroup-root", 0, Argument::Required, false},
    {"inherit-fd", 0, Argument::Required, false},
    {"feature", 0, Argument::Required, false},
    {"skip-mnt", 0, Argument::Required, false},
    {"enable-fs", 0, Argument::Required, false},
    {"enable-external-sharing", 0, Argument::None, false},
    {"enable-external-masters", 0, Argument::None, false},
    {"freeze-cgroup", 0, Argument::Required, false},
    {"ghost-limit", 0, Argument::Required, false},
    {"irmap-scan-path", 0, Argument::Required, false},
    {"lsm-profile", 0, Argument::Required, false},
    {"timeout", 0, Argument::Required, false},
    {"external", 0, Argument::Required, false},
    {"empty-ns", 0, Argument::Required, false},
    {"lazy-pages", 0, Argument::None, false},
    {"extra", 0, Argument::None, true},
    {"experimental", 0, Argument::None, true},
    {"all", 0, Argument::None, false},
    {"cgroup-props", 0, Argument::Required, false},
    {"cgroup-props-file", 0, Argument::Required, false},
    {"cgroup-dump-controller", 0, Argument::Required, false},
    {"skip-in-flight", 0, Argument::None, true},
    {"deprecated", 0, Argument::None, true},
    {"display-stats", 0, Argument::None, true},
    {"weak-sysctls", 0, Argument::None, true},
    {"status-fd", 0, Argument::Required, false},
    {"tcp-close", 0, Argument::None, true},
    {"verbosity", 'v', Argument::Optional, false},
    {"ps-socket", 0, Argument::Required, false},
    {"stream", 0, Argument::None, true},
    {"config", 0, Argument::Required, false},
    {"no-default-config", 0, Argument::None, false},
    {"tls-cacert", 0, Argument::Required, false},
    {"tls-cacrl", 0, Argument::Required, false},
    {"tls-cert", 0, Argument::Required, false},
    {"tls-key", 0, Argument::Required, false},
    {"tls", 0, Argument::None, true},
    {"tls-no-cn-verify", 0, Argument::None, false},
    {"cgroup-yard", 0, Argument::Required, false},
    {"pre-dump-mode", 0, Argument::Required, false},
    {"file-validation", 0, Argument::Required, false},
    {"skip-file-rwx-check", 0, Argument::None, true},
    {"lsm-mount-context", 0, Argument::Required, false},
    {"network-lock", 0, Argument::Required, false},
    {"mntns-compat-mode", 0, Argument::None, true},
    {"unprivileged", 0, Argument::None, true},
    {"ghost-fiemap", 0, Argument::None, true},
    {"allow-uprobes", 0, Argument::None, true},
};

/// Options that CRIU 4.2 lacks, without options for devices.
constexpr std::string_view kOwn[] = {
    "allow-loss",
    "background",
    "background-memory",
    "checksum",
    "compat",
    "compress",
    "compress-acceleration",
    "compress-block-size",
    "compress-level",
    "compress-region",
    "connections",
    "decompress-threads",
    "decrypt",
    "dry-run",
    "encrypt",
    "ghost-links",
    "hold-timeout",
    "provider-socket",
    "image-io-mode",
    "inet-map",
    "json",
    "map-pages",
    "max-files",
    "max-memory",
    "max-processes",
    "new-pidns",
    "no-loss",
    "notify-mounts",
    "pages-files",
    "sign",
    "signed-by",
    "quiet",
    "stream-from",
    "stream-memory",
    "stream-to",
    "sync",
    "tls-peer",
    "trace",
    "untrusted",
};

const OptionRow* find(std::string_view name) {
    for (const OptionRow& row : optionTable())
        if (row.name == name)
            return &row;
    return nullptr;
}

}  // namespace

TEST_CASE("the table holds every option of the command line with its letter, argument and no-form") {
    for (const Expected& expected : kExpected) {
        CAPTURE(std::string(expected.name));
        const OptionRow* const row = find(expected.name);
        REQUIRE(row != nullptr);
        CHECK(row->letter == expected.letter);
        CHECK(row->argument == expected.argument);
        CHECK((row->noForm == NoForm::Present) == expected.noForm);
        CHECK(row->apply != nullptr);
    }
    const auto isShared = [](const OptionRow& row) {
        return row.section != Section::Devices &&
               std::find(std::begin(kOwn), std::end(kOwn), row.name) == std::end(kOwn);
    };
    for (const std::string_view name : kOwn)
        CHECK(find(name) != nullptr);
    const auto table = optionTable();
    CHECK(std::count_if(table.begin(), table.end(), isShared) == std::ssize(kExpected));
}

TEST_CASE("names and letters are unique, and arguments have a placeholder exactly where there is one") {
    std::set<std::string_view> names;
    std::set<char> letters;
    for (const OptionRow& row : optionTable()) {
        CAPTURE(std::string(row.name));
        CHECK(names.insert(row.name).second);
        if (row.letter != 0)
            CHECK(letters.insert(row.letter).second);
        CHECK((row.argument == Argument::None) == row.placeholder.empty());
        // A no-form takes no argument, so only options that also work without one have it.
        if (row.noForm == NoForm::Present)
            CHECK((row.argument == Argument::None || row.argument == Argument::Optional));
        if (row.support != Support::Removed)
            CHECK_FALSE(row.help.empty());
    }
}

TEST_CASE("help shows every option that exists, and a command's help only its own") {
    const std::string all = helpText({});
    for (const OptionRow& row : optionTable())
        if (row.support != Support::Removed)
            CHECK(all.find(std::string(row.name)) != std::string::npos);
    const std::string check = helpText(Command::Check);
    CHECK(check.find("--feature NAME") != std::string::npos);
    CHECK(check.find("--tree") == std::string::npos);
    CHECK(all.find("--[no-]shell-job") != std::string::npos);
    CHECK(all.find("-v, --verbosity[=LEVEL]") != std::string::npos);
}
