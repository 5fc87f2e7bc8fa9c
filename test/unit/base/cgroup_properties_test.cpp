// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/cgroup/properties.hpp"

using criu::UniqueFd;
using criu::cgroup::PropertyTable;
using criu::cgroup::readProperty;
using criu::cgroup::setProperty;

namespace {

/// Folder that looks like a cgroup.
class Group {
public:
    Group() {
        char name[] = "/tmp/criu-group-XXXXXX";
        REQUIRE(::mkdtemp(name) != nullptr);
        path_ = name;
        fd_.reset(::open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    ~Group() { std::filesystem::remove_all(path_); }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    void put(const std::string& name, const std::string& text) const { std::ofstream(path_ + '/' + name) << text; }
    [[nodiscard]] std::string get(const std::string& name) const {
        std::ifstream file(path_ + '/' + name);
        return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }
    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::string value(const std::string& name) const { return readProperty(fd(), name)->value; }

private:
    std::string path_;
    UniqueFd fd_;
};

}  // namespace

TEST_CASE("properties of controllers can be added and replaced") {
    PropertyTable table;
    const std::size_t known = table.of("cpu").size();
    REQUIRE(known != 0);
    table.change(
        "\"cpu\":\n - \"strategy\": \"merge\"\n - \"properties\": [\"cpu.one\", \"cpu.two\"]\n"
        "\"memory\":\n - \"strategy\": \"replace\"\n - \"properties\": [ \"memory.one\" ]\n"
        "\"empty\":\n - \"strategy\": \"replace\"\n - \"properties\": []\n");
    CHECK(table.of("cpu").size() == known + 2);
    CHECK(table.of("cpu").back() == "cpu.two");
    CHECK(table.of("memory") == PropertyTable::Names{"memory.one"});
    CHECK(table.of("empty").empty());
    CHECK(table.of("unheard").empty());
}

TEST_CASE("specifications of properties that can't be read") {
    PropertyTable table;
    using Catch::Contains;
    CHECK_THROWS_WITH(table.change("cpu"), Contains("line 1") && Contains("controller"));
    CHECK_THROWS_WITH(table.change("\"cpu\":\n - \"strategy\": \"mix\""), Contains("merge or replace"));
    CHECK_THROWS_WITH(table.change("\"cpu\":\n - \"strategy\": \"merge\"\n"), Contains("line 3") && Contains("'-'"));
    CHECK_THROWS_WITH(table.change("\"cpu\":\n - \"strategy\": \"merge\"\n - \"properties\": [\"a\" \"b\"]"),
                      Contains("','"));
    CHECK_THROWS_WITH(table.change("\"cpu\":\n - \"strategy\": \"merge\"\n - \"properties\": [\"a"),
                      Contains("name of a property"));
    CHECK_THROWS_WITH(table.change("\"cpu\":\n - \"strategy\": \"merge\"\n - \"properties\": [\"../a\"]"),
                      Contains("no setting of a cgroup"));
}

TEST_CASE("properties are read in the form in which they can be set") {
    const Group group;
    group.put("pids.max", "max\n");
    group.put("memory.oom_control", "oom_kill_disable 1\nunder_oom 0\noom_kill 0\n");
    group.put("memory.limit_in_bytes", "9223372036854775807\n");
    group.put("tasks", "1\n2\n");
    CHECK(group.value("pids.max") == "max");
    CHECK(group.value("memory.oom_control") == "1");
    CHECK(group.value("memory.limit_in_bytes") == "-1");
    CHECK(group.value("tasks").empty());
    CHECK_FALSE(readProperty(group.fd(), "unheard"));
    group.put("memory.oom_control", "something else");
    CHECK_THROWS_AS(readProperty(group.fd(), "memory.oom_control"), criu::Error);
}

TEST_CASE("properties are written only where they differ") {
    const Group group;
    group.put("pids.max", "7\n");
    setProperty(group.fd(), "pids.max", "7");
    CHECK(group.get("pids.max") == "7\n");
    setProperty(group.fd(), "pids.max", "8");
    CHECK(group.get("pids.max") == "8\n");
    setProperty(group.fd(), "unheard", "");
    CHECK_THROWS_AS(setProperty(group.fd(), "unheard", "1"), criu::Error);
}

TEST_CASE("controllers of a subtree are changed by what differs") {
    const Group group;
    group.put("cgroup.subtree_control", "cpu io\n");
    setProperty(group.fd(), "cgroup.subtree_control", "io pids");
    CHECK(group.get("cgroup.subtree_control") == "-cpu +pids");
}

TEST_CASE("weights of devices are set line by line") {
    const Group group;
    group.put("io.weight", "default 50\n");
    setProperty(group.fd(), "io.weight", "default 100\n8:16 200");
    // A real file of a cgroup takes each write as a whole. This regular file has the last write at its beginning.
    CHECK(group.get("io.weight").starts_with("8:16 200"));
}

TEST_CASE("a list of devices is denied first, then allowed rule by rule") {
    const Group group;
    group.put("devices.list", "a *:* rwm\n");
    group.put("devices.deny", "");
    group.put("devices.allow", "");
    setProperty(group.fd(), "devices.list", "c 1:3 rwm");
    CHECK(group.get("devices.deny") == "a");
    CHECK(group.get("devices.allow") == "c 1:3 rwm");
}

TEST_CASE("a domain of its own isn't set") {
    const Group group;
    group.put("cgroup.type", "domain threaded\n");
    setProperty(group.fd(), "cgroup.type", "domain");
    CHECK(group.get("cgroup.type") == "domain threaded\n");
    setProperty(group.fd(), "cgroup.type", "threaded");
    CHECK(group.get("cgroup.type").starts_with("threaded"));
}
