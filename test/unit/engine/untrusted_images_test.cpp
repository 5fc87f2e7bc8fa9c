// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <functional>

#include "criu/engine/images/untrusted_images.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/mount/mount_tree.hpp"
#include "image_fixture.hpp"
#include "images/core.hpp"
#include "images/creds.hpp"
#include "images/fdinfo.hpp"
#include "images/netdev.hpp"
#include "images/userns.hpp"

using Catch::Contains;
using namespace criu;
using criu::engine::UntrustedRules;
using criu::test::errorOf;

namespace {

constexpr const char* kImage = "some.img";

/// Namespace ids of criu at the dump.
TaskKobjIdsEntry idsOfCriu() {
    TaskKobjIdsEntry ids = TASK_KOBJ_IDS_ENTRY__INIT;
    ids.has_pid_ns_id = ids.has_net_ns_id = ids.has_ipc_ns_id = ids.has_mnt_ns_id = ids.has_user_ns_id = 1;
    ids.pid_ns_id = 1;
    ids.net_ns_id = 2;
    ids.ipc_ns_id = 3;
    ids.mnt_ns_id = 6;
    ids.user_ns_id = 7;
    return ids;
}

/// Namespace ids of a process that shares no namespace with criu.
TaskKobjIdsEntry privateIds() {
    TaskKobjIdsEntry ids = idsOfCriu();
    for (std::uint32_t* const id : {&ids.pid_ns_id, &ids.net_ns_id, &ids.ipc_ns_id, &ids.mnt_ns_id, &ids.user_ns_id})
        *id += 8;
    return ids;
}

model::Options untrusted() {
    model::Options options;
    options.untrusted = model::IdRange{100000, 165535};
    options.root = "/root";
    return options;
}

/// Returns the error of a check by the rules.
std::string refused(const std::function<void(const UntrustedRules&)>& check,
                    const model::Options& options = untrusted()) {
    const TaskKobjIdsEntry outside = idsOfCriu();
    return errorOf([&] { check(UntrustedRules(options, &outside)); });
}

std::string refusedMap(std::uint32_t first, std::uint32_t count, bool groups = false) {
    UidGidExtent good = UID_GID_EXTENT__INIT;
    good.lower_first = 100000;
    good.count = 65536;
    UidGidExtent extent = good;
    extent.lower_first = first;
    extent.count = count;
    UidGidExtent* given[] = {&extent};
    UidGidExtent* other[] = {&good};
    UsernsEntry users = USERNS_ENTRY__INIT;
    users.n_uid_map = users.n_gid_map = 1;
    users.uid_map = groups ? other : given;
    users.gid_map = groups ? given : other;
    return refused([&](const UntrustedRules& rules) { rules.requireUsers(users, kImage); });
}

std::string refusedFile(
    FdTypes type, const std::function<void(FileEntry&)>& fill = [](FileEntry&) {}) {
    FileEntry file = FILE_ENTRY__INIT;
    file.id = 5;
    file.type = type;
    fill(file);
    return refused([&](const UntrustedRules& rules) { rules.requireFile(file); });
}

/// Returns the error for a mount below a root mount.
std::string refusedMount(const std::function<void(namespaces::Mount&)>& fill, bool hasFiles = true,
                         const model::Options& options = untrusted()) {
    namespaces::Mount root;
    root.id = 1;
    root.root = root.mountPoint = "/";
    root.fsType = "ext4";
    root.kind = namespaces::fsKindOf(root.fsType, {});
    root.isTop = true;
    namespaces::Mount mount;
    mount.id = 2;
    mount.parentId = 1;
    mount.root = "/";
    mount.mountPoint = "/mnt";
    mount.fsType = "tmpfs";
    fill(mount);
    mount.kind = namespaces::fsKindOf(mount.fsType, {});
    const namespaces::MountTree tree({root, mount});
    return refused([&](const UntrustedRules& rules) { rules.requireMounts(tree, hasFiles, kImage); }, options);
}

std::string refusedThread(const std::function<void(ThreadCoreEntry&)>& fill) {
    ThreadCoreEntry thread = THREAD_CORE_ENTRY__INIT;
    fill(thread);
    return refused([&](const UntrustedRules& rules) { rules.requireThread(thread, kImage); });
}

std::string refusedProcess(const std::function<void(TaskCoreEntry&)>& fill) {
    TaskCoreEntry process = TASK_CORE_ENTRY__INIT;
    fill(process);
    return refused([&](const UntrustedRules& rules) { rules.requireProcess(process, kImage); });
}

std::string refusedDevice(NdType type, const model::Options& options = untrusted()) {
    NetDeviceEntry device = NET_DEVICE_ENTRY__INIT;
    char name[] = "eth0";
    device.type = type;
    device.name = name;
    return refused([&](const UntrustedRules& rules) { rules.requireDevice(device, kImage); }, options);
}

}  // namespace

