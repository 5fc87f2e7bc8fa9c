// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <sys/stat.h>
#include <catch2/catch.hpp>

#include <functional>

#include "criu/engine/client_rules.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/client.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/options/settings.hpp"
#include "criu/task/credentials.hpp"
#include "image_fixture.hpp"
#include "images/core.hpp"
#include "images/creds.hpp"
#include "images/fdinfo.hpp"
#include "images/ghost-file.hpp"
#include "images/inventory.hpp"
#include "images/remap-file-path.hpp"

using Catch::Contains;
using namespace criu;
using namespace criu::engine;
using criu::test::errorOf;

namespace {

constexpr std::uint64_t kBounding = 0xff;

model::Client aUser() {
    model::Client client;
    client.isOwner = false;
    client.uid = 1000;
    client.gid = 100;
    client.groups = {20, 30};
    client.boundingSet = kBounding;
    return client;
}

task::Credentials credentialsOfUser() {
    task::Credentials credentials;
    credentials.uid = {1000, 1000, 1000, 1000};
    credentials.gid = {100, 100, 100, 100};
    credentials.groups = {30};
    credentials.bounding = kBounding;
    return credentials;
}

std::string refused(const std::function<void(task::Credentials&)>& change, const model::Client& client = aUser()) {
    task::Credentials credentials = credentialsOfUser();
    change(credentials);
    return errorOf([&] { requireClientCredentials(client, credentials); });
}

/// Returns the error that a client gets for a deleted file in images.
std::string refusedGhost(mode_t mode, uid_t uid, gid_t gid, bool old) {
    const criu::test::TemporaryDir directory;
    const auto images = directory.images();
    RemapFilePathEntry remap = REMAP_FILE_PATH_ENTRY__INIT;
    remap.orig_id = 5;
    remap.remap_id = old ? 1U << 31 | 1 : 1;
    remap.has_remap_type = old ? 0 : 1;
    remap.remap_type = REMAP_TYPE__GHOST;
    auto remaps = images.create(ImageKind::RemapFpath);
    remaps.write(remap);
    remaps.finish();
    GhostFileEntry ghost = GHOST_FILE_ENTRY__INIT;
    ghost.mode = mode;
    ghost.uid = uid;
    ghost.gid = gid;
    auto image = images.create(ImageKind::GhostFile, 1);
    image.write(ghost);
    image.finish();
    const RestoreImages content;
    CHECK(errorOf([&] { requireClientImages(model::Client(), content, images); }).empty());
    return errorOf([&] { requireClientImages(aUser(), content, images); });
}

}  // namespace

TEST_CASE("the owner of criu may do what criu may", "[client]") {
    CHECK(refused([](auto&) {}, model::Client()).empty());
    CHECK(refused([](auto& credentials) { credentials.uid = {0, 0, 0, 0}; }, model::Client()).empty());
    CHECK(refused([](auto& credentials) { credentials.permitted = ~std::uint64_t{0}; }, model::Client()).empty());
}

TEST_CASE("a client has no right to processes with other ids or more capabilities than its own", "[client]") {
    CHECK(refused([](auto&) {}).empty());
    CHECK(refused([](auto& credentials) { credentials.groups = {20, 100}; }).empty());
    CHECK(refused([](auto& credentials) { credentials.gid.saved = 30; }).empty());
    CHECK_THAT(refused([](auto& credentials) { credentials.uid.real = 0; }), Contains("user 0"));
    CHECK_THAT(refused([](auto& credentials) { credentials.uid.effective = 0; }), Contains("user 0"));
    CHECK_THAT(refused([](auto& credentials) { credentials.uid.saved = 0; }), Contains("user 0"));
    CHECK_THAT(refused([](auto& credentials) { credentials.uid.filesystem = 1001; }), Contains("user 1001"));
    CHECK_THAT(refused([](auto& credentials) { credentials.gid.saved = 0; }), Contains("group 0"));
    CHECK_THAT(refused([](auto& credentials) { credentials.gid.real = 101; }), Contains("group 101"));
    CHECK_THAT(refused([](auto& credentials) { credentials.groups.push_back(0); }), Contains("member of group 0"));
    constexpr std::uint64_t kSysAdmin = std::uint64_t{1} << CAP_SYS_ADMIN;
    CHECK_THAT(refused([](auto& credentials) { credentials.permitted = kSysAdmin; }),
               Contains("CAP_SYS_ADMIN") && Contains("permitted"));
    CHECK_THAT(refused([](auto& credentials) { credentials.effective = kSysAdmin; }), Contains("effective"));
    CHECK_THAT(refused([](auto& credentials) { credentials.inheritable = kSysAdmin; }), Contains("inheritable"));
    CHECK_THAT(refused([](auto& credentials) { credentials.ambient = kSysAdmin; }), Contains("ambient"));
    CHECK_THAT(refused([](auto& credentials) { credentials.bounding = kBounding | kSysAdmin; }), Contains("bounding"));
    model::Client capable = aUser();
    capable.capabilities = capable.boundingSet = kBounding | kSysAdmin;
    CHECK(
        refused([](auto& credentials) { credentials.permitted = credentials.effective = kSysAdmin; }, capable).empty());
}

