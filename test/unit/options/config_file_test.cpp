// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/config_file.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "criu/cli/arguments.hpp"

using namespace criu;
using namespace criu::cli;
using namespace criu::options;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;
using Words = std::vector<std::string>;

namespace {

/// Directory that the destructor removes.
class ConfigDirectory {
public:
    ConfigDirectory() {
        std::string pattern = (std::filesystem::temp_directory_path() / "criu-config-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr)
            throw std::runtime_error("mkdtemp");
        path_ = pattern;
    }
    ~ConfigDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ConfigDirectory(const ConfigDirectory&) = delete;
    ConfigDirectory& operator=(const ConfigDirectory&) = delete;

    std::string write(const std::string& name, std::string_view text) const {
        const std::filesystem::path file = path_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
        return file.string();
    }
    std::string path() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

model::Options optionsOf(std::string_view text) {
    model::Options options;
    applySettings(parseConfigText(text, "f"), options);
    return options;
}

}  // namespace

TEST_CASE("lines of a configuration file") {
    using S = std::optional<Statement>;
    CHECK(parseConfigLine("") == S{});
    CHECK(parseConfigLine(" \t ") == S{});
    CHECK(parseConfigLine("# all comment") == S{});
    CHECK(parseConfigLine("   # all comment") == S{});
    CHECK(parseConfigLine("tcp-close") == S({"tcp-close", {}}));
    CHECK(parseConfigLine("  tcp-close  ") == S({"tcp-close", {}}));
    CHECK(parseConfigLine("tcp-close # why") == S({"tcp-close", {}}));
    CHECK(parseConfigLine("ghost-limit 1M") == S({"ghost-limit", "1M"}));
    CHECK(parseConfigLine("ghost-limit\t1M\r") == S({"ghost-limit", "1M"}));
    CHECK(parseConfigLine("ghost-limit  \t 1M# why") == S({"ghost-limit", "1M"}));
    CHECK(parseConfigLine("ghost-limit 1M   # why not") == S({"ghost-limit", "1M"}));
    CHECK(parseConfigLine("verbosity=4 ") == S({"verbosity=4", {}}));
}

TEST_CASE("quoted values") {
    using S = std::optional<Statement>;
    CHECK(parseConfigLine(R"(work-dir "/a b/c")") == S({"work-dir", "/a b/c"}));
    CHECK(parseConfigLine(R"(work-dir "/a # b" # why)") == S({"work-dir", "/a # b"}));
    CHECK(parseConfigLine(R"(work-dir "/a \"b\" c")") == S({"work-dir", R"(/a "b" c)"}));
    CHECK(parseConfigLine(R"(work-dir "/a\b")") == S({"work-dir", R"(/a\b)"}));
    CHECK(parseConfigLine(R"(log-file "")") == S({"log-file", ""}));
    CHECK(parseConfigLine(R"(log-file ""#)") == S({"log-file", ""}));
    CHECK(parseConfigLine(R"(log-file a"b)") == S({"log-file", R"(a"b)"}));
    for (const char* const line : {R"(work-dir ")", R"(work-dir "/a)", R"(work-dir "/a\")", R"(work-dir "/a # b)"})
        CHECK_THROWS_WITH(parseConfigLine(line), Contains("closing quote"));
    for (const char* const line :
         {R"(work-dir "/a" b)", R"(work-dir "/a"b)", "work-dir /a b", R"(work-dir /a "b")", "verbosity = 4"})
        CHECK_THROWS_WITH(parseConfigLine(line), Contains("more than one value (write NAME VALUE or NAME=VALUE"));
    CHECK_THROWS_WITH(parseConfigLine("--tcp-close"), Contains("without dashes"));
    CHECK_THROWS_WITH(parseConfigLine(std::string_view("a\0b", 3)), Contains("zero byte"));
}

TEST_CASE("a file sets what the same options on the command line would") {
    const model::Options options = optionsOf(
        "\n# settings\ntcp-close\nghost-limit 2M\nverbosity=4 \nlog-file x.log\n"
        "manage-cgroups full\nno-tcp-close\naction-script \"/a b\"\nskip-mnt /x");
    CHECK_FALSE(options.tcpClose);
    CHECK(options.ghostLimit == 2U << 20);
    CHECK(options.verbosity == LogLevel::Debug);
    CHECK(options.logFile == "x.log");
    CHECK(options.cgroupMode == model::CgroupMode::Full);
    CHECK(options.actionScripts == Words{"/a b"});
    CHECK(options.skipMounts == Words{"/x"});
}

TEST_CASE("errors name file and line") {
    CHECK_THROWS_WITH(optionsOf("\n\nbogus\n"), Equals("f:3: unknown option --bogus"));
    CHECK_THROWS_WITH(optionsOf("tree\n"), Equals("f:1: --tree needs an argument"));
    CHECK_THROWS_WITH(optionsOf("tcp-close yes\n"), Equals("f:1: --tcp-close takes no argument"));
    CHECK_THROWS_WITH(optionsOf("\nghost-limit x\n"), Contains("f:2: ghost-limit: 'x' is not a size"));
    CHECK_THROWS_WITH(optionsOf("log-file \"a\n"), Contains("f:1: the closing quote is missing"));
    CHECK_THROWS_WITH(optionsOf("dump\n"), Contains("f:1: unknown option --dump"));
    CHECK_THROWS_WITH(optionsOf("config /x\n"), Contains("f:1: config: a configuration file can't"));
    CHECK_THROWS_WITH(optionsOf("\"a\" b\n"), Contains("f:1"));
}

TEST_CASE("later sources win: system, home, named by environment, --config, command line") {
    const ConfigDirectory directory;
    Log log;
    ConfigSources sources;
    sources.system = directory.write("etc/default.conf",
                                     "log-file system\ntimeout 1\npidfile system\nlibdir system\n"
                                     "root system\n");
    directory.write("home/.criu/default.conf", "log-file home\ntimeout 2\npidfile home\nlibdir home\n");
    sources.home = directory.path() + "/home";
    sources.named = directory.write("named.conf", "log-file named\ntimeout 3\npidfile named\n");
    const std::string chosen = directory.write("chosen.conf", "log-file chosen\ntimeout 4\n");

    const auto resolve = [&](const Words& words) {
        model::Options options;
        applySettings(gatherSettings(readArguments(words).settings, sources, log), options);
        return options;
    };

    const model::Options usual = resolve({"--log-file", "argument"});
    CHECK(usual.logFile == "argument");
    CHECK(usual.timeout == std::chrono::seconds(3));
    CHECK(usual.pidFile == "named");
    CHECK(usual.libDir == "home");
    CHECK(usual.root == "system");

    // --config replaces the default files, but not the file that the environment names.
    const model::Options config = resolve({"--config", chosen});
    CHECK(config.logFile == "chosen");
    CHECK(config.timeout == std::chrono::seconds(4));
    CHECK(config.pidFile == "named");
    CHECK_FALSE(config.libDir);
    CHECK_FALSE(config.root);

    const model::Options none = resolve({"--no-default-config"});
    CHECK(none.logFile == "named");
    CHECK_FALSE(none.root);
}

TEST_CASE("files that don't exist are passed over, unreadable ones are errors") {
    const ConfigDirectory directory;
    CHECK_FALSE(readConfigFile(directory.path() + "/none"));
    CHECK_FALSE(readConfigFile(directory.write("file", "") + "/none"));
    CHECK(readConfigFile(directory.write("empty", ""))->empty());
    CHECK_THROWS_WITH(readConfigFile(directory.path()), Contains("Is a directory"));
    CHECK_THROWS_WITH(readConfigFile(directory.write("large", std::string((1U << 20) + 1, '#'))), Contains("larger"));
}
