// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/rescue.hpp"

#include <catch2/catch.hpp>

#include <compel/injection.hpp>
#include <compel/process.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/base/log.hpp"
#include "criu/kernel/names/created_name.hpp"
#include "criu/kernel/names/folder_record.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/net/changed_options.hpp"
#include "criu/kernel/net/iptables.hpp"
#include "criu/kernel/net/nftables.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/model/options.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/injection_record.hpp"
#include "criu/sockets/iptables_rule.hpp"
#include "criu/sockets/network_lock.hpp"
#include "criu/sockets/tcp_repair.hpp"

using namespace criu;
namespace fs = std::filesystem;

namespace {

std::uint32_t ownPidNamespace() {
    return kernel::namespaceInode(kernel::openOwnNamespace(kernel::NamespaceKind::Pid).get());
}

/// Returns where cgroups with a freezer are mounted: cgroup v2, or the freezer of v1. Returns "" if there is none.
std::string freezerHierarchy() {
    std::ifstream mounts("/proc/self/mounts");
    std::string device, path, type, options, rest, found;
    while (mounts >> device >> path >> type >> options && std::getline(mounts, rest))
        if (type == "cgroup2" || (type == "cgroup" && options.find("freezer") != std::string::npos && found.empty()))
            found = path;
    return found;
}

/// Directory for journals, and a file with a temporary link.
class JournalFolder {
public:
    JournalFolder() {
        char made[] = "/tmp/rescue-XXXXXX";
        REQUIRE(::mkdtemp(made) != nullptr);
        path_ = made;
        fs::create_directories(journal());
        for (const char* const each : {"/criu", "/criu/journals", "/criu/journals/1-1"})
            REQUIRE(::chmod((path_ + each).c_str(), 0700) == 0);
        std::ofstream(path_ + "/link_remap.1") << "x";
        std::ofstream(path_ + "/other") << "x";
    }
    ~JournalFolder() { fs::remove_all(path_); }
    JournalFolder(const JournalFolder&) = delete;
    JournalFolder& operator=(const JournalFolder&) = delete;

    /// Begins a journal of this process' tree, and records the temporary link.
    void begin() { begin(ownPidNamespace(), ::getpid(), startTime()); }
    void openJournal() {
        const std::string file = journal() + "/journal";
        journal_.open(UniqueFd(::open(file.c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600)), UniqueFd());
    }
    void begin(std::uint32_t pidNamespace, pid_t root, std::uint64_t start) {
        openJournal();
        journal_.record({"tree", std::to_string(pidNamespace), std::to_string(root), std::to_string(start)});
        recordLink("link_remap.1", "/link_remap.1");
    }
    /// Records a link `name` with the inode of `file`.
    void recordLink(const char* name, const char* file) {
        struct stat status {};
        REQUIRE(::stat((path_ + file).c_str(), &status) == 0);
        journal_.record({"link", std::to_string(status.st_dev), std::to_string(status.st_ino), path_, name});
    }
    Journal& lines() { return journal_; }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string journal() const { return path_ + "/criu/journals/1-1"; }
    [[nodiscard]] bool has(const char* name) const { return fs::exists(path_ + name); }
    [[nodiscard]] bool hasLink() const { return has("/link_remap.1"); }
    /// Calls rescue(), and returns its answer.
    std::string rescue(int expected = 0) {
        std::string answer;
        CHECK(engine::rescue(answer, log_, {path_}) == expected);
        return answer;
    }
    static std::uint64_t startTime() {
        kernel::ProcBuffer buffer;
        return kernel::readStat(kernel::ProcDir().self(), buffer).startTime;
    }

private:
    std::string path_;
    Journal journal_;
    Log log_;
};

}  // namespace

TEST_CASE("rescue removes the temporary links of a killed dump", "[rescue]") {
    JournalFolder folder;
    folder.begin();
    CHECK_THAT(folder.rescue(), Catch::Contains("removed the temporary link") && Catch::Contains("link_remap.1"));
    CHECK_FALSE(folder.hasLink());
    CHECK_FALSE(fs::exists(folder.journal()));
    CHECK(folder.rescue() == "Nothing to do\n");
}