TEST_CASE("untrusted images need private namespaces", "[untrusted]") {
    const auto check = [](const TaskKobjIdsEntry& ids, const model::Options& options = untrusted()) {
        return refused([&](const UntrustedRules& rules) { rules.requireNamespaces(ids, kImage); }, options);
    };
    CHECK(check(privateIds()).empty());
    for (const auto& [field, name] :
         {std::pair(&TaskKobjIdsEntry::pid_ns_id, "pid"), std::pair(&TaskKobjIdsEntry::net_ns_id, "net"),
          std::pair(&TaskKobjIdsEntry::ipc_ns_id, "ipc"), std::pair(&TaskKobjIdsEntry::mnt_ns_id, "mnt"),
          std::pair(&TaskKobjIdsEntry::user_ns_id, "user")}) {
        TaskKobjIdsEntry ids = privateIds();
        ids.*field = idsOfCriu().*field;
        CHECK_THAT(check(ids), Contains(fmt::format("{}: the process is in criu's {} namespace", kImage, name)));
    }
    model::Options options = untrusted();
    options.newPidNamespace = true;
    TaskKobjIdsEntry ids = privateIds();
    ids.pid_ns_id = idsOfCriu().pid_ns_id;
    CHECK(check(ids, options).empty());
    const TaskKobjIdsEntry own = privateIds();
    CHECK_THAT(errorOf([&] { UntrustedRules(untrusted(), nullptr).requireNamespaces(own, kImage); }),
               Contains("criu's user namespace"));
}

TEST_CASE("untrusted images have ids of the given range", "[untrusted]") {
    CHECK(refusedMap(100000, 65536).empty());
    CHECK(refusedMap(100001, 1).empty());
    for (const bool groups : {false, true}) {
        CHECK_THAT(refusedMap(0, 1, groups), Contains(groups ? "groups 0 to 0" : "users 0 to 0"));
        CHECK_THAT(refusedMap(99999, 2, groups), Contains("99999 to 100000"));
        CHECK_THAT(refusedMap(165535, 2, groups), Contains("165535 to 165536"));
        CHECK_THAT(refusedMap(100000, 0xffffffff, groups), Contains("the range is 100000-165535"));
    }
    UsernsEntry users = USERNS_ENTRY__INIT;
    users.has_owner = 1;
    users.owner = 1000;
    const auto check = [&] { return refused([&](const UntrustedRules& rules) { rules.requireUsers(users, kImage); }); };
    CHECK_THAT(check(), Contains("user 1000 of the host owns the namespace"));
    users.owner = 100001;
    CHECK(check().empty());
}

TEST_CASE("ids of a nested user namespace count only if its parent is criu's", "[untrusted]") {
    UidGidExtent extent = UID_GID_EXTENT__INIT;
    extent.count = 1;
    UidGidExtent* all[] = {&extent};
    UsernsEntry users = USERNS_ENTRY__INIT;
    users.n_uid_map = 1;
    users.uid_map = all;
    users.has_parent = 1;
    const auto check = [&](std::uint32_t parent) {
        users.parent = parent;
        return refused([&](const UntrustedRules& rules) { rules.requireUsers(users, kImage); });
    };
    CHECK(check(privateIds().user_ns_id).empty());
    CHECK_THAT(check(idsOfCriu().user_ns_id), Contains("users 0 to 0"));
}

