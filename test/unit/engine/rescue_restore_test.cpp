// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/rescue.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/kernel/names/created_name.hpp"
#include "criu/kernel/names/folder_record.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/net/nftables.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/model/options.hpp"
#include "criu/sockets/network_lock.hpp"
#include "criu/sockets/tcp_repair.hpp"
#include "engine/rescue_fixture.hpp"

using namespace criu;
namespace fs = std::filesystem;
using test::freezerHierarchy;
using test::JournalFolder;
using test::ownPidNamespace;

namespace {

/// Directory of a journal that a killed restore has left.
class RestoreFolder : public JournalFolder {
public:
    explicit RestoreFolder(std::uint32_t pidNamespace = ownPidNamespace()) {
        openJournal();
        lines().record({"restore", std::to_string(pidNamespace), std::to_string(::time(nullptr) - 1), ""});
        kernel::recordCreatedNames(&lines());
    }
    ~RestoreFolder() { kernel::recordCreatedNames(nullptr); }
    RestoreFolder(const RestoreFolder&) = delete;
    RestoreFolder& operator=(const RestoreFolder&) = delete;

    /// Records this process as the root of the tree.
    void recordRoot(std::uint64_t start = startTime()) {
        lines().record({"root", std::to_string(::getpid()), std::to_string(start)});
    }
    /// Calls `work` in a child process, which then ends without destructors of objects that `work` keeps.
    static void killed(const std::function<void()>& work) {
        const pid_t child = ::fork();
        if (child == 0) {
            work();
            ::_exit(0);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(status == 0);
    }
};

}  // namespace

TEST_CASE("rescue waits for another rescue of its pid namespace only", "[rescue]") {
    RestoreFolder folder;
    const std::string file = fs::path(folder.journal()).parent_path() / "rescue.lock";
    UniqueFd other(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_len = 1;
    SECTION("another rescue of the same namespace") {
        range.l_start = ownPidNamespace();
        REQUIRE(::fcntl(other.get(), F_OFD_SETLK, &range) == 0);
        UniqueFd journal(::open(folder.journal().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        REQUIRE(::flock(journal.get(), LOCK_EX) == 0);
        std::thread ends([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            journal.reset();
            other.reset();
        });
        (void)folder.rescue();
        ends.join();
    }
    SECTION("a rescue of another namespace") {
        range.l_start = ownPidNamespace() + off_t{1};
        REQUIRE(::fcntl(other.get(), F_OFD_SETLK, &range) == 0);
        (void)folder.rescue();
    }
    CHECK_FALSE(fs::exists(folder.journal()));
}

TEST_CASE("rescue removes the names that a killed restore has created", "[rescue]") {
    RestoreFolder folder;
    RestoreFolder::killed([&] {
        kernel::CreatedName file(folder.path() + "/ghost");
        const UniqueFd made = file.createFile(O_WRONLY);
        kernel::CreatedDirectories directories;
        directories.make(folder.path() + "/one/two");
        kernel::CreatedName inside(folder.path() + "/one/two/fifo");
        (void)inside.createNode(S_IFIFO);
        kernel::CreatedName second(folder.path() + "/second");
        REQUIRE(second.link(made.get()) == 0);
        ::_exit(0);
    });
    REQUIRE(folder.has("/one/two/fifo"));
    const std::string answer = folder.rescue();
    CHECK_THAT(answer, Catch::Contains("removed") && Catch::Contains("/ghost"));
    for (const char* const name : {"/ghost", "/second", "/one"})
        CHECK_FALSE(folder.has(name));
    CHECK(folder.has("/other"));
    CHECK_FALSE(fs::exists(folder.journal()));
}

TEST_CASE("rescue removes a file that a restore was killed at", "[rescue]") {
    RestoreFolder folder;
    RestoreFolder::killed([&] {
        const kernel::CreatedName file(folder.path() + "/new");
        file.announceFile(S_IFREG);
    });
    SECTION("if criu created it") {
        std::ofstream(folder.path() + "/new") << "x";
        CHECK_THAT(folder.rescue(), Catch::Contains("/new"));
        CHECK_FALSE(folder.has("/new"));
    }
    SECTION("unless it has another type") {
        REQUIRE(::mkdir((folder.path() + "/new").c_str(), 0700) == 0);
        CHECK(folder.rescue() == "Nothing to do\n");
        CHECK(folder.has("/new"));
    }
    SECTION("unless it belongs to another user") {
        std::ofstream(folder.path() + "/new") << "x";
        if (::chown((folder.path() + "/new").c_str(), 1, 1) != 0) {
            WARN("skipped: only root can change the owner");
            return;
        }
        CHECK(folder.rescue() == "Nothing to do\n");
        CHECK(folder.has("/new"));
    }
}

TEST_CASE("rescue keeps the names that a restore has left or removed itself", "[rescue]") {
    RestoreFolder folder;
    RestoreFolder::killed([&] {
        kernel::CreatedName kept(folder.path() + "/kept");
        (void)kept.createFile(O_WRONLY);
        kept.release();
        kernel::CreatedName removed(folder.path() + "/removed");
        (void)removed.createFile(O_WRONLY);
        removed.remove();
    });
    std::ofstream(folder.path() + "/removed") << "of another process";
    CHECK(folder.rescue() == "Nothing to do\n");
    CHECK(folder.has("/kept"));
    CHECK(folder.has("/removed"));
}

TEST_CASE("rescue keeps a file whose name criu couldn't create", "[rescue]") {
    RestoreFolder folder;
    RestoreFolder::killed([&] {
        kernel::CreatedName taken(folder.path() + "/other");
        CHECK_THROWS_AS(taken.createFile(O_WRONLY), Error);
    });
    CHECK(folder.rescue() == "Nothing to do\n");
    CHECK(folder.has("/other"));
}

TEST_CASE("rescue removes temporary links only if the restored tree runs", "[rescue]") {
    RestoreFolder folder;
    folder.recordLink("link_remap.1", "/link_remap.1");
    SECTION("it runs") {
        folder.recordRoot();
        CHECK_THAT(folder.rescue(), Catch::Contains("removed the temporary link"));
        CHECK_FALSE(folder.hasLink());
    }
    SECTION("it has ended") {
        folder.recordRoot(JournalFolder::startTime() + 1);
        CHECK(folder.rescue() == "Nothing to do\n");
        CHECK(folder.hasLink());
    }
    SECTION("the restore was killed before it created the root") {
        CHECK(folder.rescue() == "Nothing to do\n");
        CHECK(folder.hasLink());
    }
}

TEST_CASE("rescue ends the rest of a tree that was half restored", "[rescue]") {
    const auto start = [] {
        const pid_t child = ::fork();
        if (child == 0)
            for (;;)
                ::pause();
        return child;
    };
    const auto entry = [](pid_t pid) {
        kernel::ProcBuffer buffer;
        return fmt::format("{}:{}", pid, kernel::readStat(kernel::ProcDir().open(pid), buffer).startTime);
    };
    const pid_t first = start();
    const pid_t second = start();
    RestoreFolder folder;
    folder.lines().record(JournalLine{"resuming", entry(first), entry(second)});
    int status = 0;
    SECTION("if one process has ended") {
        ::kill(first, SIGKILL);
        REQUIRE(::waitpid(first, &status, 0) == first);
        CHECK_THAT(folder.rescue(), Catch::Contains("ended 1 processes"));
        REQUIRE(::waitpid(second, &status, 0) == second);
        CHECK(WIFSIGNALED(status));
    }
    SECTION("unless all processes run") {
        CHECK(folder.rescue() == "Nothing to do\n");
        for (const pid_t pid : {first, second}) {
            CHECK(::waitpid(pid, &status, WNOHANG) == 0);
            ::kill(pid, SIGKILL);
            ::waitpid(pid, &status, 0);
        }
    }
}

TEST_CASE("rescue removes names that a killed restore has created in another root directory", "[rescue]") {
    if (::geteuid() != 0) {
        WARN("skipped: chroot(2) needs root");
        return;
    }
    RestoreFolder folder;
    const std::string root = folder.path() + "/apart";
    RestoreFolder::killed([&] {
        auto* const made = new kernel::CreatedName(root);
        const UniqueFd inside = made->createDirectory();
        new kernel::RecordedRoot(inside.get());
        if (::chroot(root.c_str()) != 0 || ::chdir("/") != 0)
            ::_exit(1);
        auto* const below = new kernel::CreatedName("/below");
        (void)below->createDirectory();
        auto* const file = new kernel::CreatedName("/below/file");
        (void)file->createFile(O_RDWR);
    });
    CHECK(folder.has("/apart/below/file"));
    CHECK_THAT(folder.rescue(), Catch::Contains("removed " + root + "/below/file"));
    CHECK_FALSE(folder.has("/apart"));
}

TEST_CASE("rescue freezes the cgroup that a killed restore has thawed or was about to freeze", "[rescue]") {
    const std::string hierarchy = freezerHierarchy();
    const std::string group = hierarchy + "/criu-rescue-thawed-" + std::to_string(::getpid());
    if (hierarchy.empty() || ::mkdir(group.c_str(), 0755) != 0 || !fs::exists(group + "/cgroup.freeze")) {
        WARN("skipped: no writable hierarchy of cgroups of version 2");
        return;
    }
    RestoreFolder folder;
    const UniqueFd open(::open(group.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto record = kernel::FolderRecord::of(open.get());
    const auto state = [&] {
        std::string text;
        std::ifstream(group + "/cgroup.freeze") >> text;
        return text;
    };
    SECTION("thawed") {
        folder.lines().record({"thaw", record.identity(), record.path()});
        CHECK_THAT(folder.rescue(), Catch::Contains("froze the cgroup " + group));
        CHECK(state() == "1");
    }
    SECTION("about to freeze, and the restored tree runs") {
        folder.lines().record({"freezes", record.identity(), record.path()});
        folder.recordRoot();
        CHECK_THAT(folder.rescue(), Catch::Contains("froze the cgroup " + group));
        CHECK(state() == "1");
    }
    SECTION("about to freeze, and no tree runs") {
        folder.lines().record({"freezes", record.identity(), record.path()});
        CHECK(folder.rescue() == "Nothing to do\n");
        CHECK(state() == "0");
    }
    ::rmdir(group.c_str());
}

TEST_CASE("rescue removes the cgroups that a killed restore has created", "[rescue]") {
    const std::string hierarchy = freezerHierarchy();
    const std::string path = "/criu-rescue-made-" + std::to_string(::getpid());
    const std::string group = hierarchy + path;
    if (hierarchy.empty() || ::mkdir(group.c_str(), 0755) != 0) {
        WARN("skipped: no writable hierarchy of cgroups with a freezer");
        return;
    }
    const std::string controllers = fs::exists(group + "/cgroup.freeze") ? "" : "freezer";
    struct stat status {};
    REQUIRE(::stat(group.c_str(), &status) == 0);
    const std::string device = std::to_string(status.st_dev);
    const std::string inode = std::to_string(status.st_ino);
    RestoreFolder folder;
    folder.lines().record({"group", controllers, path});
    SECTION("if the restore recorded the inode") {
        folder.lines().record({"group", controllers, path, device, inode});
        CHECK_THAT(folder.rescue(), Catch::Contains("removed cgroup " + path));
        CHECK_FALSE(fs::exists(group));
    }
    SECTION("if the restore was killed at the creation") {
        CHECK_THAT(folder.rescue(), Catch::Contains("removed cgroup " + path));
        CHECK_FALSE(fs::exists(group));
    }
    SECTION("unless another process has created it") {
        folder.lines().record({"group", controllers, path, device, inode + "1"});
        CHECK(folder.rescue() == "Nothing to do\n");
        CHECK(fs::exists(group));
    }
    SECTION("unless the restored tree runs") {
        folder.lines().record({"group", controllers, path, device, inode});
        folder.recordRoot();
        CHECK(folder.rescue() == "Nothing to do\n");
        CHECK(fs::exists(group));
    }
    ::rmdir(group.c_str());
}

TEST_CASE("rescue removes System V shared memory that a killed restore has created", "[rescue]") {
    const int id = ::shmget(IPC_PRIVATE, 1, 0600);
    REQUIRE(id >= 0);
    const UniqueFd space = kernel::openOwnNamespace(kernel::NamespaceKind::Ipc);
    const std::uint32_t own = kernel::namespaceInode(space.get());
    const auto exists = [&] {
        shmid_ds status{};
        return ::shmctl(id, IPC_STAT, &status) == 0;
    };
    RestoreFolder folder;
    SECTION("in the IPC namespace of rescue") {
        folder.lines().record({"segment", std::to_string(own), std::to_string(id)});
        CHECK_THAT(folder.rescue(), Catch::Contains("removed System V shared memory " + std::to_string(id)));
        CHECK_FALSE(exists());
    }
    SECTION("unless the segment is of another IPC namespace") {
        folder.lines().record({"segment", std::to_string(own + 1), std::to_string(id)});
        CHECK(folder.rescue() == "Nothing to do\n");
        CHECK(exists());
    }
    SECTION("unless a process has attached it") {
        folder.lines().record({"segment", std::to_string(own), std::to_string(id)});
        void* const attached = ::shmat(id, nullptr, 0);
        CHECK_THAT(folder.rescue(1), Catch::Contains("is attached"));
        CHECK(exists());
        ::shmdt(attached);
    }
    ::shmctl(id, IPC_RMID, nullptr);
}

TEST_CASE("rescue completes the network of a killed restore whose tree runs", "[rescue]") {
    if (!kernel::Nftables::available()) {
        WARN("skipped: libnftables isn't installed");
        return;
    }
    test::inNewNetwork([] {
        const auto network =
            std::to_string(kernel::namespaceInode(kernel::openOwnNamespace(kernel::NamespaceKind::Net).get()));
        kernel::Nftables().run("add table inet CRIU-0123-ab\nadd table inet kept\n");
        const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockets::enterRepair(socket.get());
        RestoreFolder folder;
        folder.recordRoot();
        const std::string nftables = std::to_string(sockets::networkLockNumber(model::NetworkLock::Nftables));
        folder.lines().record({"lock", network, nftables, "0123-ab", "connections"});
        const std::string answer = folder.rescue();
        CHECK_THAT(answer, Catch::Contains("removed the network lock of the tree"));
        CHECK_THAT(answer, Catch::Contains("ended the repair mode of 1 TCP sockets"));
        CHECK_THAT(kernel::Nftables().run("list tables inet\n"), !Catch::Contains("CRIU-") && Catch::Contains("kept"));
    });
}