TEST_CASE("rescue doesn't touch what a running dump has changed", "[rescue]") {
    JournalFolder folder;
    folder.begin();
    const UniqueFd lock(::open(folder.journal().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::flock(lock.get(), LOCK_EX) == 0);
    CHECK(folder.rescue() == "Nothing to do\n");
    CHECK(folder.hasLink());
    CHECK(fs::exists(folder.journal()));
}

TEST_CASE("rescue keeps the links of a dump that has ended its tree", "[rescue]") {
    JournalFolder folder;
    folder.begin(ownPidNamespace(), ::getpid(), JournalFolder::startTime() + 1);
    folder.lines().record({"ends"});
    CHECK(folder.rescue() == "Nothing to do\n");
    CHECK(folder.hasLink());
    CHECK_FALSE(fs::exists(folder.journal()));
}

TEST_CASE("rescue reverts a dump that was killed before it ended its tree", "[rescue]") {
    JournalFolder folder;
    folder.begin();
    folder.lines().record({"ends"});
    (void)folder.rescue();
    CHECK_FALSE(folder.hasLink());
}

TEST_CASE("rescue leaves journals of other pid namespaces", "[rescue]") {
    // In the initial pid namespace, rescue reverts journals of namespaces that have ended.
    const auto member = static_cast<pid_t>(::syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0));
    if (member == 0)
        for (;;)
            ::pause();
    if (member < 0) {
        WARN("skipped: this user can't create pid namespaces");
        return;
    }
    JournalFolder folder;
    folder.begin(kernel::readNamespaceId(kernel::ProcDir().open(member), kernel::NamespaceKind::Pid).value(),
                 ::getpid(), JournalFolder::startTime());
    CHECK(folder.rescue() == "Nothing to do\n");
    CHECK(folder.hasLink());
    CHECK(fs::exists(folder.journal()));
    ::kill(member, SIGKILL);
    CHECK(::waitpid(member, nullptr, 0) == member);
}

TEST_CASE("rescue removes no file that another process has created", "[rescue]") {
    JournalFolder folder;
    folder.begin();
    SECTION("with the name of a temporary link") {
        folder.recordLink("link_remap.1", "/other");
        (void)folder.rescue();
        CHECK(folder.has("/other"));
    }
    SECTION("with another name") {
        folder.recordLink("other", "/other");
        CHECK_THAT(folder.rescue(1), Catch::Contains("the journal is damaged"));
        CHECK(folder.has("/other"));
        CHECK_FALSE(folder.hasLink());
    }
}

TEST_CASE("rescue thaws the cgroup that a killed dump has frozen", "[rescue]") {
    const std::string hierarchy = freezerHierarchy();
    const std::string group = hierarchy + "/criu-rescue-test-" + std::to_string(::getpid());
    if (hierarchy.empty() || ::mkdir(group.c_str(), 0755) != 0) {
        WARN("skipped: no writable hierarchy of cgroups with a freezer");
        return;
    }
    const bool unified = fs::exists(group + "/cgroup.freeze");
    const std::string control = group + (unified ? "/cgroup.freeze" : "/freezer.state");
    const std::string frozen = unified ? "1" : "FROZEN";
    const std::string thawed = unified ? "0" : "THAWED";
    struct stat status {};
    REQUIRE(::stat(group.c_str(), &status) == 0);
    const auto state = [&] {
        std::string text;
        std::ifstream(control) >> text;
        return text;
    };
    std::ofstream(control) << frozen;
    REQUIRE(state() == frozen);
    JournalFolder folder;
    folder.begin();
    folder.lines().record({"freeze", std::to_string(status.st_dev), std::to_string(status.st_ino), group});
    SECTION("if the dump was killed while it was frozen") {
        CHECK_THAT(folder.rescue(), Catch::Contains("thawed the cgroup " + group));
        CHECK(state() == thawed);
    }
    SECTION("unless the dump has thawed it") {
        folder.lines().record({"thawed"});
        (void)folder.rescue();
        CHECK(state() == frozen);
    }
    std::ofstream(control) << thawed;
    ::rmdir(group.c_str());
}

TEST_CASE("rescue removes the network lock of a killed dump", "[rescue]") {
    if (!kernel::Nftables::available()) {
        WARN("skipped: libnftables isn't installed");
        return;
    }
    // A thread of its own, because it enters a new network namespace.
    kernel::runInThread([] {
        if (::unshare(CLONE_NEWNET) != 0) {
            WARN("skipped: this user can't create network namespaces");
            return;
        }
        const auto tables = [] { return kernel::Nftables().run("list tables inet\n"); };
        kernel::Nftables().run("add table inet CRIU-0123-ab\nadd table inet kept\n");
        JournalFolder folder;
        folder.begin();
        const auto network = kernel::namespaceInode(kernel::openOwnNamespace(kernel::NamespaceKind::Net).get());
        folder.lines().record({"table", "inet CRIU-0123-ab", std::to_string(network)});
        CHECK_THAT(folder.rescue(), Catch::Contains("removed the network lock \"inet CRIU-0123-ab\""));
        CHECK_THAT(tables(), !Catch::Contains("CRIU-") && Catch::Contains("kept"));
    });
}