TEST_CASE("untrusted images have only open files that namespaces confine", "[untrusted]") {
    for (const FdTypes type : {FD_TYPES__REG, FD_TYPES__PIPE, FD_TYPES__UNIXSK, FD_TYPES__TTY})
        CHECK(refusedFile(type).empty());
    CHECK_THAT(refusedFile(FD_TYPES__EXT), Contains("files.img: file 5: it is of kind EXT"));
    CHECK_THAT(refusedFile(FD_TYPES__TUNF), Contains("of kind TUNF"));
    CHECK_THAT(refusedFile(FD_TYPES__BPFMAP), Contains("of kind BPFMAP"));
    CHECK_THAT(refusedFile(FD_TYPES__FANOTIFY), Contains("of kind FANOTIFY"));
    CHECK_THAT(refusedFile(FD_TYPES__VSOCKSK), Contains("of kind VSOCKSK"));
    InetSkEntry socket = INET_SK_ENTRY__INIT;
    socket.has_ns_id = 1;
    const auto inNetwork = [&](std::uint32_t number) {
        socket.ns_id = number;
        return refusedFile(FD_TYPES__INETSK, [&](FileEntry& file) { file.isk = &socket; });
    };
    CHECK(inNetwork(privateIds().net_ns_id).empty());
    CHECK_THAT(inNetwork(idsOfCriu().net_ns_id), Contains("it belongs to criu's network namespace"));
    NsFileEntry space = NS_FILE_ENTRY__INIT;
    const auto ofNamespace = [&](std::uint32_t number) {
        space.ns_id = number;
        return refusedFile(FD_TYPES__NS, [&](FileEntry& file) { file.nsf = &space; });
    };
    CHECK(ofNamespace(privateIds().user_ns_id).empty());
    CHECK_THAT(ofNamespace(idsOfCriu().user_ns_id), Contains("it is a namespace of criu"));
    CHECK_THAT(ofNamespace(0), Contains("it is a namespace of criu"));
}

TEST_CASE("untrusted images mount nothing of the host", "[untrusted]") {
    const auto ofType = [](std::string_view type) {
        return refusedMount([&](namespaces::Mount& mount) { mount.fsType = type; });
    };
    for (const char* const type : {"tmpfs", "proc", "sysfs", "mqueue", "cgroup2", "overlay", "ext4"})
        CHECK(ofType(type).empty());
    for (const char* const type : {"devtmpfs", "binfmt_misc", "debugfs", "securityfs", "tracefs", "efivarfs", "autofs",
                                   "configfs", "bpf", "hugetlbfs", "pstore", "fusectl"})
        CHECK_THAT(ofType(type), Contains(fmt::format("/mnt ({}, mount 2): it shows objects of the host", type)));
    CHECK_THAT(ofType("devpts"), Contains("it shows terminals of the host"));
    CHECK(refusedMount([](namespaces::Mount& mount) {
              mount.fsType = "devpts";
              mount.options = "newinstance";
          }).empty());
    CHECK_THAT(refusedMount([](namespaces::Mount& mount) { mount.ofPlugin = true; }), Contains("a plugin mounts it"));
    CHECK_THAT(refusedMount([](namespaces::Mount& mount) {
                   mount.externalName = namespaces::kFoundByItself;
                   mount.source = "/etc";
               }),
               Contains("the images choose its source, /etc") && Contains("--external mnt[/mnt]"));
    CHECK(refusedMount([](namespaces::Mount& mount) {
              mount.fsType = "devtmpfs";
              mount.externalName = "given";
          }).empty());
    model::Options noRoot = untrusted();
    noRoot.root.reset();
    CHECK(refusedMount([](namespaces::Mount&) {}, true, noRoot).empty());
    CHECK_THAT(refusedMount([](namespaces::Mount&) {}, false, noRoot), Contains("--root"));
    CHECK(refusedMount([](namespaces::Mount&) {}, false).empty());
}

