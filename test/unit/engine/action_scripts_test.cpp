// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/action_scripts.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace criu;
using namespace criu::engine;
using Catch::Matchers::Contains;
using model::Stage;

namespace {

/// Directory with programs that write to its file "out".
class Scripts {
public:
    Scripts() {
        std::string pattern = (std::filesystem::temp_directory_path() / "criu-scripts-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr)
            throw std::runtime_error("mkdtemp");
        path_ = pattern;
        fd_.reset(::open(pattern.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    ~Scripts() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Scripts(const Scripts&) = delete;
    Scripts& operator=(const Scripts&) = delete;

    std::string add(const std::string& name, const std::string& body) const {
        const std::string file = path_ / name;
        std::ofstream(file) << "#!/bin/sh\n" << body << '\n';
        ::chmod(file.c_str(), 0755);
        return file;
    }
    std::string output() const {
        std::ifstream in(path_ / "out");
        return {std::istreambuf_iterator<char>(in), {}};
    }
    int fd() const { return fd_.get(); }

private:
    std::filesystem::path path_;
    UniqueFd fd_;
};

// The programs get the directory in this variable.
constexpr const char* kReport =
    "echo $CRTOOLS_SCRIPT_ACTION ${CRTOOLS_INIT_PID-none} $(basename $0) $# "
    ">>$CRTOOLS_IMAGE_DIR/out";

}  // namespace

TEST_CASE("programs run last given first and know stage, images and root") {
    const Scripts scripts;
    Log log;
    StopRequest stop;
    const std::vector<std::string> programs{scripts.add("first", kReport), scripts.add("second", kReport)};
    ActionScripts actions(programs, stop, log);
    CHECK(actions.reached({Stage::PreDump, criu::HostPid(), scripts.fd()}) == 0);
    CHECK(actions.reached({Stage::PostDump, criu::HostPid(77), scripts.fd()}) == 0);
    CHECK(scripts.output() ==
          "pre-dump none second 0\npre-dump none first 0\n"
          "post-dump 77 second 0\npost-dump 77 first 0\n");
}

TEST_CASE("programs know the statuses of the programs before them") {
    const Scripts scripts;
    Log log;
    StopRequest stop;
    const char* const report = "echo $CRTOOLS_SCRIPT_STATUS >>$CRTOOLS_IMAGE_DIR/out; exit ";
    const std::vector<std::string> programs{scripts.add("last", report + std::string("0")),
                                            scripts.add("second", report + std::string("4")),
                                            scripts.add("first", report + std::string("1"))};
    ActionScripts actions(programs, stop, log);
    CHECK(actions.reached({Stage::PostDump, criu::HostPid(77), scripts.fd()}) == 5);
    CHECK(scripts.output() == "0\n1\n5\n");
}

TEST_CASE("all programs run even if one fails, and the statuses are or'ed") {
    const Scripts scripts;
    Log log;
    StopRequest stop;
    const std::vector<std::string> programs{scripts.add("a", std::string(kReport) + "\nexit 5"),
                                            scripts.add("b", std::string(kReport) + "\nexit 2")};
    ActionScripts actions(programs, stop, log);
    CHECK(actions.reached({Stage::PostDump, criu::HostPid(), scripts.fd()}) == 7);
    CHECK(scripts.output() == "post-dump none b 0\npost-dump none a 0\n");
    const std::vector<std::string> killed{scripts.add("c", "kill -9 $$")};
    CHECK(ActionScripts(killed, stop, log).reached({Stage::PreDump, criu::HostPid(), scripts.fd()}) == 128 + SIGKILL);
}

TEST_CASE("a program that can't be started is an error with its name") {
    Log log;
    StopRequest stop;
    const std::vector<std::string> programs{"/nowhere/program"};
    ActionScripts actions(programs, stop, log);
    CHECK_THROWS_WITH(actions.reached({Stage::PreDump, criu::HostPid()}),
                      Contains("action script /nowhere/program at pre-dump") && Contains("No such file"));
}

TEST_CASE("programs get the signal mask from before and stop when criu is to stop") {
    const Scripts scripts;
    Log log;
    StopRequest stop;
    CHECK_FALSE(stop.requested());
    const std::vector<std::string> masked{
        scripts.add("mask", "grep SigBlk /proc/self/status >>$CRTOOLS_IMAGE_DIR/out")};
    CHECK(ActionScripts(masked, stop, log).reached({Stage::PreDump, criu::HostPid(), scripts.fd()}) == 0);
    CHECK(scripts.output() == "SigBlk:\t0000000000000000\n");

    const std::vector<std::string> slow{scripts.add("slow", "exec sleep 60")};
    CHECK_THROWS_WITH(ActionScripts(slow, stop, log, std::chrono::seconds(1))
                          .reached({Stage::PreResume, criu::HostPid(), scripts.fd()}),
                      Contains("hasn't ended within 1 s"));

    // exec avoids a child, which would survive the program and keep this test's output open.
    const std::vector<std::string> endless{scripts.add("endless", "kill -TERM $PPID; exec sleep 60")};
    const auto begin = std::chrono::steady_clock::now();
    CHECK_THROWS_WITH(ActionScripts(endless, stop, log).reached({Stage::PreDump, criu::HostPid(), scripts.fd()}),
                      Contains("stopped by SIGTERM"));
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
    CHECK(stop.requested());
    // The stop request remains, but doesn't interrupt later scripts.
    CHECK(ActionScripts(masked, stop, log).reached({Stage::NetworkUnlock, criu::HostPid(), scripts.fd()}) == 0);
}

TEST_CASE("action scripts: a limit ends a program, but not after the tree runs") {
    const Scripts scripts;
    const std::vector<std::string> programs{scripts.add("slow", "sleep 1.5")};
    Log log;
    StopRequest stop;
    ActionScripts limited(programs, stop, log, std::chrono::seconds(1));
    CHECK_THROWS_WITH(limited.reached({Stage::PreResume, criu::HostPid(), scripts.fd()}),
                      Contains("hasn't ended within 1 s"));
    CHECK(limited.reached({Stage::PostResume, criu::HostPid(), scripts.fd()}) == 0);
}

TEST_CASE("only a program of the user may freeze the tree") {
    const Scripts scripts;
    Log log;
    StopRequest stop;
    const std::vector<std::string> none;
    const std::vector<std::string> programs{scripts.add("one", kReport)};
    CHECK_FALSE(ActionScripts(none, stop, log).mayFreeze());
    CHECK(ActionScripts(programs, stop, log).mayFreeze());
}