TEST_CASE("rescue removes the iptables rules of a killed dump", "[rescue]") {
    const kernel::Iptables iptables(kernel::Iptables::Family::V4);
    if (!iptables.available()) {
        WARN("skipped: iptables isn't installed");
        return;
    }
    kernel::runInThread([&] {
        if (::unshare(CLONE_NEWNET) != 0) {
            WARN("skipped: this user can't create network namespaces");
            return;
        }
        sockets::InetConnection connection;
        connection.local.words[0] = connection.remote.words[0] = htonl(INADDR_LOOPBACK);
        connection.local.port = 80;
        connection.remote.port = 4000;
        iptables.run(sockets::iptablesInsertions({&connection, 1}, AF_INET));
        iptables.run("*filter\n-A INPUT -p tcp --dport 81 -j DROP\nCOMMIT\n");
        REQUIRE_THAT(iptables.filterRules(), Catch::Contains("--dport 80 "));
        JournalFolder folder;
        folder.begin();
        const auto network = kernel::namespaceInode(kernel::openOwnNamespace(kernel::NamespaceKind::Net).get());
        const std::string method = std::to_string(sockets::networkLockNumber(model::NetworkLock::Iptables));
        folder.lines().record({"rules", std::to_string(network), method, "0123-ab", "connections"});
        folder.lines().record({"connection", connection.local.word(), connection.remote.word()});
        CHECK_THAT(folder.rescue(), Catch::Contains("removed the network lock of the tree"));
        CHECK_THAT(iptables.filterRules(), !Catch::Contains("--dport 80 ") && Catch::Contains("--dport 81 "));
    });
}

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

TEST_CASE("rescue restores options of sockets that a killed dump has changed", "[rescue]") {
    kernel::runInThread([] {
        if (::unshare(CLONE_NEWNET) != 0) {
            WARN("skipped: this user can't create network namespaces");
            return;
        }
        const auto make = [](int reuse) {
            UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
            REQUIRE(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)) == 0);
            return socket;
        };
        const auto reuses = [](const UniqueFd& socket) {
            int value = -1;
            socklen_t size = sizeof(value);
            REQUIRE(::getsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &value, &size) == 0);
            return value != 0;
        };
        const UniqueFd in = make(1), out = make(1), other = make(0);
        for (const UniqueFd* const each : {&in, &out, &other})
            sockets::enterRepair(each->get());
        sockets::leaveRepair(out.get());
        CHECK_FALSE(reuses(out));
        JournalFolder folder;
        folder.begin();
        const auto inode = [](const UniqueFd& socket) {
            struct stat status {};
            REQUIRE(::fstat(socket.get(), &status) == 0);
            return status.st_ino;
        };
        kernel::recordOptions({{inode(in), {{SO_REUSEADDR, 1}}}, {inode(out), {{SO_REUSEADDR, 1}, {SO_PEEK_OFF, 5}}}},
                              folder.lines());
        CHECK_THAT(folder.rescue(), Catch::Contains("ended the repair mode of 2 TCP sockets"));
        CHECK(reuses(in));
        CHECK(reuses(out));
        CHECK_FALSE(reuses(other));
        int offset = 0;
        socklen_t size = sizeof(offset);
        if (::getsockopt(out.get(), SOL_SOCKET, SO_PEEK_OFF, &offset, &size) == 0)  // Linux 6.9
            CHECK(offset == 5);
    });
}

TEST_CASE("rescue unmaps memory of a killed dump in a process", "[rescue]") {
    int answers[2];
    REQUIRE(::pipe2(answers, O_CLOEXEC) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char byte = 0;
        while (::read(answers[0], &byte, 1) == 1 && byte == 'a')
            continue;
        ::_exit(byte);
    }
    const auto maps = [child] {
        std::ifstream file("/proc/" + std::to_string(child) + "/maps");
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    const std::string before = maps();
    kernel::ProcBuffer buffer;
    const std::uint64_t startTime = kernel::readStat(kernel::ProcDir().open(child), buffer).startTime;
    JournalFolder folder;
    folder.begin(ownPidNamespace(), child, startTime);
    const auto inject = [&] {
        auto process = compel::FrozenProcess::freeze(child);
        constexpr std::uint64_t kData = 10000;
        pie::recordInjection(pie::InjectedBlob::Interpreter, HostPid(child), startTime, kData, folder.lines());
        compel::Injection injection(process.leader(), pie::interpreterBlob(), kData, process.syscallInstruction());
        const auto code = injection.code();
        injection.leave();
        return code;
    };
    SECTION("once") {
        (void)inject();
        CHECK(maps() != before);
        CHECK_THAT(folder.rescue(), Catch::Contains("unmapped memory of criu in process " + std::to_string(child)));
        CHECK(maps() == before);
    }
    SECTION("unless other memory is there now") {
        auto code = inject();
        {
            auto process = compel::FrozenProcess::freeze(child);
            constexpr std::uint8_t kOther = 0;
            process.memory().writeValue(code, kOther);
        }
        const std::string changed = maps();
        CHECK_THAT(folder.rescue(), !Catch::Contains("unmapped"));
        CHECK(maps() == changed);
    }
    REQUIRE(::write(answers[1], "aaz", 3) == 3);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 'z');
    ::close(answers[0]);
    ::close(answers[1]);
}

TEST_CASE("rescue completes the network of a killed restore whose tree runs", "[rescue]") {
    if (!kernel::Nftables::available()) {
        WARN("skipped: libnftables isn't installed");
        return;
    }
    kernel::runInThread([] {
        if (::unshare(CLONE_NEWNET) != 0) {
            WARN("skipped: this user can't create network namespaces");
            return;
        }
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