TEST_CASE("a client gets no namespaces", "[client]") {
    TaskKobjIdsEntry outside = TASK_KOBJ_IDS_ENTRY__INIT;
    outside.has_net_ns_id = outside.has_user_ns_id = 1;
    outside.net_ns_id = 2;
    outside.user_ns_id = 3;
    TaskKobjIdsEntry ids = outside;
    const auto check = [&](const model::Client& client) {
        return errorOf([&] { requireClientNamespaces(client, ids, outside); });
    };
    CHECK(check(aUser()).empty());
    ids.net_ns_id = 9;
    CHECK_THAT(check(aUser()), Contains("net namespace"));
    CHECK(check(model::Client()).empty());
    ids = outside;
    ids.user_ns_id = 9;
    CHECK_THAT(check(aUser()), Contains("user namespace"));
    ids = outside;
    ids.has_mnt_ns_id = 1;
    ids.mnt_ns_id = 7;
    CHECK_THAT(check(aUser()), Contains("mnt namespace"));
    ids = outside;
    ids.has_time_for_children_ns_id = 1;
    ids.time_for_children_ns_id = 7;
    CHECK_THAT(check(aUser()), Contains("time namespace"));
    CHECK(check(model::Client()).empty());
}

TEST_CASE("deleted files of a client's images are its own, and no devices", "[client]") {
    for (const bool old : {false, true}) {
        CHECK(refusedGhost(S_IFREG | 0644, 1000, 100, old).empty());
        CHECK(refusedGhost(S_IFREG | 0644, 1000, 20, old).empty());
        CHECK_THAT(refusedGhost(S_IFREG | 04755, 0, 100, old), Contains("belongs to 0:100"));
        CHECK_THAT(refusedGhost(S_IFREG | 02755, 1000, 0, old), Contains("belongs to 1000:0"));
        CHECK_THAT(refusedGhost(S_IFCHR | 0666, 1000, 100, old), Contains("device"));
        CHECK_THAT(refusedGhost(S_IFBLK | 0666, 1000, 100, old), Contains("device"));
    }
}

TEST_CASE("threads of a client's images are the client's", "[client]") {
    CredsEntry credentials = CREDS_ENTRY__INIT;
    credentials.uid = credentials.euid = credentials.suid = credentials.fsuid = 1000;
    credentials.gid = credentials.egid = credentials.sgid = credentials.fsgid = 100;
    ThreadCoreEntry thread = THREAD_CORE_ENTRY__INIT;
    thread.creds = &credentials;
    TaskCoreEntry process = TASK_CORE_ENTRY__INIT;
    process.task_state = static_cast<std::uint32_t>(model::TaskState::Alive);
    char name[] = "x";
    process.comm = name;
    CoreEntry core = CORE_ENTRY__INIT;
    core.tc = &process;
    core.thread_core = &thread;
    const criu::test::TemporaryDir directory;
    const auto images = directory.images();
    const auto check = [&] {
        auto image = images.create(ImageKind::Core, 7);
        image.write(core);
        image.finish();
        RestoreImages content;
        auto task = std::make_unique<model::Task>();
        task->pid = TreePid(7);
        task->threads.push_back({TreePid(7), images.openRequired(ImageKind::Core, 7).only<CoreEntry>()});
        content.tree.tasks.push_back(std::move(task));
        return errorOf([&] { requireClientImages(aUser(), content, images); });
    };
    CHECK(check().empty());
    credentials.suid = 0;
    CHECK_THAT(check(), Contains("process 7 of the images") && Contains("user 0"));
    credentials.suid = 1000;
    thread.creds = nullptr;
    CHECK_THAT(check(), Contains("no credentials"));
}

TEST_CASE("clients may give options that are about their processes only", "[client]") {
    const auto check = [](const char* name, std::optional<std::string> value, const model::Client& client) {
        const options::Setting settings[] = {options::readSetting(name, std::move(value), {"criu_opts", 0})};
        return errorOf([&] { options::requireAllowed(settings, client); });
    };
    for (const char* const allowed : {"leave-running", "tcp-established", "file-locks", "shell-job"})
        CHECK(check(allowed, {}, aUser()).empty());
    CHECK(check("timeout", "3", aUser()).empty());
    for (const char* const name :
         {"action-script", "libdir", "external", "root", "cgroup-root", "join-ns", "inherit-fd", "pidfile", "config",
          "freeze-cgroup", "irmap-scan-path", "cgroup-yard", "lsm-profile", "veth-pair"}) {
        CHECK_THAT(check(name, "ipc:/x", aUser()), Contains(name) && Contains("may not"));
        CHECK(check(name, "ipc:/x", model::Client()).empty());
    }
    for (const char* const name : {"exec-cmd", "link-remap", "force-irmap", "evasive-devices", "restore-sibling"})
        CHECK_THAT(check(name, {}, aUser()), Contains(name));
}