TEST_CASE("threads of untrusted images have no label and no real-time scheduling", "[untrusted]") {
    CHECK(refusedThread([](auto&) {}).empty());
    CredsEntry credentials = CREDS_ENTRY__INIT;
    char label[] = "unconfined_t";
    credentials.lsm_profile = label;
    CHECK_THAT(refusedThread([&](auto& thread) { thread.creds = &credentials; }),
               Contains("the thread has the label 'unconfined_t'") && Contains("--lsm-profile"));
    for (const std::uint32_t policy : {SCHED_FIFO, SCHED_RR, SCHED_DEADLINE})
        CHECK_THAT(refusedThread([&](auto& thread) {
                       thread.has_sched_policy = 1;
                       thread.sched_policy = policy;
                   }),
                   Contains(fmt::format("scheduling policy {}", policy)));
    CHECK_THAT(refusedThread([](auto& thread) {
                   thread.has_sched_nice = 1;
                   thread.sched_nice = ::getpriority(PRIO_PROCESS, 0) - 1;
               }),
               Contains("nice value"));
    CHECK_THAT(refusedThread([](auto& thread) {
                   thread.has_io_priority = 1;
                   thread.io_priority = 1U << 13 | 4;  // IOPRIO_CLASS_RT, level 4
               }),
               Contains("real-time I/O priority"));
}

TEST_CASE("processes of untrusted images have no more resources than criu", "[untrusted]") {
    CHECK(refusedProcess([](auto&) {}).empty());
    CHECK_THAT(refusedProcess([](auto& process) {
                   process.has_oom_score_adj = 1;
                   process.oom_score_adj = -1001;
               }),
               Contains("OOM score -1001"));
    CHECK_THAT(refusedProcess([](auto& process) {
                   process.has_autogroup_nice = 1;
                   process.autogroup_nice = -1;
               }),
               Contains("the session has nice value -1"));
    rlimit own{};
    REQUIRE(::getrlimit(RLIMIT_CPU, &own) == 0);
    const rlimit before = own;
    own.rlim_max = own.rlim_cur = std::min<rlim_t>(own.rlim_max, 1000000);
    REQUIRE(::setrlimit(RLIMIT_CPU, &own) == 0);
    RlimitEntry limit = RLIMIT_ENTRY__INIT;
    RlimitEntry* all[] = {&limit};
    TaskRlimitsEntry limits = TASK_RLIMITS_ENTRY__INIT;
    limits.n_rlimits = 1;
    limits.rlimits = all;
    const auto check = [&](std::uint64_t most) {
        limit.max = most;
        return refusedProcess([&](auto& process) { process.rlimits = &limits; });
    };
    CHECK(check(own.rlim_max).empty());
    CHECK_THAT(check(own.rlim_max + 1), Contains("resource limit 0"));
    (void)::setrlimit(RLIMIT_CPU, &before);  // fails for users other than root, and the lower limit then stays
}

TEST_CASE("network devices of untrusted images have no unnamed part outside", "[untrusted]") {
    CHECK(refusedDevice(ND_TYPE__LOOPBACK).empty());
    CHECK(refusedDevice(ND_TYPE__BRIDGE).empty());
    CHECK_THAT(refusedDevice(ND_TYPE__TUN), Contains("device eth0"));
    CHECK_THAT(refusedDevice(ND_TYPE__SIT), Contains("device eth0"));
    for (const auto& [type, named] : {std::pair(ND_TYPE__VETH, model::ExternalType::Veth),
                                      std::pair(ND_TYPE__MACVLAN, model::ExternalType::Macvlan),
                                      std::pair(ND_TYPE__EXTLINK, model::ExternalType::Netdev)}) {
        CHECK_THAT(refusedDevice(type), Contains("a part of it is outside of the tree"));
        model::Options options = untrusted();
        options.externals = {{named, "eth0", "outer0"}};
        CHECK(refusedDevice(type, options).empty());
    }
}

TEST_CASE("a directory of untrusted images has no links", "[untrusted]") {
    const criu::test::TemporaryDir place;
    ImageDir images = place.images();
    images.distrust();
    REQUIRE(::symlink("/etc/passwd", (place.path() + "/pages-1.img").c_str()) == 0);
    CHECK_THAT(errorOf([&] { (void)images.openRaw(ImageKind::Pages, 1, O_RDONLY); }), Contains("pages-1.img"));
    REQUIRE(::symlink("/", (place.path() + "/parent").c_str()) == 0);
    CHECK_THAT(errorOf([&] { images.openParents(); }), Contains("parent directory"));
}
